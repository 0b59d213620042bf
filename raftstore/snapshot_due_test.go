package raftstore_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
)

// Large commands make a snapshot due long before their number does, once they are as large as the last snapshot, and so does
// what a start finds in the log. There is a rest between two.
func TestLargeLogMakesASnapshotDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(vfs.NewMem(), 1)
		c.SnapshotInterval, c.SnapshotBytes = time.Minute, 4*mib
		c.Machine = func(uint16) raftstore.StateMachine { return &blobs{} }
		s := open(t, c)
		g, r := s.Group(1), rand.NewChaCha8([32]byte{1})
		snapshots := func(want uint64, when string) {
			t.Helper()
			time.Sleep(2 * time.Second)
			if got := g.Status().Snapshots; got != want {
				t.Errorf("%s: %d snapshots, want %d", when, got, want)
			}
		}
		storeBlobs(t, g.Propose, r, 3*mib/60_000)
		snapshots(0, "3 MiB")
		storeBlobs(t, g.Propose, r, 2*mib/60_000) // They replace some.
		snapshots(1, "5 MiB")
		storeBlobs(t, g.Propose, r, 200) // 11 MiB.
		snapshots(1, "17 MiB, while it rests")
		time.Sleep(c.SnapshotInterval)
		snapshots(2, "17 MiB, after the rest")
		time.Sleep(c.SnapshotInterval)
		storeBlobs(t, g.Propose, r, 7*mib/60_000)
		snapshots(2, "7 MiB after a snapshot of 11 MiB")

		closeStore(t, s)
		s = open(t, c)
		g = s.Group(1)
		snapshots(0, "7 MiB found by a start")
		storeBlobs(t, g.Propose, r, 5*mib/60_000)
		snapshots(1, "12 MiB, 7 of them found by a start")
		closeStore(t, s)
	})
}
