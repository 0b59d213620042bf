package raftstore_test

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// snapshotters is a cluster of three that takes snapshots often; disk may replace the disk of each start.
func snapshotters(t *testing.T, seed uint64, disk func(node int, fs vfs.FS) vfs.FS) *raftstoretest.Cluster {
	c := raftstoretest.NewCluster(t, seed, 3)
	c.Configure = func(node int, config *raftstore.Config) {
		config.FS = disk(node, config.FS)
		config.SnapshotInterval, config.SnapshotThreshold, config.TrailingLogs = time.Second, 10, 2
	}
	return c
}

// fallBehind stops a follower and lets the others go on until they have snapshots instead of the entries that it lacks.
func fallBehind(t *testing.T, c *raftstoretest.Cluster) (follower int) {
	t.Helper()
	startAll(t, c, 3)
	place(t, c, 0, 1)
	follower = (leader(c) + 1) % 3
	c.Stop(follower)
	for id := range uint64(40) {
		place(t, c, leader(c), 100+id)
	}
	time.Sleep(5 * time.Second)
	return follower
}

// hasAll waits until a node has everything.
func hasAll(t *testing.T, c *raftstoretest.Cluster, node int) {
	t.Helper()
	s, _ := c.Store(node)
	if s == nil {
		t.Fatal("the node is not up")
	}
	if err := s.Group(1).ReadBarrier(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id := range uint64(40) {
		if c.Ledger(node).Place(100+id) == 0 {
			t.Fatalf("id %d is missing", 100+id)
		}
	}
}

// A disk that fails a snapshot is broken like one that fails a log entry: the process ends. Otherwise it would be a
// follower that is sent the same snapshot for ever and never catches up.
func TestFailingSnapshotEndsTheProcess(t *testing.T) {
	for _, name := range []string{"state", "meta.json"} {
		for _, installed := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " installed ", installed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					broken := &brokenDisk{suffix: "/" + name}
					bad := -1
					c := snapshotters(t, 5, func(node int, fs vfs.FS) vfs.FS {
						if node != bad {
							return fs
						}
						broken.FS = fs
						return broken
					})
					if installed {
						bad = fallBehind(t, c)
					} else {
						bad = 0
						startAll(t, c, 3)
					}
					broken.fail.Store(true)
					if installed && !c.Start(bad, c.Seeds(3)) {
						t.Fatal("does not start")
					}
					for id := range uint64(40) {
						place(t, c, (bad+1)%3, 100+id)
					}
					time.Sleep(5 * time.Second)
					if n := c.Exits.Load(); n != 1 {
						t.Errorf("%d processes ended", n)
						stopAll(c)
						return
					}
					broken.fail.Store(false)
					if !c.Start(bad, c.Seeds(3)) {
						t.Error("does not start again")
					}
					hasAll(t, c, bad)
					stopAll(c)
				})
			})
		}
	}
}

// unreadable is a file system on which the states of snapshots cannot be read.
type unreadable struct{ on atomic.Bool }

func (u *unreadable) MaybeError(op errorfs.Op) error {
	if u.on.Load() && op.Kind == errorfs.OpFileRead && path.Base(op.Path) == "state" && strings.Contains(op.Path, "snapshots") {
		return errDisk
	}
	return nil
}

func (u *unreadable) String() string { return "unreadable snapshots" }

// A leader whose snapshot cannot be read, or is not what was written, ends, and another one brings the follower up to
// date. The follower loses nothing.
func TestLeaderWithoutASnapshotEnds(t *testing.T) {
	for _, corrupt := range []bool{false, true} {
		t.Run(fmt.Sprint("corrupt ", corrupt), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disks, faults := [3]vfs.FS{}, [3]unreadable{}
				c := snapshotters(t, 6, func(node int, fs vfs.FS) vfs.FS {
					disks[node] = fs
					return errorfs.Wrap(fs, &faults[node])
				})
				follower := fallBehind(t, c)
				bad := leader(c)
				if corrupt {
					flipSnapshots(t, disks[bad])
				} else {
					faults[bad].on.Store(true)
				}
				if !c.Start(follower, c.Seeds(3)) {
					t.Fatal("does not start")
				}
				time.Sleep(10 * time.Second)
				if s, _ := c.Store(bad); s != nil || c.Exits.Load() != 1 {
					t.Errorf("%d processes ended, not that of the leader", c.Exits.Load())
				} else {
					hasAll(t, c, follower)
				}
				stopAll(c)
			})
		})
	}
}

// flipSnapshots changes a bit in the middle of the state of every snapshot.
func flipSnapshots(t *testing.T, fs vfs.FS) {
	t.Helper()
	dir := "node/snapshots/1"
	names, err := fs.List(dir)
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		file := fs.PathJoin(dir, name, "state")
		info, err := fs.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := fs.OpenReadWrite(file, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1)
		at := info.Size() / 2
		_, err = f.ReadAt(b, at)
		b[0] ^= 4
		_, werr := f.WriteAt(b, at)
		if err := errors.Join(err, werr, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
