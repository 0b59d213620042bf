package raftstore_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
)

// scanned is blobs that reads all of them at a start.
type scanned struct {
	blobs
	bytes int
}

func (s *scanned) Load(r raftstore.Reader) error {
	s.bytes = 0
	r.Scan(nil, []byte{0xff}, func(_, value []byte) bool {
		s.bytes += len(value)
		return true
	})
	return nil
}

// A start that reads a large state leaves most of it out of the block cache. Later reads may fill the cache.
func TestStartLeavesTheCacheSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine := &scanned{}
		c := config(vfs.NewMem(), 1)
		c.CacheBytes, c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = 256*mib, time.Second, 10, 2
		c.Machine = func(uint16) raftstore.StateMachine { return machine }
		s := open(t, c)
		storeBlobs(t, s.Group(1).Propose, rand.NewChaCha8([32]byte{1}), 1200)
		waitUntil(t, time.Minute, "a snapshot of all", func() bool { return s.Group(1).Status().SnapshotBytes > 68*mib })
		closeStore(t, s)
		s = open(t, c)
		opened := s.Stats().Cache.Bytes
		if machine.bytes < 68*mib || opened > 40*mib {
			t.Errorf("a start read %d MiB and left %d MiB in the cache", machine.bytes/mib, opened/mib)
		}
		if err := s.Group(1).Read(machine.Load); err != nil {
			t.Error(err)
		}
		if got := s.Stats().Cache.Bytes; got < 60*mib {
			t.Errorf("a read of %d MiB later left %d MiB in the cache, as if it were still small", machine.bytes/mib, got/mib)
		}
		closeStore(t, s)
	})
}
