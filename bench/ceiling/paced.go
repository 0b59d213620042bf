package main

import (
	"time"

	"github.com/gavel-ads/gavel/node/serving/servingtest"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// What -paced gives every campaign. The budget is large enough that no campaign stops, because a stopped one would make
// auctions cheaper.
const (
	pacedCampaigns  = bids / 50 // As servingtest makes them.
	pacedNodes      = 4
	pacedLeft       = money.MaxMicros / 2
	pacedMultiplier = pacing.Unshaded / 2
	pacedState      = pacing.Always<<32 | pacedMultiplier
	// pacedExponent makes a minor unit a hundredth of the smallest bid. So every bid is shaded by half and none is
	// thrown out at random, and the winners are those of auctions without pacing.
	pacedExponent = 4
)

// pace gives every campaign a budget, a wallet and a pacing state, and starts what a node does for pacing: once a
// second it collects its own totals, and stores hold and pacing state of every campaign that has won, as if the leader
// had published them.
func pace(m *market.Market) {
	v := m.View()
	settings := *v.Marketplace(servingtest.Marketplace)
	settings.CurrencyExponent = pacedExponent
	m.PutMarketplace(&settings)
	m.SetServingNodes(pacedNodes)
	m.Publish()
	for row := range uint32(pacedCampaigns) {
		b := v.Balances(row + 1) // Row 0 is no campaign.
		b.BudgetLeft.Store(int64(pacedLeft))
		b.WalletBalance.Store(int64(pacedLeft))
		b.Pacing.Store(pacedState)
	}
	go func() {
		spending := market.NewSpending(m)
		var spent []market.Spent
		for range time.Tick(time.Second) {
			spent = spending.AppendChanged(spent[:0], 1, spending.Collect()-1)
			for _, x := range spent {
				b := v.Balances(x.Ordinal) // Campaigns were put in the order of their ordinals, from 1.
				b.Hold.Store(int64(x.Expected))
				b.WalletHold.Store(int64(x.Expected))
				b.Pacing.Store(pacedState)
			}
		}
	}()
}
