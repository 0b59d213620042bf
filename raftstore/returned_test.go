package raftstore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// A node was down for a minute and is back; then another one fails, and the leader needs the returned one for each
// commit. The leader must send it entries soon, not when Raft's back-off ends, which is ten seconds by then.
func TestReturnedNodeIsNeededAtOnce(t *testing.T) {
	for name, end := range map[string]func(*raftstoretest.Cluster, int){
		"crash": (*raftstoretest.Cluster).Crash, "power failure": (*raftstoretest.Cluster).PowerOff,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := raftstoretest.NewCluster(t, 31, 3)
				startAll(t, c, 3)
				for round := range uint64(10) {
					lead := leader(c)
					away, other := (lead+1)%3, (lead+2)%3
					end(c, away)
					place(t, c, lead, round*10)
					time.Sleep(time.Minute + time.Duration(round)*777*time.Millisecond)
					if !c.Start(away, c.Seeds(3)) {
						t.Fatal("does not start")
					}
					waitUntil(t, 4*time.Second, "it is in contact with the leader", func() bool {
						s, _ := c.Store(away)
						return s != nil && time.Since(s.Group(1).Freshness().Contact) < 100*time.Millisecond
					})
					time.Sleep(time.Second)
					c.Crash(other)
					began := time.Now()
					place(t, c, lead, round*10+1)
					if took := time.Since(began); took > 4*time.Second {
						t.Errorf("round %d: no commit for %s", round, took)
					}
					if !c.Start(other, c.Seeds(3)) {
						t.Fatal("does not start")
					}
					waitUntil(t, time.Minute, "all are there", func() bool { return leader(c) >= 0 && caughtUp(c) })
				}
				stopAll(c)
			})
		})
	}
}

// caughtUp reports whether all nodes have applied the same entries.
func caughtUp(c *raftstoretest.Cluster) bool {
	all := map[uint64]bool{}
	for i := range c.Nodes {
		s, _ := c.Store(i)
		if s == nil {
			return false
		}
		all[s.Group(1).Freshness().Applied] = true
	}
	return len(all) == 1
}
