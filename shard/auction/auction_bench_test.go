package auction_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// loaded returns a market with the given number of bids, each on its own product, of 20,000 campaigns and 2,000
// vendors.
func loaded(bids int) *market.Market {
	m := market.New(1)
	m.PutMarketplace(&model.Marketplace{Ordinal: 1, CurrencyExponent: 2})
	all := loadedCampaigns()
	for i := range all {
		slot := m.PutCampaign(&all[i])
		slot.BudgetLeft.Store(1 << 60)
		slot.WalletBalance.Store(1 << 60)
	}
	for i := range bids {
		id := fmt.Sprintf("sku%07d", i)
		m.PutProduct(1, &model.Product{ID: id, Active: true, Quality: model.QualityOne})
		m.PutBid(&all[i%len(all)], &model.Bid{
			Ordinal: uint32(i + 1), Target: id, Amount: money.Micros(1+i%200) * 10_000, Active: true,
			Triggers: []model.Trigger{{Kind: model.TriggerProduct, Value: id}, {Kind: model.TriggerCategories, Value: id}},
		})
	}
	m.Publish()
	return m
}

// loadedCampaigns returns the campaigns of a loaded market.
func loadedCampaigns() []model.Campaign {
	const campaigns, vendors = 20_000, 2_000
	all := make([]model.Campaign, campaigns)
	for i := range all {
		all[i] = model.Campaign{
			ID: ids.Mint(int64(i), [10]byte{}, 1), Ordinal: uint32(i + 1), Group: 1, Marketplace: 1, Charge: model.CPC,
			VendorID: fmt.Sprint("vendor-", i%vendors), Active: true, Status: model.Approved,
		}
	}
	return all
}

// BenchmarkRun measures auctions in which one id in twenty has a bid, over many different requests, so that the CPU
// caches contain about what they would contain in production. Wins are recorded, first with the campaigns unpaced and then
// with the bids of all campaigns shaded by half.
func BenchmarkRun(b *testing.B) {
	m := loaded(1_000_000)
	v := m.View()
	for _, paced := range []bool{false, true} {
		if paced {
			m.SetServingNodes(4)
			for row := range uint32(20_000) {
				v.Balances(row + 1).Pacing.Store(pacing.Always<<32 | pacing.Unshaded/2)
			}
		}
		for _, shape := range []struct{ auctions, ids int }{{1, 4}, {1, 50}, {5, 100}, {5, 500}} {
			b.Run(fmt.Sprintf("auctions=%d/ids=%d/paced=%t", shape.auctions, shape.ids, paced), func(b *testing.B) {
				requests := someRequests(v, 512, shape.auctions, shape.ids, 1_000_000)
				tick := params(100, 1)
				var res auction.Results
				var sc auction.Scratch
				i := 0
				b.ReportAllocs()
				for b.Loop() {
					auction.Run(v, tick, requests[i%len(requests)], &res, &sc)
					auction.RecordWins(v, &res)
					i++
				}
			})
		}
	}
}

// BenchmarkLosers compares auctions whose losers are counted by campaign with those whose losers are not.
func BenchmarkLosers(b *testing.B) {
	v := loaded(1_000_000).View()
	for _, weight := range []uint32{0, 1} {
		b.Run(fmt.Sprint("weight=", weight), func(b *testing.B) {
			requests := someRequests(v, 512, 5, 500, 1_000_000)
			tick := params(100, 1)
			tick.LossWeight = weight
			var res auction.Results
			var sc auction.Scratch
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				auction.Run(v, tick, requests[i%len(requests)], &res, &sc)
				auction.RecordWins(v, &res)
				auction.RecordLosses(v, &res)
				i++
			}
		})
	}
}

// BenchmarkRunClickRates compares auctions of a market without learned click rates, with a rate for every product that has
// a bid, which is read for each winner, and with a learned quality exponent, for which it is read for each candidate.
func BenchmarkRunClickRates(b *testing.B) {
	const bids = 100_000
	for _, learned := range []struct {
		name     string
		rates    bool
		exponent uint16
	}{{"none", false, 0}, {"winners", true, 0}, {"candidates", true, 600}} {
		b.Run("read="+learned.name, func(b *testing.B) {
			m := loaded(bids)
			m.PutMarketplace(&model.Marketplace{Ordinal: 1, CurrencyExponent: 2, LearnedQualityMilli: learned.exponent})
			for i := 0; learned.rates && i < bids; i++ {
				m.PutClickRate(1, &market.ClickCell{Marketplace: 1, Level: market.ClickAd, Product: fmt.Sprintf("sku%07d", i)},
					learn.Counts{Impressions: uint64(i) * learn.One, Clicks: uint64(i%100) * learn.One})
			}
			m.Publish()
			v := m.View()
			requests := someRequests(v, 512, 5, 100, bids)
			tick := params(100, 1)
			var res auction.Results
			var sc auction.Scratch
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				auction.Run(v, tick, requests[i%len(requests)], &res, &sc)
				i++
			}
		})
	}
}

// someRequests returns n random requests in which one id in twenty has a bid.
func someRequests(v *market.View, n, auctions, ids, bids int) []*auction.Request {
	r := rand.New(rand.NewPCG(1, 2))
	requests := make([]*auction.Request, n)
	for i := range requests {
		queries := make([]query, auctions)
		for j := range queries {
			queries[j].slots = 4
			for range ids {
				queries[j].products = append(queries[j].products, fmt.Sprintf("sku%07d", r.IntN(20*bids)))
			}
		}
		requests[i] = requestFor(v, 1, queries...)
	}
	return requests
}
