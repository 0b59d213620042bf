package raftstore_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
)

const commandsBefore = 30

// written returns the disk of a node that was closed after 30 commands "a" and some snapshots, if wanted.
func written(t *testing.T, snapshots bool) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewMem()
	c := config(fs, 1)
	if snapshots {
		c = snapshotting(c)
	}
	s := open(t, c)
	for range commandsBefore {
		propose(t, s.Group(1), "a")
		time.Sleep(time.Millisecond)
	}
	if snapshots != (s.Group(1).Status().Snapshots > 0) {
		t.Fatalf("snapshots: %d", s.Group(1).Status().Snapshots)
	}
	closeStore(t, s)
	return fs
}

// edit changes a database of a closed node. It closes with a flush, so that a database without a log keeps the change.
func edit(t *testing.T, fs vfs.FS, dir string, change func(db *pebble.DB)) {
	t.Helper()
	db, err := pebble.Open(dir, &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest, ErrorIfNotExists: true})
	if err != nil {
		t.Fatal(err)
	}
	change(db)
	if err := errors.Join(db.Flush(), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func entryKey(index uint64) []byte { return binary.BigEndian.AppendUint64([]byte{1, 0, 1}, index) }

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func lastIndex(t *testing.T, db *pebble.DB) uint64 {
	t.Helper()
	v, closer, err := db.Get([]byte("\x03\x00\x01last"))
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	return binary.BigEndian.Uint64(v)
}

func dropLast(t *testing.T, fs vfs.FS) {
	edit(t, fs, "node/raftlog", func(db *pebble.DB) {
		last := lastIndex(t, db)
		db.Delete(entryKey(last), pebble.Sync)
		db.Set([]byte("\x03\x00\x01last"), number(last-1), pebble.Sync)
	})
}

// The start-up check, one damage at a time: refused with an error that names it, or repaired without any effect.
func TestStartUpCheck(t *testing.T) {
	replace := func(t *testing.T, fs vfs.FS, path, old, with string) {
		f, err := fs.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(f)
		f.Close()
		w, err := fs.Create(path, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(strings.Replace(string(b), old, with, 1)))
		w.Close()
	}
	none := func(*raftstore.Config) {}
	accept := func(c *raftstore.Config) { c.AcceptLoss = true }
	cases := []struct {
		name      string
		snapshots bool
		damage    func(t *testing.T, fs *vfs.MemFS)
		config    func(c *raftstore.Config)
		refused   error
		text      string
		count     uint64 // Count of "a" after the start.
		rebuilt   int
	}{
		{name: "nothing wrong, state at the log's end", damage: func(*testing.T, *vfs.MemFS) {}, count: commandsBefore},
		{name: "nothing wrong, with snapshots", snapshots: true, damage: func(*testing.T, *vfs.MemFS) {}, count: commandsBefore},
		{
			name: "guard missing", damage: func(t *testing.T, fs *vfs.MemFS) { fs.Remove("node/guard") },
			refused: raftstore.ErrDamaged, text: "guard node/guard is missing",
		},
		{
			name: "guard missing, loss accepted", damage: func(t *testing.T, fs *vfs.MemFS) { fs.Remove("node/guard") },
			config: accept, count: commandsBefore,
		},
		{
			name: "newest entry gone", damage: func(t *testing.T, fs *vfs.MemFS) { dropLast(t, fs) },
			refused: raftstore.ErrDamaged, text: "the tail guard says that entry",
		},
		{
			name: "newest entry gone, loss accepted", damage: func(t *testing.T, fs *vfs.MemFS) { dropLast(t, fs) },
			config: accept, count: commandsBefore - 1, rebuilt: 1,
		},
		{
			name: "newest entry gone, bounds not told", damage: func(t *testing.T, fs *vfs.MemFS) {
				edit(t, fs, "node/raftlog", func(db *pebble.DB) { db.Delete(entryKey(lastIndex(t, db)), pebble.Sync) })
			},
			refused: raftstore.ErrDamaged, text: "expected",
		},
		{
			name: "gap in the log", damage: func(t *testing.T, fs *vfs.MemFS) {
				edit(t, fs, "node/raftlog", func(db *pebble.DB) { db.Delete(entryKey(lastIndex(t, db)-1), pebble.Sync) })
			},
			refused: raftstore.ErrDamaged, text: "is missing",
		},
		{
			name: "entry cannot be decoded", damage: func(t *testing.T, fs *vfs.MemFS) {
				edit(t, fs, "node/raftlog", func(db *pebble.DB) { db.Set(entryKey(lastIndex(t, db)), []byte{9}, pebble.Sync) })
			},
			refused: raftstore.ErrDamaged, text: "cannot be decoded",
		},
		{
			name: "term behind the guard", damage: func(t *testing.T, fs *vfs.MemFS) {
				edit(t, fs, "node/raftlog", func(db *pebble.DB) { db.Set([]byte("\x02\x00\x01CurrentTerm"), number(1), pebble.Sync) })
			},
			refused: raftstore.ErrDamaged, text: "its term is 1",
		},
		{
			name: "another vote than the guard's", damage: func(t *testing.T, fs *vfs.MemFS) {
				edit(t, fs, "node/raftlog", func(db *pebble.DB) { db.Set([]byte("\x02\x00\x01LastVoteCand"), []byte("n9"), pebble.Sync) })
			},
			refused: raftstore.ErrDamaged, text: `its vote is "n9"`,
		},
		{
			name: "whole log gone", damage: func(t *testing.T, fs *vfs.MemFS) { fs.RemoveAll("node/raftlog") },
			refused: raftstore.ErrDamaged, text: "the tail guard says",
		},
		{
			name: "log and guard gone, state left", damage: func(t *testing.T, fs *vfs.MemFS) {
				fs.RemoveAll("node/raftlog")
				fs.Remove("node/guard")
			},
			refused: raftstore.ErrDamaged, text: "the state is at entry",
		},
		{
			name: "state gone, no snapshot (A < N = 0)", damage: func(t *testing.T, fs *vfs.MemFS) { fs.RemoveAll("node/state") },
			count: commandsBefore,
		},
		{
			name: "state gone, snapshot there (A < N)", snapshots: true,
			damage: func(t *testing.T, fs *vfs.MemFS) { fs.RemoveAll("node/state") },
			count:  commandsBefore, rebuilt: 1,
		},
		{
			name: "state gone, newest snapshot damaged", snapshots: true, damage: func(t *testing.T, fs *vfs.MemFS) {
				fs.RemoveAll("node/state")
				flip(t, fs, snapshotFile(t, fs, "state"), 60, 1)
			},
			refused: raftstore.ErrDamaged, text: "has to be rebuilt",
		},
		{
			name: "a count changed in the state: digest wrong", snapshots: true, damage: func(t *testing.T, fs *vfs.MemFS) {
				edit(t, fs, "node/state", func(db *pebble.DB) { db.Set([]byte("\x00\x01\x01a"), number(7), pebble.Sync) })
			},
			count: commandsBefore, rebuilt: 1,
		},
		{
			name: "a count gone from the state: digest wrong, no snapshot", damage: func(t *testing.T, fs *vfs.MemFS) {
				edit(t, fs, "node/state", func(db *pebble.DB) { db.Delete([]byte("\x00\x01\x01a"), pebble.Sync) })
			},
			count: commandsBefore, rebuilt: 1,
		},
		{
			name: "snapshots gone, log truncated", snapshots: true, damage: func(t *testing.T, fs *vfs.MemFS) { fs.RemoveAll("node/snapshots") },
			refused: raftstore.ErrDamaged, text: "the log begins at entry",
		},
		{
			name: "unfinished snapshot", snapshots: true, damage: func(t *testing.T, fs *vfs.MemFS) { fs.MkdirAll("node/snapshots/1/x.tmp", 0o755) },
			count: commandsBefore,
		},
		{
			name: "identity changed", damage: func(t *testing.T, fs *vfs.MemFS) {
				replace(t, fs, "node/cluster.json", `"cluster": "`, `"cluster": "f`)
			},
			refused: raftstore.ErrDamaged, text: "checksum",
		},
		{
			name: "files of another cluster", damage: func(t *testing.T, fs *vfs.MemFS) {
				edit(t, fs, "node/raftlog", func(db *pebble.DB) { db.Set([]byte("\x03\xff\xffcluster"), number(7), pebble.Sync) })
			},
			refused: raftstore.ErrForeign, text: "is of cluster",
		},
		{
			name: "identity gone", damage: func(t *testing.T, fs *vfs.MemFS) { fs.Remove("node/cluster.json") },
			refused: raftstore.ErrDamaged, text: "cluster.json is missing",
		},
		{
			name: "another node", damage: func(*testing.T, *vfs.MemFS) {}, config: func(c *raftstore.Config) { c.NodeID = "n2" },
			refused: raftstore.ErrForeign, text: `is of node "n1"`,
		},
		{
			name: "other groups", damage: func(*testing.T, *vfs.MemFS) {}, config: func(c *raftstore.Config) { c.Groups = []uint16{1, 2} },
			refused: raftstore.ErrForeign, text: "founded with groups [1], not [1 2]",
		},
		{
			name: "empty directory, not allowed to found", damage: func(t *testing.T, fs *vfs.MemFS) { fs.RemoveAll("node") },
			config: func(c *raftstore.Config) { c.Expect = 0 }, refused: raftstore.ErrNoCluster,
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs := written(t, tc.snapshots)
				tc.damage(t, fs)
				c := config(fs, 1)
				if tc.config == nil {
					tc.config = none
				}
				tc.config(&c)
				s, err := raftstore.Open(c)
				if tc.refused != nil {
					if !errors.Is(err, tc.refused) || !strings.Contains(err.Error(), tc.text) {
						t.Fatalf("got %v, want %v with %q", err, tc.refused, tc.text)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				defer closeStore(t, s)
				if err := s.Group(1).WaitReady(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := read(t, s.Group(1), "a"); n != tc.count {
					t.Errorf("count %d, want %d", n, tc.count)
				}
				if n := propose(t, s.Group(1), "a"); n != tc.count+1 {
					t.Errorf("next command: %d, want %d", n, tc.count+1)
				}
				if got := s.Stats().StatesRebuilt; got != tc.rebuilt {
					t.Errorf("%d states rebuilt, want %d", got, tc.rebuilt)
				}
			})
		})
	}
}

// snapshotFile returns the path of a file of the newest snapshot.
func snapshotFile(t *testing.T, fs vfs.FS, name string) string {
	t.Helper()
	ids, err := fs.List("node/snapshots/1")
	if err != nil || len(ids) == 0 {
		t.Fatal(ids, err)
	}
	newest := ids[0]
	for _, id := range ids {
		newest = max(newest, id)
	}
	return "node/snapshots/1/" + newest + "/" + name
}

func flip(t *testing.T, fs vfs.FS, path string, offset int64, bit byte) {
	t.Helper()
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], offset); err != nil {
		t.Fatalf("%s at %d: %v", path, offset, err)
	}
	b[0] ^= bit
	if _, err := f.WriteAt(b[:], offset); err != nil {
		t.Fatal(err)
	}
}

func TestConfigReportsEveryFault(t *testing.T) {
	_, err := raftstore.Open(raftstore.Config{Groups: []uint16{1, 1, 5000}, PeerListen: "0.0.0.0:7400", PeerConnectionsMax: 63, CallLimit: time.Millisecond})
	for _, text := range []string{"directory", "node id", "state machine", "repeat", "end at", "certificates", "loopback", "healthy", "63 connections"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("no %q in: %v", text, err)
		}
	}
}

func TestDirectoryIsLocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		s := open(t, config(fs, 1))
		defer closeStore(t, s)
		if _, err := raftstore.Open(config(fs, 1)); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("second open: %v", err)
		}
		if groups, err := raftstore.FoundedGroups(fs, "node"); fmt.Sprint(groups) != "[1]" || err != nil {
			t.Errorf("founded groups: %v, %v", groups, err)
		}
	})
}
