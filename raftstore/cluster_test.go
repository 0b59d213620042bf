package raftstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// startAll founds or restarts a cluster and waits until every node knows a leader.
func startAll(t *testing.T, c *raftstoretest.Cluster, nodes int) {
	t.Helper()
	done := make(chan bool)
	for i := range nodes {
		go func() { done <- c.Start(i, c.Seeds(nodes)) }()
	}
	for range nodes {
		if !<-done {
			t.Fatal("a node does not start")
		}
	}
	for i := range nodes {
		s, _ := c.Store(i)
		if err := s.Group(1).WaitLeader(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func stopAll(c *raftstoretest.Cluster) {
	for i := range c.Nodes {
		if s, _ := c.Store(i); s != nil {
			c.Stop(i)
		}
	}
	c.Wait()
}

// place proposes an id through a node and returns its place.
func place(t *testing.T, c *raftstoretest.Cluster, node int, id uint64) uint64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s, _ := c.Store(node)
	result, err := s.Group(1).Propose(ctx, raftstoretest.LedgerCommand(id))
	if err != nil {
		t.Fatalf("propose %d at node %d: %v", id, node, err)
	}
	return binary.BigEndian.Uint64(result)
}

func leader(c *raftstoretest.Cluster) int {
	for i := range c.Nodes {
		if s, _ := c.Store(i); s != nil && s.Group(1).Ready() {
			return i
		}
	}
	return -1
}

// Three nodes with empty directories and the same list found a cluster. Every node takes commands, every node reads
// them after a barrier, and a restart of all nodes keeps them.
func TestThreeNodesFoundACluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 1, 3)
		for round := range uint64(2) {
			startAll(t, c, 3)
			first, _ := c.Store(0)
			for i := range c.Nodes {
				id := round*10 + uint64(i)
				if got := place(t, c, i, id); got != round*3+uint64(i)+1 {
					t.Errorf("id %d has place %d", id, got)
				}
				s, _ := c.Store(i)
				if s.Cluster().ID != first.Cluster().ID {
					t.Errorf("node %d is of cluster %x", i, s.Cluster().ID)
				}
				reader := (i + 1) % 3
				other, _ := c.Store(reader)
				if err := other.Group(1).ReadBarrier(t.Context()); err != nil {
					t.Fatal(err)
				}
				if c.Ledger(reader).Place(id) == 0 {
					t.Errorf("id %d is missing on node %d after a barrier", id, reader)
				}
			}
			stopAll(c)
		}
	})
}

// A clean stop of the leader transfers its group: the others write again at once instead of after a timeout.
func TestStopTransfersLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 2, 3)
		startAll(t, c, 3)
		old := leader(c)
		began := time.Now()
		c.Stop(old)
		place(t, c, (old+1)%3, 1)
		if took := time.Since(began); took > time.Second {
			t.Errorf("no leader for %s", took)
		}
		stopAll(c)
	})
}

// A leader whose process ends is replaced; callers at other nodes only notice a delay.
func TestFailedLeaderIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 3, 3)
		startAll(t, c, 3)
		place(t, c, 0, 1)
		old := leader(c)
		began := time.Now()
		c.Crash(old)
		if got := place(t, c, (old+1)%3, 2); got != 2 {
			t.Errorf("place %d", got)
		}
		t.Logf("written again after %s", time.Since(began))
		if !c.Start(old, c.Seeds(3)) {
			t.Fatal("does not start again")
		}
		if got := place(t, c, old, 3); got != 3 {
			t.Errorf("place %d through the node that came back", got)
		}
		stopAll(c)
	})
}

// A node with an empty directory joins: first it follows, then it votes, and then it and one of the others are a
// majority. It can be removed again.
func TestJoinAndRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 4, 3)
		startAll(t, c, 3)
		for id := range uint64(50) {
			place(t, c, int(id)%3, id+1)
		}
		c.Add()
		if !c.Start(3, c.Seeds(3)) {
			t.Fatal("the fourth node does not start")
		}
		began := time.Now()
		for !isVoter(c, 3, "n4") {
			time.Sleep(time.Second)
			if time.Since(began) > time.Minute {
				t.Fatal("does not become a voter")
			}
		}
		if waited := time.Since(began); waited < 10*time.Second {
			t.Errorf("a voter after %s", waited)
		}
		if got := place(t, c, 3, 100); got != 51 {
			t.Errorf("place %d through the new node", got)
		}
		n4, _ := c.Store(3)
		if err := n4.Group(1).ReadBarrier(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := c.Ledger(3).Len(); got != 51 {
			t.Errorf("the new node has %d places", got)
		}
		s, _ := c.Store(0)
		if err := s.Remove(t.Context(), "n4"); err != nil {
			t.Fatal(err)
		}
		if members := s.Group(1).Members(); len(members) != 3 {
			t.Errorf("%v", members)
		}
		c.Crash(3)
		place(t, c, 1, 101)

		stopAll(c)
	})
}

func isVoter(c *raftstoretest.Cluster, node int, id string) bool {
	s, _ := c.Store(node)
	for _, m := range s.Group(1).Members() {
		if m.ID == id && m.Voter {
			return true
		}
	}
	return false
}

// A node cut off from its leader cannot know the outcome of a command that it sent. The same bytes, sent again later
// through another node, have one place.
func TestUnknownIsRepeatedWithTheSameBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 5, 3)
		startAll(t, c, 3)
		lead := leader(c)
		follower := (lead + 1) % 3
		place(t, c, follower, 1)
		c.Net.Cut(c.Nodes[lead].Address, c.Nodes[follower].Address, true) // The request arrives, the answer does not.
		s, _ := c.Store(follower)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Group(1).Propose(ctx, raftstoretest.LedgerCommand(2)); !errors.Is(err, raftstore.ErrUnknown) {
			t.Errorf("without an answer: %v", err)
		}
		if c.Ledger(lead).Place(2) != 2 {
			t.Error("the command did not arrive: the test tests nothing")
		}
		c.Net.Heal()
		if got := place(t, c, (lead+2)%3, 2); got != 2 {
			t.Errorf("place %d", got)
		}
		if got := place(t, c, follower, 3); got != 3 {
			t.Errorf("place %d", got)
		}
		stopAll(c)
	})
}

// A learner follows, forwards and restarts, and never votes.
func TestLearner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 6, 3)
		startAll(t, c, 3)
		c.Add()
		c.Configure = func(node int, config *raftstore.Config) { config.Learner = node == 3 }
		for start := range uint64(2) {
			if !c.Start(3, c.Seeds(3)) {
				t.Fatal("the learner does not start")
			}
			time.Sleep(30 * time.Second)
			if isVoter(c, 0, "n4") {
				t.Error("the learner votes")
			}
			s, _ := c.Store(0)
			if members := s.Group(1).Members(); len(members) != 4 {
				t.Errorf("%v", members)
			}
			if got := place(t, c, 3, start); got != start+1 {
				t.Errorf("place %d through the learner", got)
			}
			c.Crash(3)
		}
		stopAll(c)
	})
}
