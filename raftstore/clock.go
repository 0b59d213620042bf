package raftstore

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/membership"
)

const (
	clockPause = 2 * time.Second // Between two comparisons; up to a quarter more.
	// clockBound is how far a clock may be from the median of the members. A wrong clock counts as right again within
	// half of it.
	clockBound = 500 * time.Millisecond
	// clockRoundTripMax is the longest round trip of a question whose answer counts: half of the round trip is the
	// error of the measurement.
	clockRoundTripMax = clockBound / 2
)

// clocks compares this node's clock with those of the other members, and keeps it from leading while its clock is wrong
// (promise P16, clock skew): a leader's clock ends budget periods and tokens for all. No clock can make the state
// wrong, so a node with a wrong clock leads where no other can.
//
// The median is that of all members that answered and of this node. Where it lies between two clocks, as with two
// members, both count as right. A node that is cut off keeps the result it had.
type clocks struct {
	store  *Store
	wrong  atomic.Bool
	offset atomic.Int64 // Nanoseconds by which this clock is ahead of the median.
}

// watch compares until the store closes.
func (k *clocks) watch() {
	s := k.store
	for {
		s.pause(clockPause + rand.N(clockPause/4)) //nolint:gosec // jitter, no secret.
		if s.ctx.Err() != nil {
			return
		}
		k.evaluate(k.measure())
		if !k.wrong.Load() {
			continue
		}
		for _, id := range s.c.Groups {
			if g := s.groups[id]; g.raft.State() == raft.Leader {
				_ = g.lead.TransferAway() // It is asked again at the next comparison.
			}
		}
	}
}

// measure returns how far the clocks of the members that answer are ahead of this one, and 0 for this one.
func (k *clocks) measure() []time.Duration {
	s := k.store
	ctx, cancel := context.WithTimeout(s.ctx, membership.SeedTimeout)
	defer cancel()
	ahead := []time.Duration{0}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, n := range s.Cluster().Nodes {
		if n.ID == s.c.NodeID {
			continue
		}
		all.Go(func() {
			began := time.Now()
			a, by, err := askClock.Ask(ctx, s.control, n.Address, noQuestion{})
			trip := time.Since(began)
			if err != nil || a.Micros == 0 || by.Node != n.ID || trip > clockRoundTripMax {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ahead = append(ahead, time.UnixMicro(a.Micros).Sub(s.c.Now().Add(-trip/2)))
		})
	}
	all.Wait()
	return ahead
}

// evaluate decides whether this clock is wrong, and stores its offset from the median.
func (k *clocks) evaluate(ahead []time.Duration) {
	slices.Sort(ahead)
	low, high := ahead[(len(ahead)-1)/2], ahead[len(ahead)/2]
	offset := -min(high, max(low, 0)) // From the nearer of the two middle clocks; 0 between them.
	if len(ahead) < 3 && offset == 0 && k.wrong.Load() && max(-low, high) > clockBound {
		return // Of two clocks that differ, this one was wrong before and stays so.
	}
	k.offset.Store(int64(offset))
	bound := clockBound
	if k.wrong.Load() {
		bound /= 2
	}
	wrong := offset.Abs() > bound
	if k.wrong.Swap(wrong) != wrong {
		k.store.c.Logger.Warn("clock_check_changed",
			slog.Bool("wrong", wrong), slog.Duration("ahead", offset), slog.Bool("may_lead", !wrong))
	}
}

// clock is this node's clock in Unix microseconds for an answer; 0: it has none to compare.
func (s *Store) clock() int64 {
	if s.c.Now == nil {
		return 0
	}
	return s.c.Now().UnixMicro()
}
