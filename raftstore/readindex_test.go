package raftstore_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// partition is a leader whose followers' answers arrive late, and which is then cut off from them. They elect another
// leader and acknowledge a command while it still believes that it leads.
type partition struct {
	*raftstoretest.Cluster
	old, b, d int // The former leader, and the others.
}

func (p *partition) cut(from, to int, on bool) {
	p.Net.Cut(p.Nodes[from].Address, p.Nodes[to].Address, on)
}

// lateAnswers are delivered to a leader that receives nothing else, so that its lease goes on.
func (p *partition) lateAnswers(from ...int) {
	for _, v := range from {
		p.cut(v, p.old, false)
	}
	time.Sleep(10 * time.Millisecond)
	for _, v := range from {
		p.cut(v, p.old, true)
	}
}

// begin makes the partition; the answers of some nodes are delivered after a while. It returns when a command is
// acknowledged elsewhere.
func (p *partition) begin(t *testing.T, late ...int) {
	for _, v := range []int{p.b, p.d} {
		p.cut(v, p.old, true)
	}
	time.Sleep(220 * time.Millisecond)
	for _, v := range []int{p.b, p.d} {
		p.cut(p.old, v, true)
	}
	time.Sleep(700 * time.Millisecond)
	p.lateAnswers(late...)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	acknowledged := make(chan bool, 2)
	for _, v := range []int{p.b, p.d} {
		s, _ := p.Store(v)
		go func() {
			_, err := s.Group(1).Propose(ctx, raftstoretest.LedgerCommand(newCommand))
			acknowledged <- err == nil
		}()
	}
	taken := <-acknowledged
	if !taken {
		taken = <-acknowledged
	}
	if !taken {
		t.Error("no node takes the command")
	}
}

const newCommand = 77

// readStale reads at the former leader, and fails the test when the barrier lets it read the state from before the
// command.
func (p *partition) readStale(t *testing.T, meanwhile func()) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	s, _ := p.Store(p.old)
	read := make(chan error, 1)
	go func() { read <- s.Group(1).ReadBarrier(ctx) }()
	time.Sleep(20 * time.Millisecond)
	meanwhile()
	if err := <-read; err == nil && p.Ledger(p.old).Place(newCommand) == 0 {
		t.Error("a stale read: a command is missing behind the barrier that was acknowledged before it")
	}
}

// An answer that a follower gave before a read began does not confirm the leader for the read, however late it arrives;
// Raft's VerifyLeader counts it.
func TestLateAnswersConfirmNoLeader(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := raftstoretest.NewCluster(t, seed, 3)
				startAll(t, c, 3)
				for i := range c.Nodes {
					place(t, c, i, uint64(i+1))
				}
				old := leader(c)
				p := &partition{c, old, (old + 1) % 3, (old + 2) % 3}
				p.begin(t, p.b)
				p.readStale(t, func() { p.lateAnswers(p.d) })
				c.Net.Heal()
				time.Sleep(5 * time.Second)
				stopAll(c)
			})
		})
	}
}

// The answer of a learner confirms no leader, as its vote elects none; Raft's VerifyLeader counts it.
func TestLearnersConfirmNoLeader(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := raftstoretest.NewCluster(t, seed, 3)
				startAll(t, c, 3)
				for i := range c.Nodes {
					place(t, c, i, uint64(i+1))
				}
				c.Add()
				const learner = 3
				c.Configure = func(node int, config *raftstore.Config) { config.Learner = node == learner }
				if !c.Start(learner, c.Seeds(3)) {
					t.Error("the learner does not start")
				}
				time.Sleep(10 * time.Second)
				old := leader(c)
				p := &partition{c, old, (old + 1) % 3, (old + 2) % 3}
				for _, v := range []int{p.b, p.d} {
					p.cut(v, learner, true)
					p.cut(learner, v, true)
				}
				p.begin(t, p.b, p.d)
				p.readStale(t, func() {})
				c.Net.Heal()
				time.Sleep(5 * time.Second)
				stopAll(c)
			})
		})
	}
}

// A follower that installed a snapshot has no log behind it, and the snapshot may end with entries that are not the
// machine's: readers do not wait for the next command to learn that the node has everything.
func TestBarrierAfterAnInstall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 3, 3)
		c.Configure = func(_ int, config *raftstore.Config) {
			config.SnapshotInterval, config.SnapshotThreshold, config.TrailingLogs = time.Second, 10, 1
			config.CheckInterval = time.Hour
		}
		startAll(t, c, 3)
		place(t, c, 0, 1)
		follower := (leader(c) + 1) % 3
		c.Stop(follower)
		for id := range uint64(40) {
			place(t, c, leader(c), 100+id)
		}
		time.Sleep(5 * time.Second)
		for range 8 { // Every new leader makes entries that are no commands, so that a snapshot ends with them.
			from := leader(c)
			s, _ := c.Store(from)
			if err := s.Transfer(t.Context(), 1, c.Nodes[3-follower-from].ID); err != nil {
				t.Log(err)
			}
			time.Sleep(3 * time.Second)
		}
		time.Sleep(5 * time.Second)
		if !c.Start(follower, c.Seeds(3)) {
			t.Error("the follower does not start")
		}
		time.Sleep(10 * time.Second)
		s, _ := c.Store(follower)
		if s.Group(1).Status().Restores == 0 {
			t.Error("the follower got no snapshot: nothing is tested")
		}
		for what, wait := range map[string]func(context.Context) error{
			"ReadBarrier": s.Group(1).ReadBarrier, "WaitLeader": s.Group(1).WaitLeader,
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if err := wait(ctx); err != nil {
				t.Errorf("%s of an idle, healthy cluster: %v", what, err)
			}
			cancel()
		}
		stopAll(c)
	})
}
