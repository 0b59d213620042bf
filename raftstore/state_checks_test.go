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

// drifting is a ledger that mistakes one id for another, as a flipped bit in memory would cause.
type drifting struct {
	*raftstoretest.Ledger
	at, as uint64
}

func (d drifting) Apply(b raftstore.Batch, cmd []byte) []byte {
	if string(cmd) == string(raftstoretest.LedgerCommand(d.at)) {
		cmd = raftstoretest.LedgerCommand(d.as)
	}
	return d.Ledger.Apply(b, cmd)
}

// driftingCluster has a drift in some nodes: they apply id 50 as the id in the map.
func driftingCluster(t *testing.T, seed uint64, nodes int, drift map[int]uint64) *raftstoretest.Cluster {
	c := raftstoretest.NewCluster(t, seed, nodes)
	c.Configure = func(i int, config *raftstore.Config) {
		if as := drift[i]; as != 0 {
			ledger := config.Machine(1).(*raftstoretest.Ledger)
			config.Machine = func(uint16) raftstore.StateMachine { return drifting{ledger, 50, as} }
		}
	}
	startAll(t, c, nodes)
	return c
}

func stats(c *raftstoretest.Cluster, node int) raftstore.Stats {
	s, _ := c.Store(node)
	if s == nil {
		return raftstore.Stats{}
	}
	return s.Stats()
}

// Replicas that agree count the comparison, and go on.
func TestReplicasAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := driftingCluster(t, 21, 3, nil)
		for id := range uint64(30) {
			place(t, c, int(id)%3, id+1)
			time.Sleep(2 * time.Second)
		}
		time.Sleep(15 * time.Second)
		for i := range 3 {
			if got := stats(c, i); got.StateChecks < 4 || got.StateChecks > 8 || got.StateMismatches != 0 {
				t.Errorf("node %d: %d checks, %d mismatches", i, got.StateChecks, got.StateMismatches)
			}
		}
		before := stats(c, 0).StateChecks
		time.Sleep(time.Minute)
		if after := stats(c, 0).StateChecks; after > before {
			t.Errorf("%d checks of a state that rests", after-before)
		}
		stopAll(c)
	})
}

// Many entries make a check due before the interval ends.
func TestChecksByEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := raftstoretest.NewCluster(t, 22, 3)
		c.Configure = func(_ int, config *raftstore.Config) { config.CheckEntries, config.CheckInterval = 20, time.Hour }
		startAll(t, c, 3)
		for id := range uint64(100) {
			place(t, c, 0, id+1)
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(3 * time.Second)
		if got := stats(c, 0).StateChecks; got < 2 || got > 6 {
			t.Errorf("%d checks", got)
		}
		stopAll(c)
	})
}

// A minority that diverges, leader or not, ends itself and does not start again; the others and what was acknowledged
// stay.
func TestDivergedMinorityHalts(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes int
		drift map[int]uint64
	}{
		"one of three":             {3, map[int]uint64{1: 51}},
		"two of five, in one way":  {5, map[int]uint64{1: 51, 3: 51}},
		"two of five, in two ways": {5, map[int]uint64{1: 51, 3: 52}},
	} {
		for _, leads := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := driftingCluster(t, 23, tc.nodes, tc.drift)
					place(t, c, 0, 1)
					lead := 0
					if leads {
						lead = 1
					}
					s, _ := c.Store(leader(c))
					if err := s.Transfer(t.Context(), 1, c.Nodes[lead].ID); err != nil && leader(c) != lead {
						t.Fatal(err)
					}
					place(t, c, 0, 50)
					time.Sleep(25 * time.Second)
					if got := c.Exits.Load(); got != int64(len(tc.drift)) {
						t.Fatalf("%d nodes ended, want %d", got, len(tc.drift))
					}
					for i := range tc.nodes {
						s, _ := c.Store(i)
						if diverged := tc.drift[i] != 0; diverged != (s == nil) {
							t.Errorf("node %d: up %v", i, s != nil)
						} else if diverged {
							_, err := raftstore.OpenContext(t.Context(), c.ConfigOf(i, c.Seeds(tc.nodes)))
							if !errors.Is(err, raftstore.ErrDiverged) {
								t.Errorf("node %d starts again: %v", i, err)
							}
						} else if got := s.Stats(); got.StateChecks == 0 { // A node that ended itself may have had no time to send its digest.
							t.Errorf("node %d: %d checks", i, got.StateChecks)
						}
					}
					if got := place(t, c, 2, 50); got != 2 {
						t.Errorf("what was acknowledged has place %d", got)
					}
					if got := place(t, c, 2, 60); got != 3 {
						t.Errorf("the next has place %d", got)
					}
					stopAll(c)
				})
			})
		}
	}
}

// Without a majority no process ends: three of three differ, or one of two.
func TestNobodyHaltsWithoutAMajority(t *testing.T) {
	for nodes, drift := range map[int]map[int]uint64{3: {1: 51, 2: 52}, 2: {1: 51}} {
		synctest.Test(t, func(t *testing.T) {
			c := driftingCluster(t, 24, nodes, drift)
			place(t, c, 0, 1)
			place(t, c, 0, 50)
			time.Sleep(25 * time.Second)
			if got := c.Exits.Load(); got != 0 {
				t.Errorf("%d of %d nodes ended", got, nodes)
			}
			for i := range nodes {
				if got := stats(c, i); got.StateMismatches == 0 {
					t.Errorf("node %d of %d noticed nothing", i, nodes)
				}
			}
			stopAll(c)
		})
	}
}

// A replica that is down when the others compare finds its difference when it is back.
func TestAbsentReplicaComparesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := driftingCluster(t, 25, 3, map[int]uint64{1: 51})
		place(t, c, 0, 1)
		c.Crash(1)
		place(t, c, 0, 50)
		time.Sleep(30 * time.Second)
		if !c.Start(1, c.Seeds(3)) {
			t.Fatal("does not start")
		}
		time.Sleep(20 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for c.Exits.Load() == 0 && ctx.Err() == nil {
			place(t, c, 0, uint64(time.Now().UnixNano()))
			time.Sleep(time.Second)
		}
		if c.Exits.Load() != 1 {
			t.Error("the replica still serves a wrong state")
		}
		stopAll(c)
	})
}
