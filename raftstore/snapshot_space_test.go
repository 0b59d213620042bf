package raftstore_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// storeBlobs replaces some of the values of a machine that stores blobs, each 60 KB that cannot be compressed.
func storeBlobs(t *testing.T, propose func(context.Context, []byte) ([]byte, error), r *rand.ChaCha8, blobs int) {
	t.Helper()
	for i := range blobs {
		cmd := make([]byte, 60_000)
		_, _ = r.Read(cmd) // Never fails.
		cmd[0], cmd[1] = byte(i>>8), byte(i)
		if _, err := propose(t.Context(), cmd); err != nil {
			t.Error(err)
			return
		}
	}
}

// A snapshot that is due on a disk without room for it is postponed: the disk keeps its free blocks for the log; the
// process goes on, closes and starts again, and takes the snapshot when there is space. Begun without space, it would
// fill the disk, and the log's next write would end the process, again after each start. Nor does a close flush what
// has no room.
func TestSnapshotWithoutSpaceIsPostponed(t *testing.T) {
	for _, free := range []int64{20 * mib, 2 * mib} { // Between Low and Full, and Full.
		synctest.Test(t, func(t *testing.T) {
			mem := vfs.NewMem()
			c := config(mem, 1)
			d := raftstoretest.NewSmallDisk(mem, "node", 512*mib)
			c.FS, c.Reserve, c.Ballast = d, 64*mib, 8*mib
			c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = time.Second, 10, 2
			c.Machine = func(uint16) raftstore.StateMachine { return &blobs{} }
			exits := 0
			c.Exit = func(int) { exits++; select {} }
			s := open(t, c)
			g, r := s.Group(1), rand.NewChaCha8([32]byte{1})
			storeBlobs(t, g.Propose, r, 700) // 40 MiB.
			waitUntil(t, time.Minute, "a snapshot", func() bool { return g.Status().Snapshots > 0 && g.Status().SnapshotBytes > 39*mib })
			before := g.Status().Snapshots
			storeBlobs(t, g.Propose, r, 40)
			d.FillUpTo(free)
			time.Sleep(10 * time.Second)
			if free > 16*mib { // A Low leader still takes reserved proposals.
				storeBlobs(t, g.ProposeReserved, r, 2)
			}
			if err := g.ReadBarrier(t.Context()); err != nil {
				t.Error(err)
			}
			if got := g.Status(); got.Snapshots != before || got.SnapshotsPostponed == 0 {
				t.Errorf("%d MiB free: %d snapshots, %d before, %d put off", free/mib, got.Snapshots, before, got.SnapshotsPostponed)
			}
			closesInTime(t, s, func() { d.Fill(0) })
			s = open(t, c)
			g = s.Group(1)
			d.FillUpTo(free) // A start deletes old files of the log.
			time.Sleep(10 * time.Second)
			if got := g.Status(); got.Snapshots != 0 || got.SnapshotsPostponed == 0 {
				t.Errorf("%d MiB free, started anew: %d snapshots, %d put off", free/mib, got.Snapshots, got.SnapshotsPostponed)
			}
			if d.Failures() != 0 || exits != 0 {
				t.Errorf("%d MiB free: %d writes met a full disk, %d exits", free/mib, d.Failures(), exits)
			}
			d.Fill(0)
			waitUntil(t, 10*time.Second, "a snapshot with space again", func() bool { return g.Status().Snapshots > 0 && !s.Space().Low })
			if got := g.Status(); got.LastIndex-got.FirstIndex > 10 {
				t.Errorf("the log is not cut: %d to %d", got.FirstIndex, got.LastIndex)
			}
			storeBlobs(t, g.Propose, r, 1)
			closeStore(t, s)
		})
	}
}

// noBlocks is a disk without a block left for new files of the state database, while it is switched on.
type noBlocks struct {
	vfs.FS
	on     atomic.Bool
	failed atomic.Int64
}

func (d *noBlocks) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if d.on.Load() && strings.HasPrefix(name, "node/state/") {
		d.failed.Add(1)
		return nil, syscall.ENOSPC
	}
	return d.FS.Create(name, c)
}

// Pebble repeats a flush that finds no block until it finds one. A snapshot gives up waiting for it, and so does a
// close; what was only in memory is in the log. Pebble is never idle meanwhile, so the clock of a bubble would stand
// still, and the test uses none.
func TestFlushWithoutABlockHoldsNobody(t *testing.T) {
	d := &noBlocks{FS: vfs.NewMem()}
	c := config(d, 1)
	c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = 20*time.Millisecond, 10, 2
	exited := make(chan int, 1)
	c.Exit = func(code int) { exited <- code; select {} }
	s := open(t, c)
	d.on.Store(true)
	for range 40 {
		propose(t, s.Group(1), "a")
	}
	until := func(what string, met func() bool) {
		t.Helper()
		for began := time.Now(); !met(); time.Sleep(time.Millisecond) {
			if time.Since(began) > 30*time.Second { // Ends a test that hangs.
				t.Fatal(what)
			}
		}
	}
	until("no flush finds the disk full", func() bool { return d.failed.Load() > 0 })
	time.Sleep(200 * time.Millisecond) // Further snapshots are due.
	if n := propose(t, s.Group(1), "a"); n != 41 {
		t.Errorf("%d commands beside a flush that does not end", n)
	}
	closesInTime(t, s, func() { d.on.Store(false) })
	d.on.Store(false)

	s = open(t, c)
	if n := propose(t, s.Group(1), "a"); n != 42 {
		t.Errorf("%d of 42 commands after it", n)
	}
	until("no snapshot with space again", func() bool { return s.Group(1).Status().Snapshots > 0 })
	closeStore(t, s)
	if len(exited) != 0 {
		t.Errorf("exit with %d", <-exited)
	}
}

// A follower that is behind the log of its leader, and has no room for the snapshot and the state in it, installs none,
// goes on voting, and installs it when there is space.
func TestInstallWithoutSpaceWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d *raftstoretest.SmallDisk
		free, most := int64(256*mib), int64(0)
		c := snapshotters(t, 7, func(_ int, fs vfs.FS) vfs.FS { return fs })
		configure := c.Configure
		c.Configure = func(node int, config *raftstore.Config) {
			configure(node, config)
			config.Machine = func(uint16) raftstore.StateMachine { return &blobs{} }
			config.SnapshotThreshold = 100 // See below.
			if node == 2 {
				d = small(config)
				d.CapFree(most)
				d.FillUpTo(free)
			}
		}
		startAll(t, c, 3)
		c.Stop(2)
		waitUntil(t, 10*time.Second, "another one leads", func() bool { return leader(c) >= 0 })
		l, _ := c.Store(leader(c))
		// No snapshot is taken before almost all is stored: one of the first blobs would be small enough to be installed,
		// and a call with it could wait for the follower until it starts.
		storeBlobs(t, l.Group(1).Propose, rand.NewChaCha8([32]byte{2}), 100) // 6 MB.
		waitUntil(t, 10*time.Second, "a snapshot", func() bool { return l.Group(1).Status().SnapshotBytes > 5*mib })
		time.Sleep(5 * time.Second)
		// Full is below 16 MiB, and the ballast file of 8 MiB is deleted: 24. The snapshot alone would fit, the state
		// in it would not. A start deletes old files of the log at a moment of its own, which would free enough space.
		free, most = 16*mib, 24*mib
		if !c.Start(2, c.Seeds(3)) {
			t.Fatal("does not start")
		}
		time.Sleep(20 * time.Second)
		poor, _ := c.Store(2)
		if got := poor.Group(1).Status(); got.Restores != 0 || poor.Space().Full || !poor.Space().Low {
			t.Errorf("%d installs of %d bytes with %+v", got.Restores, l.Group(1).Status().SnapshotBytes, poor.Space())
		}
		d.CapFree(0)
		d.Fill(0)
		waitUntil(t, time.Minute, "the snapshot is installed", func() bool { return poor.Group(1).Status().Restores == 1 })
		if err := poor.Group(1).ReadBarrier(t.Context()); err != nil {
			t.Error(err)
		}
		if d.Failures() != 0 || c.Exits.Load() != 0 {
			t.Errorf("%d writes met a full disk, %d exits", d.Failures(), c.Exits.Load())
		}
		stopAll(c)
	})
}
