package raftstore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// Two of three nodes are lost for good. The third, alone, has what it had; it accepts new members; and when the lost
// ones return they are refused as nodes of another cluster.
func TestRecoverQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 41, 3)
		c.Configure = func(_ int, config *raftstore.Config) {
			config.SnapshotInterval, config.SnapshotThreshold, config.TrailingLogs = time.Second, 20, 5
		}
		startAll(t, c, 3)
		for id := range uint64(60) {
			place(t, c, int(id)%3, id+1)
			time.Sleep(100 * time.Millisecond)
		}
		s, _ := c.Store(0)
		former := s.Cluster().ID
		if err := s.Group(1).ReadBarrier(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.Group(1).Status().Snapshots == 0 {
			t.Fatal("no snapshot was taken: the test does not test them")
		}
		digest := c.Ledger(0).Digest()
		for i := range 3 {
			c.Crash(i)
		}

		r, err := raftstore.RecoverQuorum(c.ConfigOf(0, c.Seeds(3)))
		if err != nil {
			t.Fatal(err)
		}
		g := r.Groups[0]
		if r.Former != former || r.Cluster == former || len(g.Voters) != 3 || g.Last < 60 || g.Committed == 0 || g.Committed > g.Last {
			t.Errorf("%+v", r)
		}
		if !c.Start(0, nil) {
			t.Fatal("does not start")
		}
		s, _ = c.Store(0)
		if err := s.Group(1).WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c.Ledger(0).Digest() != digest || s.Cluster().ID != r.Cluster {
			t.Errorf("%d places, cluster %x", c.Ledger(0).Len(), s.Cluster().ID)
		}
		if got := place(t, c, 0, 1000); got != 61 {
			t.Errorf("place %d", got)
		}

		// The lost nodes come back: they are a majority of the old cluster, and must not change the new one.
		done := make(chan bool)
		for i := 1; i < 3; i++ {
			go func() { done <- c.Start(i, c.Seeds(3)) }()
		}
		<-done
		<-done
		time.Sleep(time.Minute)
		if got := place(t, c, 0, 1001); got != 62 {
			t.Errorf("place %d beside the old nodes", got)
		}
		if got := s.Group(1).Members(); len(got) != 1 {
			t.Errorf("%v", got)
		}
		// With empty directories they join, by a snapshot that still carries the old id.
		for i := 1; i < 3; i++ {
			c.Crash(i)
			c.Nodes[i].Wipe()
			if !c.Start(i, c.Seeds(1)) {
				t.Fatal("does not join")
			}
			for began := time.Now(); !isVoter(c, 0, c.Nodes[i].ID); time.Sleep(time.Second) {
				if time.Since(began) > time.Minute {
					t.Fatal("does not become a voter")
				}
			}
		}
		if err := s.Group(1).ReadBarrier(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.Crash(0)
		if got := place(t, c, 1, 1002); got != 63 {
			t.Errorf("place %d on the new nodes", got)
		}
		if c.Ledger(1).Place(30) != 30 {
			t.Error("the new node lacks the old commands")
		}
		stopAll(c)
	})
}

// A recovery of a running node is refused, and one of an empty directory, and of a half restored one.
func TestRecoveryRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(vfs.NewMem(), 1)
		if _, err := raftstore.RecoverQuorum(c); !errors.Is(err, raftstore.ErrNoCluster) {
			t.Errorf("of nothing: %v", err)
		}
		s := open(t, c)
		if _, err := raftstore.RecoverQuorum(c); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("of a running node: %v", err)
		}
		closeStore(t, s)
		f, err := c.FS.Create("node/unfinished", vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte("restore\n"))
		f.Close()
		if _, err := raftstore.RecoverQuorum(c); !errors.Is(err, raftstore.ErrUnfinished) {
			t.Errorf("of a half restored directory: %v", err)
		}
	})
}

// A crash at every call of a recovery leaves a directory that is as before, or that is refused, or that is recovered;
// another run completes it.
func TestPowerFailureDuringRecovery(t *testing.T) {
	var points []raftstoretest.Point[int]
	const before, during, after = 0, 1, 2
	synctest.Test(t, func(t *testing.T) {
		phase := before
		fs := raftstoretest.NewCrashFS(2, func() int { return phase })
		s := open(t, config(fs, 1, 2))
		for range 5 {
			propose(t, s.Group(1), "a")
		}
		closeStore(t, s)
		phase = during
		if _, err := raftstore.RecoverQuorum(config(fs, 1, 2)); err != nil {
			t.Fatal(err)
		}
		phase = after
		s = open(t, config(fs, 1, 2))
		closeStore(t, s)
		points = slices.DeleteFunc(fs.Points(), func(p raftstoretest.Point[int]) bool { return p.Acknowledged == before })
	})
	refused, step := 0, 1
	if testing.Short() {
		step = len(raftstoretest.UnsyncedPercents) // Every point with one of the disks.
	}
	synctest.Test(t, func(t *testing.T) {
		for i, p := range points {
			for number, percent := range raftstoretest.UnsyncedPercents {
				if (i+number)%step != 0 {
					continue
				}
				c := config(p.Disks[percent], 1, 2)
				c.Expect = 0
				s, err := raftstore.Open(c)
				if errors.Is(err, raftstore.ErrUnfinished) && p.Acknowledged == during {
					refused++
					if _, err := raftstore.RecoverQuorum(c); err != nil {
						t.Fatalf("crash before call %d (%s): again: %v", p.Op, p.What, err)
					}
					s, err = raftstore.Open(c)
				}
				if err != nil {
					t.Fatalf("crash before call %d (%s): %v", p.Op, p.What, err)
				}
				if err := s.Group(1).WaitReady(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := propose(t, s.Group(1), "a"); n != 6 {
					t.Errorf("crash before call %d (%s): %d", p.Op, p.What, n)
				}
				closeStore(t, s)
			}
		}
	})
	t.Logf("%d crash points, %d refused before another run", len(points), refused)
	if refused == 0 {
		t.Error("no crash fell into the recovery")
	}
}
