package raftstore_test

import (
	"context"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// closeMax is how long a store may take to close: the process has 15 s to end.
const closeMax = 10 * time.Second

// Followers whose disks are full answer heartbeats and store no entries: the leader goes on leading and commits
// nothing. It still closes in time.
func TestCloseOfALeaderThatCannotCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, disks := smallCluster(t, 11)
		place(t, c, 0, 1)
		lead := leader(c)
		s, _ := c.Store(lead)
		for i := range 3 {
			if i != lead {
				disks[i].FillUpTo(1 * mib)
			}
		}
		time.Sleep(2 * time.Second)
		var err error
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			_, err = s.Group(1).Propose(ctx, make([]byte, 200<<10))
			cancel()
			if err != nil {
				break
			}
		}
		time.Sleep(30 * time.Second)
		if err == nil || !s.Group(1).Ready() {
			t.Fatalf("the leader can commit (%v) or leads no more", err)
		}
		closesInTime(t, s, func() {
			for i := range 3 {
				disks[i].Fill(0)
			}
		})
		c.Crash(lead)
		stopAll(c)
	})
}

// A store with many such groups closes in the same time, because their transfers are given up together.
func TestCloseOfALeaderOfManyGroupsThatCannotCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		groups := []uint16{1, 2, 3, 4, 5, 6, 7, 8, 9}
		c := raftstoretest.NewCluster(t, 12, 3)
		disks := make([]*raftstoretest.SmallDisk, 3)
		c.Configure = func(i int, config *raftstore.Config) {
			disks[i] = small(config)
			config.Groups, config.Machine = groups, func(uint16) raftstore.StateMachine { return &blobs{} }
		}
		startAll(t, c, 3)
		s, _ := c.Store(0)
		for _, id := range groups {
			if err := s.Transfer(t.Context(), id, c.Nodes[0].ID); err != nil && !s.Group(id).Ready() {
				t.Fatal(err)
			}
		}
		disks[1].FillUpTo(1 * mib)
		disks[2].FillUpTo(1 * mib)
		time.Sleep(2 * time.Second)
		for _, id := range groups {
			for err := error(nil); err == nil; {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				_, err = s.Group(id).Propose(ctx, make([]byte, 200<<10))
				cancel()
			}
		}
		for _, id := range groups {
			if !s.Group(id).Ready() {
				t.Fatalf("group %d is led by another node", id)
			}
		}
		closesInTime(t, s, func() {
			disks[1].Fill(0)
			disks[2].Fill(0)
		})
		c.Crash(0)
		stopAll(c)
	})
}

// closesInTime closes a store and fails the test if that takes too long; help unblocks a store that does not close.
func closesInTime(t *testing.T, s *raftstore.Store, help func()) {
	t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(closeMax):
		t.Errorf("the store has not closed after %s", closeMax)
		help()
		<-closed
	}
}

// slowSnapshots is a disk that takes 10 s for each write of a snapshot while it is switched on. It stands for a large
// state on a usual disk.
type slowSnapshots struct {
	vfs.FS
	on     atomic.Bool
	writes atomic.Int32 // The slow ones that have begun.
}

func (d *slowSnapshots) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	if err == nil && path.Base(name) == "state" && strings.Contains(name, "snapshots") {
		return slowSnapshot{f, d}, nil
	}
	return f, err
}

type slowSnapshot struct {
	vfs.File
	disk *slowSnapshots
}

func (f slowSnapshot) Write(b []byte) (int, error) {
	if f.disk.on.Load() {
		f.disk.writes.Add(1)
		time.Sleep(10 * time.Second)
	}
	return f.File.Write(b)
}

// blobs is a state machine that stores what it is given.
type blobs struct{ deferrable bool }

func (*blobs) Load(raftstore.Reader) error { return nil }
func (*blobs) Apply(b raftstore.Batch, cmd []byte) []byte {
	if len(cmd) > 8 {
		b.Set(cmd[:2], cmd)
	}
	return nil
}
func (b *blobs) EndBatch() bool      { return b.deferrable }
func (*blobs) Flush(raftstore.Batch) {}
func (*blobs) Committed()            {}
func (*blobs) Digest() uint64        { return 0 }

// slowlySnapshotting returns three nodes, the first of which has a disk of slowSnapshots. They take snapshots of blobs.
func slowlySnapshotting(t *testing.T) (*raftstoretest.Cluster, *slowSnapshots) {
	t.Helper()
	d := &slowSnapshots{}
	c := snapshotters(t, 5, func(node int, fs vfs.FS) vfs.FS {
		if node != 0 {
			return fs
		}
		d.FS = fs
		return d
	})
	configure := c.Configure
	c.Configure = func(node int, config *raftstore.Config) {
		configure(node, config)
		config.Machine = func(uint16) raftstore.StateMachine { return &blobs{} }
	}
	startAll(t, c, 3)
	return c, d
}

// proposeBlobs stores a blob of 60 KiB under each key.
func proposeBlobs(t *testing.T, c *raftstoretest.Cluster, keys ...byte) {
	t.Helper()
	for _, key := range keys {
		l, _ := c.Store(leader(c))
		if _, err := l.Group(1).Propose(t.Context(), append([]byte{key, 'k'}, make([]byte, 60<<10)...)); err != nil {
			t.Fatal(err)
		}
	}
}

// upTo returns 0 to n-1.
func upTo(n byte) (all []byte) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// stopsWithinOneWrite stops node 0, which must wait for one write of a snapshot at most, and starts it again.
func stopsWithinOneWrite(t *testing.T, c *raftstoretest.Cluster, d *slowSnapshots) {
	t.Helper()
	began := time.Now()
	c.Stop(0)
	if took := time.Since(began); took > 15*time.Second { // One write of 10 s cannot be interrupted.
		t.Errorf("closed after %s", took)
	}
	d.on.Store(false)
	if !c.Start(0, c.Seeds(3)) {
		t.Error("does not start again")
	}
	stopAll(c)
}

// A node that stops while it takes a snapshot gives the snapshot up, does not treat that as a failure of its disk, and
// starts again.
func TestCloseWhileASnapshotIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := slowlySnapshotting(t)
		d.on.Store(true)
		proposeBlobs(t, c, upTo(80)...)
		time.Sleep(12 * time.Second)
		stopsWithinOneWrite(t, c, d)
	})
}

// So does one that stops while the last record is written: what is left in the buffer would be a further write.
func TestCloseWhileASnapshotEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := slowlySnapshotting(t)
		const aBlock = 18 // Blobs. The last one fills the buffer, which the sink writes.
		proposeBlobs(t, c, upTo(aBlock)...)
		d.on.Store(true)
		proposeBlobs(t, c, upTo(aBlock)...) // Enough changes for another snapshot of the same keys.
		for began := time.Now(); d.writes.Load() == 0; time.Sleep(100 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatal("no snapshot is taken")
			}
		}
		stopsWithinOneWrite(t, c, d)
	})
}
