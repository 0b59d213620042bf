package pacer

import (
	"log/slog"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// BenchmarkTick100000 measures the tick of a leader over 100,000 campaigns with daily budgets, of which one in ten has
// served something: the decisions and which of them are to be replicated.
func BenchmarkTick100000(b *testing.B) {
	const campaigns = 100_000
	m := market.New(1)
	p := New(Config{Market: m, Zone: func(uint16) *time.Location { return time.UTC }, Log: slog.New(slog.DiscardHandler)})
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	periods := cluster.PeriodsAt(1, now, time.UTC)
	p.PutPeriods(1, &periods)
	for ordinal := range uint32(campaigns) {
		c := model.Campaign{
			ID: ids.UUID{1, byte(ordinal >> 16), byte(ordinal >> 8), byte(ordinal)}, Ordinal: ordinal + 1, Group: 1, Marketplace: 1,
			Active: true, Status: model.Approved, Budget: 50_000_000,
		}
		balances := m.PutCampaign(&c)
		balances.BudgetLeft.Store(25_000_000)
		balances.WalletBalance.Store(1 << 50)
		p.PutCampaign(&c, balances)
	}
	l := leading(p)
	p.campaigns.collect(1, &l.steered)
	served := map[uint32]pacing.Served{}
	for ordinal := uint32(1); ordinal <= campaigns; ordinal += 10 {
		served[ordinal] = pacing.Served{Expected: 3_000, Wins: 2}
	}
	traffic := map[trafficKey]uint64{{1, model.Listing}: 5_000}
	b.ReportAllocs()
	tick := func() {
		now = now.Add(time.Second)
		for _, x := range largest(l.decide(now, served, traffic)) {
			c := &l.steered.campaigns[x.ordinal-1]
			c.balances.Pacing.Store(c.decision.Word)
			c.balances.Hold.Store(int64(c.decision.Hold))
			c.remembered, c.moved, c.status = now.UnixMilli(), false, c.decision.Status
		}
	}
	for range 600 {
		tick()
	}
	for b.Loop() {
		tick()
	}
}
