package market_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// A hypothetical campaign is visible only in its own view. Auctions on that view give the same results as in a market
// that has the campaign, and auctions on the views before and after give the same results as in a market without it.
func TestWhatIfViewIsSeenByNobodyElse(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 7))
		w := newSupposed(random)
		s := w.whatIf(random)
		here, there := market.New(1), market.New(2)
		w.feed(here, nil)
		w.feed(there, s)
		here.Publish()
		there.Publish()
		before := here.View()

		for range 3 { // The same row is used each time.
			v := here.WhatIfView(s)
			for p := range w.products {
				id := fmt.Sprint("p", p)
				expect(t, winnersOf(v, market.Hash, id, "p0"), winnersOf(there.View(), market.Hash, id, "p0"))
				expect(t, inCategory(v, "c1"), inCategory(there.View(), "c1"))
			}
			want := winnersOf(before, market.Hash, "p0", "p1", "p2", "p3", "p4")
			expect(t, winnersOf(here.View(), market.Hash, "p0", "p1", "p2", "p3", "p4"), want)
			here.Publish()
			expect(t, winnersOf(here.View(), market.Hash, "p0", "p1", "p2", "p3", "p4"), want)
			expect(t, inCategory(here.View(), "c1"), inCategory(before, "c1"))
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// whatIfMarket is a small random market.
type whatIfMarket struct {
	products  int
	campaigns []*model.Campaign
	bids      map[uint32][]*model.Bid // By ordinal of the campaign.
}

func newSupposed(random *rand.Rand) *whatIfMarket {
	w := &whatIfMarket{products: 5 + random.IntN(20), bids: map[uint32][]*model.Bid{}}
	bidOrdinal := uint32(0)
	for o := range uint32(8) {
		c := campaign(1, o+1)
		c.Price = model.SecondPrice
		w.campaigns = append(w.campaigns, c)
		for range random.IntN(6) {
			bidOrdinal++
			w.bids[c.Ordinal] = append(w.bids[c.Ordinal], bid(bidOrdinal, w.product(random), amount(random)))
		}
	}
	return w
}

func (w *whatIfMarket) product(random *rand.Rand) string {
	return fmt.Sprint("p", random.IntN(w.products))
}

func amount(random *rand.Rand) money.Micros { return money.Micros(10_000 * (1 + random.IntN(30))) }

func (w *whatIfMarket) whatIf(random *rand.Rand) *market.WhatIf {
	s := &market.WhatIf{Campaign: *campaign(9, 77)}
	s.Campaign.Price, s.Campaign.Active, s.Campaign.Status, s.Campaign.StartMillis = model.SecondPrice, false, model.Pending, 1<<60
	for i := range 1 + random.IntN(8) {
		s.Bids = append(s.Bids, *bid(uint32(i+1), w.product(random), amount(random)))
	}
	if random.IntN(2) == 0 {
		s.Excluded = w.campaigns[random.IntN(len(w.campaigns))]
	}
	return s
}

// feed fills a market, with the campaign of a WhatIf as an ordinary one.
func (w *whatIfMarket) feed(m *market.Market, s *market.WhatIf) {
	m.PutMarketplace(&settings)
	m.PutCategory(1, &model.Category{ID: "c0"})
	m.PutCategory(1, &model.Category{ID: "c1", ParentID: "c0"})
	for p := range w.products {
		m.PutProduct(1, product(fmt.Sprint("p", p), fmt.Sprint("c", p%2)))
	}
	for _, c := range w.campaigns {
		if s != nil && s.Excluded == c {
			continue
		}
		put(m, c)
		for _, b := range w.bids[c.Ordinal] {
			m.PutBid(c, b)
		}
	}
	if s == nil {
		return
	}
	c := s.Campaign
	c.ID, c.Group, c.Ordinal, c.Active, c.Status, c.StartMillis = market.WhatIfCampaignID, ids.Group(300), 1, true, model.Approved, 0
	put(m, &c)
	for i := range s.Bids {
		m.PutBid(&c, &s.Bids[i])
	}
}

// BenchmarkWhatIfView measures how long feeders wait for a WhatIf with 500 bids in a market of 100,000.
func BenchmarkWhatIfView(b *testing.B) {
	m := market.New(1)
	m.PutMarketplace(&settings)
	c := put(m, campaign(1, 1))
	for p := range 100_000 {
		id := fmt.Sprint("p", p)
		m.PutProduct(1, product(id))
		m.PutBid(c, bid(uint32(p+1), id, 100_000))
	}
	m.Publish()
	s := &market.WhatIf{Campaign: *campaign(2, 2)}
	for p := range 500 {
		s.Bids = append(s.Bids, *bid(uint32(p+1), fmt.Sprint("p", p*199), 100_000))
	}
	for b.Loop() {
		m.WhatIfView(s)
		m.Publish()
	}
}
