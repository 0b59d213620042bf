package raftstore_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// hangable is a cluster of three on disks whose log writes can hang, with a limit for a storage call.
func hangable(t *testing.T, seed uint64, limit time.Duration) (*raftstoretest.Cluster, []*brokenDisk) {
	c, disks := raftstoretest.NewCluster(t, seed, 3), make([]*brokenDisk, 3)
	c.Configure = func(i int, config *raftstore.Config) {
		disks[i] = &brokenDisk{FS: config.FS, suffix: "guard"}
		config.FS, config.CallLimit = disks[i], limit
	}
	startAll(t, c, 3)
	return c, disks
}

// offer proposes an id through a node, with a short deadline.
func offer(t *testing.T, c *raftstoretest.Cluster, node int, id uint64) error {
	s, _ := c.Store(node)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := s.Group(1).Propose(ctx, raftstoretest.LedgerCommand(id))
	return err
}

// A leader whose disk hangs ends its process after 5 s, and a new leader commits within 10 s of the stall (promise
// P11). The node comes back when its disk does.
func TestLeaderWithAHangingDiskIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, disks := hangable(t, 41, 0)
		place(t, c, 0, 1)
		lead := leader(c)
		release := make(chan struct{})
		disks[lead].hold.Store(&release)
		stalled := time.Now()
		for id := uint64(2); offer(t, c, (lead+1)%3, id) != nil; {
			if time.Since(stalled) > time.Minute {
				t.Fatal("no command is committed any more")
			}
		}
		took := time.Since(stalled)
		if t.Logf("committed again %s after the stall", took); took > 10*time.Second || c.Exits.Load() != 1 {
			t.Errorf("a command is committed %s after the stall, %d processes ended", took, c.Exits.Load())
		}
		for id := range uint64(10) {
			place(t, c, (lead+1+int(id)%2)%3, 10+id)
		}
		close(release) // The old process ends.
		if !c.Start(lead, c.Seeds(3)) {
			t.Fatal("does not start on the disk that came back")
		}
		if got := place(t, c, lead, 30); got != 13 {
			t.Errorf("place %d at the node that came back, want 13", got)
		}
		stopAll(c)
	})
}

// Without the end of its process such a leader blocks its group for as long as its disk hangs: it goes on sending
// heartbeats, so no node campaigns (hashicorp/raft#503, #614, #666). When this test fails, a release has repaired the
// library, and something softer than an exit may do.
func TestLeaderWithAHangingDiskStillWedgesTheLibrary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, disks := hangable(t, 42, 24*time.Hour)
		place(t, c, 0, 1)
		lead := leader(c)
		others := slices.DeleteFunc([]int{0, 1, 2}, func(i int) bool { return i == lead })
		release := make(chan struct{})
		disks[lead].hold.Store(&release)
		for stalled := time.Now(); time.Since(stalled) < 10*time.Minute; {
			if err := offer(t, c, others[0], 2); err == nil {
				t.Fatalf("a command is committed %s after the stall", time.Since(stalled))
			}
			for _, i := range others {
				if s, _ := c.Store(i); s.Group(1).Ready() {
					t.Fatalf("node %d leads %s after the stall", i, time.Since(stalled))
				}
			}
			time.Sleep(10 * time.Second)
		}
		disks[lead].hold.Store(nil)
		close(release)
		if got := place(t, c, others[0], 2); got != 2 {
			t.Errorf("place %d", got)
		}
		stopAll(c)
	})
}

// Nobody waits for a follower whose disk is slow or hangs (promise P14): the leader commits with the other one as fast
// as before. A follower whose disk hangs ends its process, and comes back.
func TestFollowerWithABadDiskDelaysNobody(t *testing.T) {
	const commands = 300
	for name, slow := range map[string]time.Duration{"slow": 2 * time.Second, "hangs": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, disks := raftstoretest.NewCluster(t, 43, 3), make([]*brokenDisk, 3)
				pace := make([]*pacedDisk, 3)
				c.Configure = func(i int, config *raftstore.Config) {
					pace[i] = &pacedDisk{FS: config.FS}
					disks[i] = &brokenDisk{FS: pace[i], suffix: "guard"}
					pace[i].sync.Store(int64(2 * time.Millisecond))
					config.FS = disks[i]
				}
				startAll(t, c, 3)
				lead := leader(c)
				id := uint64(0)
				measure := func() (longest time.Duration) {
					for range commands {
						began := time.Now()
						id++
						place(t, c, lead, id)
						longest = max(longest, time.Since(began))
						time.Sleep(20 * time.Millisecond)
					}
					return longest
				}
				healthy := measure()
				bad := (lead + 1) % 3
				release := make(chan struct{})
				if slow > 0 {
					pace[bad].sync.Store(int64(slow))
				} else {
					disks[bad].hold.Store(&release)
				}
				degraded := measure()
				t.Logf("longest of %d commands: %s, with a bad disk %s", commands, healthy, degraded)
				if degraded > 2*healthy {
					t.Errorf("a command took %s with a bad disk, and at most %s without", degraded, healthy)
				}
				if leader(c) != lead {
					t.Error("the leadership changed")
				}
				if exits := c.Exits.Load(); slow > 0 && exits != 0 || slow == 0 && exits != 1 {
					t.Errorf("%d processes ended", exits)
				}
				pace[bad].sync.Store(0)
				close(release)
				if slow == 0 && !c.Start(bad, c.Seeds(3)) {
					t.Fatal("does not start")
				}
				s, _ := c.Store(bad)
				if err := s.Group(1).ReadBarrier(t.Context()); err != nil || c.Ledger(bad).Len() != 2*commands {
					t.Errorf("it has %d of %d commands, %v", c.Ledger(bad).Len(), 2*commands, err)
				}
				stopAll(c)
			})
		})
	}
}
