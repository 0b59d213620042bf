package raftstore_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// A leader reports its followers, its own writes and the age of its log; without pipelining too.
func TestMetricsOfALeader(t *testing.T) {
	for _, rpcs := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			c := raftstoretest.NewCluster(t, 61, 3)
			c.Configure = func(_ int, config *raftstore.Config) { config.RPCsInFlight = rpcs }
			began := time.Now()
			startAll(t, c, 3)
			founded := time.Now()
			at := leader(c)
			for id := range uint64(20) {
				place(t, c, at, id)
			}
			s, _ := c.Store(at)
			waitUntil(t, time.Minute, "heartbeats report that the followers have everything", func() bool {
				return !slices.ContainsFunc(s.Group(1).Status().Peers, func(p raftstore.PeerStatus) bool { return p.Lag > 0 })
			})
			status := s.Group(1).Status()
			if len(status.Peers) != 2 || status.LeaderTerms != 1 {
				t.Errorf("%d calls: peers %+v, %d terms", rpcs, status.Peers, status.LeaderTerms)
			}
			for _, p := range status.Peers {
				// A comparison of states may have been written since.
				if p.Lag > 1 || p.Node == c.Nodes[at].ID || time.Since(p.Contact) > time.Second {
					t.Errorf("%d calls: %+v", rpcs, p)
				}
			}
			if o := status.OldestEntry; o.Before(began) || o.After(founded) {
				t.Errorf("the oldest entry is of %s, not from %s to %s", o, began, founded)
			}
			n := uint64(0)
			for _, bucket := range status.Propose.Buckets {
				n += bucket
			}
			if n != status.ProposedEntries || n < 20 || status.Propose.Total <= 0 {
				t.Errorf("%d times %s in total, %d entries", n, status.Propose.Total, status.ProposedEntries)
			}
			follower, _ := c.Store((at + 1) % 3)
			if status := follower.Group(1).Status(); status.Peers != nil {
				t.Errorf("a follower knows %+v", status.Peers)
			}
			c.PowerOff((at + 1) % 3)
			for id := range uint64(30) {
				place(t, c, at, 100+id)
			}
			dead := raftstore.PeerStatus{}
			for _, p := range s.Group(1).Status().Peers {
				if p.Node == c.Nodes[(at+1)%3].ID {
					dead = p
				}
			}
			if dead.Lag < 25 {
				t.Errorf("%d calls: the dead one is behind by %d of 30", rpcs, dead.Lag)
			}
			c.Crash(at)
			c.Start((at+1)%3, c.Seeds(3))
			place(t, c, (at+2)%3, 200)
			other, _ := c.Store((at + 2) % 3)
			if got := other.Group(1).Status().LeaderTerms; got != 2 {
				t.Errorf("%d leaders in all", got)
			}
			stopAll(c)
		})
	}
}

func TestCallsInFlightAreBounded(t *testing.T) {
	for n, good := range map[int]bool{-1: false, 0: true, 1: true, 2: true, 3: false} {
		c := config(vfs.NewMem(), 1)
		c.RPCsInFlight = n
		s, err := raftstore.Open(c)
		if (err == nil) != good {
			t.Errorf("%d: %v", n, err)
		}
		if err == nil {
			s.Close()
		}
	}
}
