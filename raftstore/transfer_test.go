package raftstore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// A leader that tries twice to transfer to a follower that it does not reach, and then loses its leadership, takes
// commands when it leads again.
func TestTransfersToAnAbsentFollower(t *testing.T) {
	for seed := range uint64(24) {
		synctest.Test(t, func(t *testing.T) {
			c := raftstoretest.NewCluster(t, seed, 3)
			startAll(t, c, 3)
			old := leader(c)
			absent, other := (old+1)%3, (old+2)%3
			cut := func(a, b int, on bool) {
				c.Net.Cut(c.Nodes[a].Address, c.Nodes[b].Address, on)
				c.Net.Cut(c.Nodes[b].Address, c.Nodes[a].Address, on)
			}
			cut(old, absent, true)
			for id := range uint64(10) {
				place(t, c, old, id)
			}
			time.Sleep(4 * time.Second) // The library waits for the follower's answer now.
			s, _ := c.Store(old)
			for range 2 {
				if s.Transfer(t.Context(), 1, c.Nodes[absent].ID) == nil {
					t.Error("the leadership was handed to an absent follower")
				}
			}
			cut(old, other, true)
			time.Sleep(20 * time.Second)
			c.Net.Heal()
			place(t, c, other, 20)
			time.Sleep(5 * time.Second)
			s, _ = c.Store(leader(c))
			if err := s.Transfer(t.Context(), 1, c.Nodes[old].ID); err != nil {
				t.Errorf("seed %d: the leadership does not come back: %v", seed, err)
			}
			place(t, c, old, 21)
			if leader(c) != old {
				t.Errorf("seed %d: node %d leads instead of %d", seed, leader(c), old)
			}
			stopAll(c)
		})
	}
}
