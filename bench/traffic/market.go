package traffic

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// MarketSpec is the size of a market. A member that is not positive takes the value of Small.
type MarketSpec struct {
	Products, Vendors, Categories, Campaigns int
	BidsPerCampaign                          int // BOUND: 500, the most that a request that creates a campaign may contain.
}

// Small is a market that can be created in a few seconds under the management rate limits.
var Small = MarketSpec{Products: 10_000, Vendors: 50, Categories: 40, Campaigns: 100, BidsPerCampaign: 100}

// Market is a catalog and its campaigns. INVARIANT: every campaign bids on products of its own vendor only, at most
// once on each, and no product has more than one campaign while the vendor has products left; so an auction over n
// products has close to n different winners.
type Market struct {
	Categories []string
	Vendors    []string
	Products   []Product
	Campaigns  []Campaign
}

// Product is one catalog item.
type Product struct {
	ID, Name   string
	Vendor     int // Index in Market.Vendors.
	Category   int // Index in Market.Categories.
	PriceMinor int64
}

// Campaign bids one amount per product. Amounts are whole minor units of the currency.
type Campaign struct {
	Name        string
	Vendor      int
	BudgetMinor int64
	Bids        []Bid
}

// Bid offers an amount for a click on a product.
type Bid struct {
	Product     int // Index in Market.Products.
	AmountMinor int64
}

// NewMarket returns a random market. Prices are lognormal around 25.00, bids lognormal(ln 0.80, 0.71) per click, budgets pay
// for a lognormal(ln 20, 1.5) number of clicks and at least for 5; all amounts are in hundredths. Product categories have the
// distribution Zipf(1.1).
func NewMarket(spec MarketSpec, seed uint64) *Market {
	spec = spec.withDefaults()
	r := New(seed, 1)
	m := &Market{}
	for i := range spec.Categories {
		m.Categories = append(m.Categories, fmt.Sprintf("cat-%03d", i))
	}
	for i := range spec.Vendors {
		m.Vendors = append(m.Vendors, fmt.Sprintf("vendor-%04d", i))
	}
	categories := rand.NewZipf(r, 1.1, 1, uint64(spec.Categories-1))
	owned := make([][]int, spec.Vendors)
	for i := range spec.Products {
		p := Product{
			ID: fmt.Sprintf("p-%07d", i), Name: fmt.Sprintf("Product %d", i),
			Vendor: i % spec.Vendors, Category: int(categories.Uint64()), PriceMinor: minor(LogNormal(r, math.Log(25), 0.9)),
		}
		m.Products = append(m.Products, p)
		owned[p.Vendor] = append(owned[p.Vendor], i)
	}
	next := make([]int, spec.Vendors)
	for i := range spec.Campaigns {
		vendor := i % spec.Vendors
		c := Campaign{Name: fmt.Sprintf("Campaign %d", i), Vendor: vendor}
		bids := min(spec.BidsPerCampaign, len(owned[vendor]))
		click := LogNormal(r, math.Log(0.80), 0.71)
		for range bids {
			product := owned[vendor][next[vendor]%len(owned[vendor])]
			next[vendor]++
			c.Bids = append(c.Bids, Bid{Product: product, AmountMinor: minor(click * LogNormal(r, 0, 0.2))})
		}
		clicks := max(5, LogNormal(r, math.Log(20), 1.5))
		c.BudgetMinor = minor(click * clicks)
		m.Campaigns = append(m.Campaigns, c)
	}
	return m
}

func (s MarketSpec) withDefaults() MarketSpec {
	fill := func(value *int, otherwise int) {
		if *value <= 0 {
			*value = otherwise
		}
	}
	fill(&s.Products, Small.Products)
	fill(&s.Vendors, Small.Vendors)
	fill(&s.Categories, Small.Categories)
	fill(&s.Campaigns, Small.Campaigns)
	fill(&s.BidsPerCampaign, Small.BidsPerCampaign)
	s.BidsPerCampaign = min(s.BidsPerCampaign, 500)
	s.Vendors = min(s.Vendors, s.Products)
	return s
}

// minor converts a random amount in major units into whole hundredths, at least 1. After it, amounts are never floats.
func minor(major float64) int64 { return max(1, int64(math.Round(major*100))) }
