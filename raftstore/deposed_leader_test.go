package raftstore_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// cutOff cuts what node i sends to the others, and with deaf also what they send to it.
func cutOff(c *raftstoretest.Cluster, i int, deaf bool, others ...int) {
	for _, other := range others {
		c.Net.Cut(c.Nodes[i].Address, c.Nodes[other].Address, true)
		c.Net.Cut(c.Nodes[other].Address, c.Nodes[i].Address, deaf)
	}
}

// A leader that does not notice that it was deposed, because its disk blocks its main loop, gives no read index: a read
// through it waits, while the others go on without it.
func TestDeposedLeaderGivesNoReadIndex(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := raftstoretest.NewCluster(t, 61, 3)
			var disks [3]*brokenDisk
			c.Configure = func(i int, config *raftstore.Config) {
				disks[i] = &brokenDisk{FS: config.FS, suffix: "guard"}
				config.FS = disks[i]
			}
			startAll(t, c, 3)
			place(t, c, 0, 1)
			old := leader(c)
			other := (old + 1) % 3
			s, _ := c.Store(old)
			release := make(chan struct{})
			disks[old].hold.Store(&release)
			var caller sync.WaitGroup
			caller.Go(func() { place(t, c, old, 2) })
			time.Sleep(10 * time.Millisecond)
			cutOff(c, old, deaf, other, (old+2)%3)

			place(t, c, other, 3)
			if !s.Group(1).Ready() || leader(c) < 0 {
				t.Error("the old leader knows: the test tests nothing")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			if err := s.Group(1).ReadBarrier(ctx); err == nil && c.Ledger(old).Place(3) == 0 {
				t.Errorf("deaf %v: a read through the deposed leader does not see what was acknowledged", deaf)
			}
			close(release)
			c.Net.Heal()
			caller.Wait()
			if err := s.Group(1).ReadBarrier(t.Context()); err != nil || c.Ledger(old).Place(3) == 0 {
				t.Errorf("healed: %v", err)
			}
			stopAll(c)
		})
	}
}

// A leader that loses its leadership does not know the outcome of the commands that others sent to it. They repeat
// them, and an answer belongs to a command that was applied.
func TestUnknownIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 62, 3)
		startAll(t, c, 3)
		c.Add()
		c.Configure = func(node int, config *raftstore.Config) { config.Learner = node == 3 }
		if !c.Start(3, c.Seeds(3)) {
			t.Fatal("the learner does not start")
		}
		time.Sleep(30 * time.Second)
		place(t, c, 3, 1)
		old := leader(c)
		cutOff(c, old, true, (old+1)%3, (old+2)%3)
		s, _ := c.Store(3)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		result, err := s.Group(1).Propose(ctx, raftstoretest.LedgerCommand(2))
		if err != nil || len(result) != 8 {
			t.Errorf("answer %x, %v", result, err)
		}
		c.Net.Heal()
		if got := place(t, c, (old+1)%3, 2); got != 2 {
			t.Errorf("place %d", got)
		}
		if err := s.Group(1).ReadBarrier(t.Context()); err != nil || c.Ledger(3).Place(2) != 2 {
			t.Errorf("what was answered is not there: %v", err)
		}
		stopAll(c)
	})
}
