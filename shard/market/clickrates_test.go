package market_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// published names what a group has published of a cell.
type published struct {
	group ids.Group
	market.ClickCell
}

// randomCell returns one of a few hundred cells of two marketplaces.
func randomCell(r *rand.Rand) market.ClickCell {
	c := market.ClickCell{
		Marketplace: uint16(1 + r.IntN(2)), Format: model.AdFormat(r.IntN(model.AdFormats)), Level: market.ClickLevel(r.IntN(market.ClickLevels)),
	}
	if c.Level >= market.ClickPlacement {
		c.Placement = uint8(r.IntN(4) * 80)
	}
	switch {
	case c.Level < market.ClickAd:
	case c.Format == model.Listing:
		c.Product = fmt.Sprint("p", r.IntN(40))
	default:
		c.Bid = uint32(r.IntN(40))
	}
	return c
}

// predictions lists the click rates of all cells of randomCell as auctions read them.
func predictions(v *market.View) (all []uint32) {
	for marketplace := uint16(1); marketplace <= 3; marketplace++ {
		for format := range model.AdFormat(model.AdFormats) {
			for placement := 0; placement < 256; placement += 80 {
				prior := v.ClickPrior(marketplace, format, uint8(placement))
				all = append(all, prior.Rate)
				for ad := range 40 {
					id := fmt.Appendf(nil, "p%d", ad)
					if row, known := v.Product(marketplace, market.Hash(v.Seed(marketplace), id), id, false); known {
						all = append(all, v.ClickRate(market.ProductAd(row, uint8(placement)), &prior))
					}
					for group := range uint64(4) {
						all = append(all, v.ClickRate(market.BidAd(group<<32|uint64(ad), uint8(placement)), &prior))
					}
				}
			}
		}
	}
	return all
}

// What auctions read depends on what the groups have published last, and not on what they had published before, on the
// order, or on groups that were reset.
func TestClickRatesDependOnTheLastCounts(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		m, last := withProducts(), map[published]learn.Counts{}
		for range 3_000 {
			if r.IntN(500) == 0 {
				g := ids.Group(r.IntN(4))
				m.Reset(g, false)
				for x := range last {
					if x.group == g {
						delete(last, x)
					}
				}
				continue
			}
			x := published{ids.Group(r.IntN(4)), randomCell(r)}
			counts := learn.Counts{Impressions: r.Uint64N(1 << 40), Clicks: r.Uint64N(1 << 30)}
			if r.IntN(5) == 0 {
				counts = learn.Counts{}
			}
			m.PutClickRate(x.group, &x.ClickCell, counts)
			last[x] = counts
		}
		fresh := withProducts()
		for x, counts := range last {
			fresh.PutClickRate(x.group, &x.ClickCell, counts)
		}
		if got, want := fmt.Sprint(predictions(m.View())), fmt.Sprint(predictions(fresh.View())); got != want {
			t.Fatalf("seed %d: the click rates are\n%s\nand with the last counts only\n%s", seed, got, want)
		}
	}
}

// withProducts returns a market in which all products of randomCell have the same rows.
func withProducts() *market.Market {
	m := market.New(1)
	for marketplace := uint16(1); marketplace <= 3; marketplace++ {
		for i := range 40 {
			m.PutProduct(marketplace, &model.Product{ID: fmt.Sprint("p", i)})
		}
	}
	m.Publish()
	return m
}

// Readers see each ad's counts while other ads are added and the table grows. The race detector checks the accesses.
func TestClickRatesAreReadWhileTheyChange(t *testing.T) {
	m := market.New(1)
	cell := func(bid uint32) *market.ClickCell {
		return &market.ClickCell{Marketplace: 1, Format: model.Banner, Level: market.ClickAd, Bid: bid}
	}
	m.PutClickRate(1, cell(0), learn.Counts{Impressions: 1_000 * learn.One, Clicks: 100 * learn.One})
	v := m.View()
	prior := v.ClickPrior(1, model.Banner, 0)
	want := v.ClickRate(market.BidAd(1<<32, 0), &prior)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 20_000 {
				if got := v.ClickRate(market.BidAd(1<<32, 0), &prior); got != want {
					t.Errorf("the rate is %d, want %d", got, want)
					return
				}
				v.ClickRate(market.BidAd(1<<32|500, 0), &prior)
				v.ClickPrior(2, model.Listing, 7)
			}
		})
	}
	for bid := uint32(1); bid < 5_000; bid++ {
		m.PutClickRate(1, cell(bid), learn.Counts{Impressions: learn.One})
		m.PutClickRate(1, &market.ClickCell{Marketplace: 2, Level: market.ClickPlacement, Placement: 7}, learn.Counts{Clicks: uint64(bid)})
	}
	readers.Wait()
	for bid := uint64(1); bid < 5_000; bid++ {
		if v.ClickRate(market.BidAd(1<<32|bid, 0), &prior) >= prior.Rate {
			t.Fatalf("bid %d is not in the table", bid)
		}
	}
}
