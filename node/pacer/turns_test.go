package pacer

import (
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// Every campaign is visited once in idleTurns ticks, and in each tick while it asks; in order, each at most once a tick.
func TestTurnsVisitEveryCampaign(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var x turns
	asks, last := map[int]bool{}, []int{}
	for tick := range 2_000 {
		if r.IntN(4) == 0 && len(last) < 300 {
			last = append(last, slices.Repeat([]int{tick}, 1+r.IntN(20))...)
			x.grow(len(last))
		}
		for range r.IntN(3) * min(1, len(last)) {
			index := r.IntN(len(last))
			x.ask(index)
			asks[index] = true
		}
		before := -1
		for batch := range x.next() {
			for _, index := range batch {
				if index <= before || index >= len(last) {
					t.Fatalf("tick %d visits %d of %d after %d", tick, index, len(last), before)
				}
				before, last[index] = index, tick
				if asks[index] && r.IntN(2) == 0 {
					x.visited(index)
					delete(asks, index)
				}
			}
		}
		for index, at := range last {
			if tick-at >= idleTurns || asks[index] && at != tick {
				t.Fatalf("tick %d: campaign %d was visited last in %d; it asks: %v", tick, index, at, asks[index])
			}
		}
	}
}

// leading returns what steers group 1, with nothing remembered of former leaders.
func leading(p *Pacer) *leader {
	return &leader{
		p: p, group: 1, curves: newCurves(p.c.Market), auctions: map[trafficKey]uint64{},
		steered: steered{loads: -1, periods: map[uint16]command.Periods{}, memories: map[uint32]pacing.Memory{}},
	}
}

// The metrics count the campaigns by their newest decisions, although a tick visits only some: one that is terminated leaves
// the count at once, and all do when the group is loaded again.
func TestCountsFollowTheVisits(t *testing.T) {
	m := market.New(1)
	p := New(Config{Market: m, Zone: func(uint16) *time.Location { return time.UTC }, Log: slog.New(slog.DiscardHandler)})
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	periods := cluster.PeriodsAt(1, now, time.UTC)
	p.PutPeriods(1, &periods)
	put := func(ordinal uint32, status model.Status) {
		c := model.Campaign{ID: ids.UUID{byte(ordinal)}, Ordinal: ordinal, Group: 1, Marketplace: 1, Active: true, Status: status, Budget: 1_000_000}
		balances := m.PutCampaign(&c)
		balances.BudgetLeft.Store(1_000)
		balances.WalletBalance.Store(1 << 50)
		p.PutCampaign(&c, balances)
	}
	l := leading(p)
	expect := func(when string, paced int) {
		t.Helper()
		p.campaigns.collect(1, &l.steered)
		now = now.Add(time.Second)
		served := map[uint32]pacing.Served{}
		for ordinal := range uint32(len(l.steered.campaigns)) {
			served[ordinal+1] = pacing.Served{Expected: 100_000, Wins: 100}
		}
		l.decide(now, served, map[trafficKey]uint64{{1, model.Listing}: 1_000})
		if got := p.Stats().Campaigns; got != paced {
			t.Errorf("%s: %d campaigns are paced, want %d", when, got, paced)
		}
		if asked := l.steered.turns.asked; slices.Max(asked) != 0 {
			t.Errorf("%s: after the tick campaigns ask for the next one: %b", when, asked)
		}
	}
	for ordinal := range uint32(20) {
		put(ordinal+1, model.Approved)
	}
	expect("spent by noon", 20)
	put(7, model.Terminated)
	expect("one is terminated", 19)
	expect("nothing changed", 19)
	p.Reset(1)
	p.PutPeriods(1, &periods)
	put(1, model.Approved)
	expect("loaded again with one", 1)
}
