package raftstore_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// clocked is a cluster whose nodes have clocks that a test can set.
func clocked(t *testing.T, nodes int) (*raftstoretest.Cluster, []atomic.Int64) {
	c := raftstoretest.NewCluster(t, 8, nodes)
	offsets := make([]atomic.Int64, nodes)
	c.Configure = func(node int, config *raftstore.Config) {
		config.Now = func() time.Time { return time.Now().Add(time.Duration(offsets[node].Load())) }
	}
	startAll(t, c, nodes)
	return c, offsets
}

// Promise P16, clock skew: a leader whose clock is far from those of the others transfers the leadership, does not
// become leader while its clock is wrong, and may lead again when it is right. A small difference changes nothing.
func TestLeaderWithAWrongClockStepsDown(t *testing.T) {
	for _, tc := range []struct {
		wrong time.Duration
		leads bool
	}{{400 * time.Millisecond, true}, {-400 * time.Millisecond, true}, {time.Second, false}, {-time.Hour, false}, {240 * time.Hour, false}} {
		t.Run(tc.wrong.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, offsets := clocked(t, 3)
				defer stopAll(c)
				time.Sleep(2 * time.Minute) // The preferred node leads by then.
				old := leader(c)
				offsets[old].Store(int64(tc.wrong))
				time.Sleep(20 * time.Second)
				if leads := leader(c) == old; leads != tc.leads {
					t.Fatalf("leads: %v", leads)
				}
				s, _ := c.Store(old)
				stats := s.Stats()
				if stats.ClockWrong == tc.leads || (stats.ClockOffset-tc.wrong).Abs() > 20*time.Millisecond {
					t.Errorf("wrong %v by %s", stats.ClockWrong, stats.ClockOffset)
				}
				place(t, c, old, 1)
				if tc.leads {
					return
				}
				other, _ := c.Store((old + 1) % 3)
				if err := other.Transfer(t.Context(), 1, c.Nodes[old].ID); err == nil {
					t.Error("the leadership was given to a wrong clock")
				}
				offsets[old].Store(0)
				time.Sleep(10 * time.Second)
				at := leader(c)
				s, _ = c.Store(at)
				if err := s.Transfer(t.Context(), 1, c.Nodes[old].ID); err != nil {
					t.Errorf("the leadership was not given to a clock that is right again: %v", err)
				}
			})
		})
	}
}

// Of two clocks neither can be called wrong; and when no other node can lead, a wrong clock is better than no leader.
func TestWrongClockLeadsWhereNobodyElseCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, offsets := clocked(t, 2)
		old := leader(c)
		offsets[old].Store(int64(time.Hour))
		time.Sleep(20 * time.Second)
		s, _ := c.Store(old)
		if s.Stats().ClockWrong {
			t.Error("one of two clocks is said to be wrong")
		}
		place(t, c, 0, 1)
		stopAll(c)
	})
	synctest.Test(t, func(t *testing.T) {
		c, offsets := clocked(t, 3)
		skewed := (leader(c) + 1) % 3
		offsets[skewed].Store(int64(time.Hour))
		time.Sleep(10 * time.Second)
		absent := leader(c)
		c.Crash(absent)
		place(t, c, skewed, 1) // The third leads.
		c.Start(absent, c.Seeds(3))
		lagging := 3 - skewed - absent
		c.Crash(lagging)
		c.Crash(absent)
		c.Start(absent, c.Seeds(3))
		place(t, c, skewed, 2)
		c.Start(lagging, c.Seeds(3))
		time.Sleep(30 * time.Second)
		if leader(c) == skewed {
			t.Error("a wrong clock leads although others can")
		}
		stopAll(c)
	})
}
