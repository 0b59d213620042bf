package raftstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/backup"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

var takenAt = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

// backedUp returns a backup of a node with groups 1 and 2 and 30 commands "a" in group 1.
func backedUp(t *testing.T) (backup.Manifest, []byte) {
	t.Helper()
	c := config(vfs.NewMem(), 1, 2)
	s := open(t, c)
	for i := range 30 {
		propose(t, s.Group(1), "a")
		propose(t, s.Group(1), fmt.Sprint("k", i))
	}
	var b bytes.Buffer
	m, err := s.Backup(t.Context(), &b, raftstore.BackupInfo{TakenAt: takenAt, StateVersion: 7})
	if err != nil {
		t.Fatal(err)
	}
	status := s.Status()
	closeStore(t, s)
	if m.TakenAt != takenAt || m.StateVersion != 7 || m.Format != 1 || m.Node != "n1" || len(m.Groups) != 2 ||
		m.Groups[0].Index != status[0].Applied || m.Groups[0].Digest != fmt.Sprintf("%016x", status[0].Digest) || m.Groups[1].Index != 1 { // Group 2 has its configuration only.
		t.Errorf("manifest %+v, status %+v", m, status)
	}
	return m, b.Bytes()
}

// A backup becomes a cluster of one with the same state and another id, and further starts lose nothing.
func TestBackupAndRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b := backedUp(t)
		if got, err := backup.Verify(bytes.NewReader(b)); err != nil || !reflect.DeepEqual(got, m) {
			t.Fatalf("%+v, %v", got, err)
		}
		c := config(vfs.NewMem(), 1, 2)
		c.NodeID, c.Expect = "other", 0
		if got, err := raftstore.RestoreBackup(c, bytes.NewReader(b), nil); err != nil || !reflect.DeepEqual(got, m) {
			t.Fatalf("%+v, %v", got, err)
		}
		for round := range uint64(2) {
			s := open(t, c)
			if n := read(t, s.Group(1), "a"); n != 30+round {
				t.Errorf("%d of %d", n, 30+round)
			}
			if got := fmt.Sprintf("%016x", s.Status()[0].Digest); round == 0 && got != m.Groups[0].Digest {
				t.Errorf("digest %s, the backup has %s", got, m.Groups[0].Digest)
			}
			if got := fmt.Sprintf("%016x", s.Cluster().ID); got == m.Cluster {
				t.Error("the restored cluster has the id of the old one")
			}
			if s.Epoch() <= m.Epoch {
				t.Errorf("epoch %d after %d", s.Epoch(), m.Epoch)
			}
			propose(t, s.Group(1), "a")
			if n := propose(t, s.Group(2), "b"); n != round+1 {
				t.Errorf("group 2: %d", n)
			}
			closeStore(t, s)
		}
		if _, err := raftstore.RestoreBackup(c, bytes.NewReader(b), nil); !errors.Is(err, raftstore.ErrNotEmpty) {
			t.Errorf("into a directory in use: %v", err)
		}
	})
}

// The dry run finds every flipped bit, every cut and every added byte, and so does a restore, which leaves the
// directory empty.
func TestDamagedBackupsAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b := backedUp(t)
		check := func(what string, bad []byte) {
			t.Helper()
			if _, err := backup.Verify(bytes.NewReader(bad)); !errors.Is(err, backup.ErrBad) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for i := range b {
			bad := bytes.Clone(b)
			bad[i] ^= 1 << (i % 8)
			check(fmt.Sprint("a bit of byte ", i), bad)
			check(fmt.Sprint("cut at ", i), b[:i])
		}
		check("a byte more", append(bytes.Clone(b), 0))
		check("twice", append(bytes.Clone(b), b...))
		c := config(vfs.NewMem(), 1, 2)
		for _, at := range []int{3, 20, len(b) / 2, len(b) - 40, len(b) - 1} {
			bad := bytes.Clone(b)
			bad[at] ^= 0x10
			for _, r := range []io.Reader{bytes.NewReader(bad), bytes.NewReader(b[:at])} {
				if _, err := raftstore.RestoreBackup(c, r, nil); !errors.Is(err, backup.ErrBad) {
					t.Errorf("restored with damage at %d: %v", at, err)
				}
			}
		}
		c.Groups = []uint16{1}
		if _, err := raftstore.RestoreBackup(c, bytes.NewReader(b), nil); !errors.Is(err, raftstore.ErrForeign) {
			t.Errorf("into other groups: %v", err)
		}
		c.Groups = []uint16{1, 2}
		if _, err := raftstore.RestoreBackup(c, bytes.NewReader(b), nil); err != nil {
			t.Errorf("after all that: %v", err)
		}
	})
}

// A machine that computes another digest of the same records has another version, so nothing is restored.
func TestRestoreComparesDigests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b := backedUp(t)
		c := config(vfs.NewMem(), 1, 2)
		c.Machine = func(uint16) raftstore.StateMachine { return otherDigest{raftstoretest.NewCounters()} }
		if _, err := raftstore.RestoreBackup(c, bytes.NewReader(b), nil); err == nil {
			t.Errorf("restored: %v", err)
		}
		c.Expect = 0
		if _, err := raftstore.Open(c); !errors.Is(err, raftstore.ErrNoCluster) {
			t.Errorf("left behind: %v", err)
		}
	})
}

type otherDigest struct{ *raftstoretest.Counters }

func (o otherDigest) Digest() uint64 { return o.Counters.Digest() + 1 }

// A power failure at every call of a restore leaves a directory that is empty, that refuses to start and can be
// restored again, or that is complete.
func TestPowerFailureDuringRestore(t *testing.T) {
	var m backup.Manifest
	var b []byte
	var points []raftstoretest.Point[bool]
	synctest.Test(t, func(t *testing.T) {
		m, b = backedUp(t)
		done := false
		fs := raftstoretest.NewCrashFS(1, func() bool { return done })
		c := config(fs, 1, 2)
		c.Expect = 0
		if _, err := raftstore.RestoreBackup(c, bytes.NewReader(b), nil); err != nil {
			t.Fatal(err)
		}
		done = true
		s := open(t, c)
		closeStore(t, s)
		points = fs.Points()
	})
	tally := map[string]int{}
	before, after := 2, 1 // Every second point before the restore returned and every one after it, to bound the time of the test.
	if testing.Short() {
		before, after = 8, 8
	}
	synctest.Test(t, func(t *testing.T) {
		for i, p := range points {
			for percent, disk := range p.Disks {
				step := before
				if p.Acknowledged {
					step = after
				}
				if (i+percent)%step != 0 {
					continue
				}
				c := config(disk, 1, 2)
				c.Expect = 0
				s, err := raftstore.Open(c)
				what := "complete"
				switch {
				case errors.Is(err, raftstore.ErrUnfinished):
					what = "unfinished"
				case errors.Is(err, raftstore.ErrNoCluster):
					what = "absent"
				case err != nil:
					t.Fatalf("crash before call %d (%s), %d%% unsynced: %v", p.Op, p.What, percent, err)
				}
				tally[what]++
				if what != "complete" {
					if p.Acknowledged {
						t.Errorf("crash before call %d (%s): %s after the restore returned", p.Op, p.What, what)
					}
					if _, err := raftstore.RestoreBackup(c, bytes.NewReader(b), nil); err != nil {
						t.Fatalf("crash before call %d (%s), %s: restored again: %v", p.Op, p.What, what, err)
					}
					s = open(t, c)
				} else if err := s.Group(1).WaitReady(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprintf("%016x", s.Status()[0].Digest); got != m.Groups[0].Digest || read(t, s.Group(1), "a") != 30 {
					t.Errorf("crash before call %d (%s), %s: digest %s", p.Op, p.What, what, got)
				}
				closeStore(t, s)
			}
		}
	})
	t.Logf("%d crash points: %v", len(points), tally)
	for _, what := range []string{"absent", "unfinished", "complete"} {
		if tally[what] == 0 {
			t.Errorf("no crash left a directory that is %s", what)
		}
	}
}

// A backup of a cluster under load, from any node, has what was acknowledged before. The restored node takes new
// members, and all have the same state.
func TestBackupOfAClusterUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 31, 3)
		startAll(t, c, 3)
		for id := range uint64(20) {
			place(t, c, int(id)%3, id+1)
		}
		stop := make(chan struct{})
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for id := uint64(1000); ; id++ {
				select {
				case <-stop:
					return
				default:
					place(t, c, 0, id)
				}
			}
		}()
		var b bytes.Buffer
		follower, _ := c.Store((leader(c) + 1) % 3)
		m, err := follower.Backup(t.Context(), slow{&b}, raftstore.BackupInfo{TakenAt: takenAt})
		if err != nil {
			t.Fatal(err)
		}
		close(stop)
		<-stopped
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := follower.Backup(ctx, io.Discard, raftstore.BackupInfo{Local: true}); !errors.Is(err, context.Canceled) {
			t.Errorf("a backup that nobody waits for: %v", err)
		}
		stopAll(c)

		fresh := raftstoretest.NewCluster(t, 32, 3)
		if _, err := raftstore.RestoreBackup(fresh.ConfigOf(0, fresh.Seeds(1)), &b, nil); err != nil {
			t.Fatal(err)
		}
		if !fresh.Start(0, fresh.Seeds(1)) {
			t.Fatal("the restored node does not start")
		}
		for id := range uint64(20) {
			if got := fresh.Ledger(0).Place(id + 1); got != id+1 {
				t.Errorf("id %d has place %d", id+1, got)
			}
		}
		if got := fmt.Sprintf("%016x", fresh.Ledger(0).Digest()); got != m.Groups[0].Digest {
			t.Errorf("digest %s, the backup has %s", got, m.Groups[0].Digest)
		}
		for i := 1; i < 3; i++ {
			if !fresh.Start(i, fresh.Seeds(1)) {
				t.Fatal("a node does not join")
			}
			for began := time.Now(); !isVoter(fresh, 0, fresh.Nodes[i].ID); time.Sleep(time.Second) {
				if time.Since(began) > time.Minute {
					t.Fatal("a node does not become a voter")
				}
			}
		}
		next := place(t, fresh, 2, 1<<40)
		fresh.Crash(0)
		if got := place(t, fresh, 1, 1<<41); got != next+1 {
			t.Errorf("place %d after %d", got, next)
		}
		stopAll(fresh)
	})
}

// slow is a writer that waits before each write.
type slow struct{ w io.Writer }

func (s slow) Write(b []byte) (int, error) {
	time.Sleep(time.Second)
	return s.w.Write(b)
}
