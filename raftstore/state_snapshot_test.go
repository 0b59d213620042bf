package raftstore_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The state is on disk before the log entries that made it are deleted: a power failure right after that, on a disk
// that loses everything unsynced, leaves a state that needs no rebuilding. Without it the newest snapshot would be the
// only copy of all the state.
func TestStateIsDurableBeforeTheLogIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const commands = 40
		mem := vfs.NewCrashableMem()
		s := open(t, snapshotting(config(mem, 1)))
		for i := range commands {
			propose(t, s.Group(1), fmt.Sprint("k", i))
		}
		waitUntil(t, time.Minute, "the log is cut", func() bool { return s.Group(1).Status().FirstIndex > commands/2 })
		disk := mem.CrashClone(vfs.CrashCloneCfg{})
		closeStore(t, s)

		s = open(t, config(disk, 1))
		if rebuilt := s.Stats().StatesRebuilt; rebuilt != 0 {
			t.Errorf("%d states were rebuilt from the snapshot", rebuilt)
		}
		for i := range commands {
			if n := read(t, s.Group(1), fmt.Sprint("k", i)); n != 1 {
				t.Errorf("command %d is applied %d times", i, n)
			}
		}
		closeStore(t, s)
	})
}
