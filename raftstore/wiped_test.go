package raftstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// A node that lost its disk answers at the address of the voter it was, and Raft alone would count its answers: a
// follower without the newest entry would be elected by it, and acknowledged commands be lost. No node leads until one
// is back that has them.
func TestWipedNodeIsNotCountedAsTheVoterItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 21, 3)
		startAll(t, c, 3)
		place(t, c, 0, 1)
		lead := leader(c)
		behind, wiped := (lead+1)%3, (lead+2)%3
		for _, other := range []int{lead, wiped} {
			c.Net.Cut(c.Nodes[other].Address, c.Nodes[behind].Address, true)
			c.Net.Cut(c.Nodes[behind].Address, c.Nodes[other].Address, true)
		}
		place(t, c, lead, 2) // Durable at the leader and at the node that is wiped.
		c.Crash(lead)
		c.Crash(wiped)
		c.Nodes[wiped].Wipe()
		c.Net.Heal()
		if !c.Start(wiped, c.Seeds(3)) {
			t.Fatal("the wiped node does not start")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, _ := c.Store(behind)
		if _, err := s.Group(1).Propose(ctx, raftstoretest.LedgerCommand(3)); !errors.Is(err, raftstore.ErrNotLeader) {
			t.Errorf("written without a node that has everything: %v", err)
		}
		if !c.Start(lead, c.Seeds(3)) {
			t.Fatal("the old leader does not start")
		}
		if got := place(t, c, behind, 2); got != 2 {
			t.Errorf("the acknowledged command has place %d", got)
		}
		waitUntil(t, 2*time.Minute, "all vote", func() bool { return memberIDs(c, lead) == "n1* n2* n3*" })
		stopAll(c)
	})
}
