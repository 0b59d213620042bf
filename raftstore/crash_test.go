package raftstore_test

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// A power failure at every call of the file system, from the first start to the close, with snapshots, log truncation
// and a second start in between: whatever was acknowledged is there afterwards, exactly once, and no crash looks like
// damage.
func TestPowerFailureAtEveryCall(t *testing.T) {
	var acked atomic.Int64
	var fs *raftstoretest.CrashFS[int64]
	synctest.Test(t, func(t *testing.T) {
		fs = raftstoretest.NewCrashFS(1, acked.Load)
		c := snapshotting(config(fs, 1))
		for range 2 {
			s := open(t, c)
			for range 40 {
				propose(t, s.Group(1), fmt.Sprint("k", acked.Load()))
				acked.Add(1)
				time.Sleep(time.Millisecond)
			}
			closeStore(t, s)
			if s.Group(1).Status().Snapshots == 0 {
				t.Fatal("no snapshot was taken: the test does not test them")
			}
		}
	})
	points := fs.Points()
	t.Logf("%d crash points, %d commands", len(points), acked.Load())
	if len(points) < 300 {
		t.Fatal("too few crash points: the workload does not reach the disk")
	}
	step := 1
	if testing.Short() {
		step = len(raftstoretest.UnsyncedPercents) // Every point with one of the disks.
	}
	for first, percent := range raftstoretest.UnsyncedPercents {
		t.Run(fmt.Sprintf("unsynced=%d", percent), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for i := first % step; i < len(points); i += step {
					verifyAcked(t, points[i], percent)
				}
			})
		})
	}
}

// snapshotting makes snapshots, truncation and the deletion of old snapshots happen within a few commands.
func snapshotting(c raftstore.Config) raftstore.Config {
	c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = 5*time.Millisecond, 8, 4
	return c
}

func verifyAcked(t *testing.T, p raftstoretest.Point[int64], percent int) {
	t.Helper()
	s, err := raftstore.Open(config(p.Disks[percent], 1))
	if err != nil {
		t.Fatalf("crash before call %d (%s): %v", p.Op, p.What, err)
	}
	if err := s.Group(1).WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = s.Group(1).Read(func(r raftstore.Reader) error {
		for i := range p.Acknowledged + 1 {
			var n uint64
			if v, found := r.Get(fmt.Append(nil, "k", i)); found {
				n = binary.BigEndian.Uint64(v)
			}
			if n != 1 && !(n == 0 && i == p.Acknowledged) {
				t.Fatalf("crash before call %d (%s): command %d of %d acknowledged ones is applied %d times", p.Op, p.What, i, p.Acknowledged, n)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
}

// The crash file system itself must lose what is not synced, else the test above proves nothing.
func TestCrashFSLosesUnsyncedData(t *testing.T) {
	fs := raftstoretest.NewCrashFS(1, func() int { return 0 })
	f, err := fs.Create("a", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fs.OpenDir("")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		dir.Sync, func() error { _, err := f.Write([]byte("lost")); return err }, f.Sync, dir.Sync,
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	sizes := func(p raftstoretest.Point[int], percent int) int64 {
		info, err := p.Disks[percent].Stat("a")
		if err != nil {
			return -1
		}
		return info.Size()
	}
	points := fs.Points()
	for i, want := range []int64{-1, -1, 0, 0, 4} { // Before create, sync of the directory, write, sync, sync.
		if got := sizes(points[i], 0); got != want {
			t.Errorf("before %q: size %d, want %d", points[i].What, got, want)
		}
	}
	if got := sizes(points[3], 100); got != 4 {
		t.Errorf("with everything kept: size %d, want 4", got)
	}
}
