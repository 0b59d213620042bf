package store

import (
	"context"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// BidRange is the usual price of a click on a listing in a marketplace, in minor units: most bids lie between Low and High.
//
// INVARIANT: 1 <= Low <= High, and both are above the reserve price.
type BidRange struct{ Low, High int64 }

// Bounds of what BidRange looks at. BOUND: of each group its newest running campaigns, of each of these its first bids: some
// thousand reads, however large the market is.
const (
	rangeCampaigns = 50
	rangeBids      = 20
	rangeLeast     = 10 // With fewer bids the range would say little about the market and too much about a single bidder.
)

// The range, in minor units, of a marketplace with fewer bids than rangeLeast.
const (
	rangeLow  = 10
	rangeHigh = 100
)

// BidRange takes a sample of the running listing campaigns that pay by the click. A tenth of their bids is below the range, a
// tenth above it.
func (t Tenant) BidRange(context.Context) (BidRange, error) {
	m := t.Settings()
	var amounts []money.Micros
	for _, g := range t.store.Groups.Groups() {
		got, err := read(t, g, t.sampleBids)
		if err != nil {
			return BidRange{}, err
		}
		amounts = append(amounts, got...)
	}
	r := BidRange{rangeLow, rangeHigh}
	if len(amounts) >= rangeLeast {
		slices.Sort(amounts)
		r.Low = money.Minor(amounts[len(amounts)/10], m.CurrencyExponent)
		r.High = money.Minor(amounts[len(amounts)*9/10], m.CurrencyExponent)
	}
	r.Low = max(r.Low, 1, money.Minor(m.Reserve[model.CPC], m.CurrencyExponent)+1)
	r.High = max(r.High, r.Low)
	return r, nil
}

func (t Tenant) sampleBids(b shard.Queries) (amounts []money.Micros) {
	f := shard.CampaignFilter{Status: new(model.Approved), Format: new(model.Listing), Active: new(true)}
	campaigns, _ := b.Campaigns(t.marketplace, &f, 0, rangeCampaigns)
	for i := range campaigns {
		if campaigns[i].Charge != model.CPC {
			continue
		}
		bids, _ := b.Bids(campaigns[i].Ordinal, 0, rangeBids)
		for k := range bids {
			if bids[k].Active {
				amounts = append(amounts, bids[k].Amount)
			}
		}
	}
	return amounts
}
