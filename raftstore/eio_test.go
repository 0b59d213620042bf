package raftstore_test

import (
	"encoding/binary"
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gavel-ads/gavel/raftstore"
)

const eioCommands = 24

// eioPerClass is how many calls of each class of calls fail, one in each run.
const eioPerClass = 4

// failing fails one call: the nth of its class. Every second run all later calls of the class fail as well.
type failing struct {
	mu     sync.Mutex
	class  string
	nth    int
	sticky bool
	seen   map[string]int
	hit    bool
}

// classOf names a call by what it does to which kind of file; an empty class is a read. Left out are the syncs of
// Pebble's directories: Pebble panics when one fails, which ends the process as well, but would end the test with it.
func classOf(op errorfs.Op) string {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Path == "node/LOCK" || op.Path == "node/raftlog" || op.Path == "node/state" {
		return ""
	}
	dir := strings.TrimPrefix(op.Path, "node/")
	dir, _, _ = strings.Cut(dir, "/")
	name := path.Base(op.Path)
	kind := path.Ext(name)
	if strings.HasPrefix(name, "MANIFEST") || strings.HasPrefix(name, "marker.") || strings.HasPrefix(name, "OPTIONS") {
		kind = name[:8]
	}
	return fmt.Sprint(dir, " ", kind, " ", int(op.Kind))
}

func (f *failing) MaybeError(op errorfs.Op) error {
	class := classOf(op)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[class]++
	if class == "" || class != f.class || f.seen[class] < f.nth || f.hit && !f.sticky {
		return nil
	}
	f.hit = true
	return errDisk
}

func (f *failing) String() string { return f.class }

// run writes until the process would have ended, and returns the disk of that moment and what was acknowledged.
func (f *failing) run(t *testing.T) (disk *vfs.MemFS, acked int, how string) {
	mem := vfs.NewCrashableMem()
	c := snapshotting(config(errorfs.Wrap(mem, f), 1))
	var mu sync.Mutex
	gone := false
	exited := make(chan struct{})
	c.Exit = func(int) {
		mu.Lock()
		disk, gone = mem.CrashClone(vfs.CrashCloneCfg{}), true
		mu.Unlock()
		close(exited)
	}
	finished := make(chan string, 1)
	go func() {
		s, err := raftstore.Open(c)
		if err != nil {
			finished <- "refused"
			return
		}
		for s.Group(1).WaitReady(t.Context()) == nil {
			if _, err := s.Group(1).Propose(t.Context(), fmt.Append(nil, "k", acked)); err != nil {
				break
			}
			mu.Lock()
			if !gone {
				acked++
			}
			done := gone || acked == eioCommands
			mu.Unlock()
			if done {
				break
			}
			time.Sleep(time.Millisecond)
		}
		s.Close()
		finished <- "tolerated"
	}()
	select {
	case <-exited:
		mu.Lock()
		defer mu.Unlock()
		return disk, acked, "exit"
	case how = <-finished:
		return mem, acked, how
	case <-time.After(20 * time.Second): // A guard against hanging for ever; nothing here takes a second.
		t.Fatalf("%s, call %d: neither ended nor went on", f.class, f.nth)
		return nil, 0, ""
	}
}

// An input/output error at every class of write to log, guard, state, snapshots and identity: the process ends, or refuses
// to start, or goes on because nothing depended on the call; and what was acknowledged is there at the next start.
// Ended processes are left as they are, like in TestFailedSyncEndsTheProcess.
func TestInputOutputErrors(t *testing.T) {
	counting := &failing{seen: map[string]int{}}
	if _, acked, how := counting.run(t); how != "tolerated" || acked != eioCommands {
		t.Fatalf("without a fault: %s, %d acknowledged", how, acked)
	}
	outcomes := map[string]int{}
	for class, calls := range counting.seen {
		for i := range min(calls, eioPerClass) {
			if class == "" {
				break
			}
			f := &failing{class: class, nth: 1 + i*calls/eioPerClass, sticky: i%2 == 1, seen: map[string]int{}}
			disk, acked, how := f.run(t)
			if !f.hit {
				continue // Fewer calls of the class in this run.
			}
			outcomes[how]++
			if strings.HasSuffix(class, fmt.Sprint(" ", int(errorfs.OpFileSync))) && strings.HasPrefix(class, "guard") && how == "tolerated" {
				t.Errorf("%s: a failed sync was tolerated", class)
			}
			verifyCommands(t, disk, acked, fmt.Sprintf("%s, call %d, %s", class, f.nth, how))
		}
	}
	t.Logf("%d classes of calls; %v", len(counting.seen)-1, outcomes)
	if outcomes["exit"] == 0 || outcomes["refused"] == 0 || len(counting.seen) < 20 {
		t.Error("the faults do not reach the log")
	}
}

func verifyCommands(t *testing.T, disk vfs.FS, acked int, what string) {
	t.Helper()
	s, err := raftstore.Open(config(disk, 1))
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer closeStore(t, s)
	if err := s.Group(1).WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = s.Group(1).Read(func(r raftstore.Reader) error {
		for i := range acked + 1 {
			var n uint64
			if v, found := r.Get(fmt.Append(nil, "k", i)); found {
				n = binary.BigEndian.Uint64(v)
			}
			if n != 1 && !(n == 0 && i == acked) {
				t.Errorf("%s: command %d of %d is applied %d times", what, i, acked, n)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
