package auction_test

import (
	"math/big"
	"testing"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// clickCount names what one group has counted of a cell.
type clickCount struct {
	group ids.Group
	market.ClickCell
}

// countClicks changes what a group has counted of an ad or of all ads of a placement or format.
func (r *randomMarket) countClicks() {
	x := clickCount{ids.Group(1 + r.IntN(3)), market.ClickCell{Marketplace: 1, Format: model.AdFormat(r.IntN(model.AdFormats))}}
	x.Level = market.ClickLevel(r.IntN(market.ClickLevels))
	if x.Level >= market.ClickPlacement {
		x.Placement = uint8(r.IntN(3))
	}
	switch {
	case x.Level < market.ClickAd:
	case x.Format == model.Listing:
		x.Product = r.product()
	default:
		x.Bid = 2*uint32(1+r.IntN(30)) + uint32(x.Format) // A bid has one format.
	}
	counts := learn.Counts{Impressions: r.Uint64() >> (20 + r.IntN(40)), Clicks: r.Uint64() >> (30 + r.IntN(34))}
	if r.IntN(8) == 0 {
		counts = learn.Counts{}
	}
	r.clicks[x] = counts
	r.m.PutClickRate(x.group, &x.ClickCell, counts)
}

// clickRates predicts the click rate of a bid's ad and of an average ad at the same place.
func (w *modelMarket) clickRates(q query, x *modelBid) (ad, average uint32) {
	format := model.Listing
	switch q.kind {
	case auction.Banners:
		format = model.Banner
	case auction.SponsoredBrand:
		format = model.SponsoredBrand
	default:
	}
	levels := [market.ClickLevels]learn.Counts{}
	for count, counts := range w.clicks {
		own := count.Product == x.product && !isAd(q) || isAd(q) && count.group == x.owner.Group && count.Bid == x.bid.Ordinal
		same := count.Format == format || isAd(q) && count.Level == market.ClickAd // A bid has one format, whatever is counted.
		if same && (count.Level == market.ClickFormat || count.Placement == q.experiment) &&
			(count.Level != market.ClickAd || own) {
			levels[count.Level].Impressions += counts.Impressions
			levels[count.Level].Clicks += counts.Clicks
		}
	}
	rates := [1 + market.ClickLevels]int64{3 << 32 / 100}
	for level, counts := range levels {
		rates[level+1] = predict(counts, rates[level])
	}
	return uint32(rates[market.ClickAd+1]), uint32(rates[market.ClickPlacement+1])
}

// predict is (C + m*p) / (I + m) with m = 2.7/p, between one in a million and a half.
func predict(c learn.Counts, p int64) int64 {
	if c == (learn.Counts{}) {
		return p
	}
	const prior = 27 * 65_536 / 10
	i := new(big.Int).SetUint64(c.Impressions)
	i.Add(i, big.NewInt(prior<<32/p))
	rate := new(big.Int).SetUint64(c.Clicks)
	rate.Add(rate, big.NewInt(prior)).Lsh(rate, 32).Div(rate, i)
	if !rate.IsInt64() {
		return 1<<31 - 1
	}
	return min(max(rate.Int64(), 1<<32/1_000_000), 1<<31-1)
}

// clickMarket has three products with bids of equal amounts by click, in two groups. p1 is clicked more than the average
// and p2 less; nobody has seen p3.
func clickMarket() *modelMarket {
	w := newModelMarket()
	for i, id := range []string{"p1", "p2", "p3"} {
		w.products[id] = model.Product{ID: id, Active: true, Quality: model.QualityOne}
		c := w.campaign("c"+id, "v"+id, uint32(i))
		w.bids[bidKey{c.Name, 1}] = model.Bid{Ordinal: 1, Target: id, Amount: 1_000_000, Active: true}
	}
	seen := func(g ids.Group, product string, level market.ClickLevel, impressions, clicks uint64) {
		cell := market.ClickCell{Marketplace: 1, Level: level, Product: product}
		w.clicks[clickCount{g, cell}] = learn.Counts{Impressions: impressions * learn.One, Clicks: clicks * learn.One}
	}
	for level := range market.ClickAd {
		seen(1, "", level, 100_000, 1_000)
		seen(2, "", level, 100_000, 1_000)
	}
	seen(1, "p1", market.ClickAd, 20_000, 400)
	seen(2, "p1", market.ClickAd, 20_000, 400)
	seen(1, "p2", market.ClickAd, 40_000, 200)
	return w
}

func (w *modelMarket) run(t *testing.T) (order string, weights []uint16) {
	t.Helper()
	m := market.New(1)
	w.feed(m)
	m.Publish()
	var res auction.Results
	var sc auction.Scratch
	v := m.View()
	auction.Run(v, params(100, 1), requestFor(v, 1, query{slots: 4, products: []string{"p1", "p2", "p3"}}), &res, &sc)
	for _, x := range res.Results[0].Winners {
		p, authentic := ring.Open(1, x.Token[:])
		if !authentic {
			t.Fatal("the token is not authentic")
		}
		order += string(x.ID) + " "
		weights = append(weights, p.Weight)
	}
	return order, weights
}

// The weight of a token is the learned click rate of its product times the visibility of its rank: the groups' counts are
// added, and a product that nobody has seen has the rate of the placement.
func TestTokensHaveTheLearnedClickRate(t *testing.T) {
	w := clickMarket()
	w.settings.LearnedQualityMilli = 1_000 // So that the order is known.
	order, weights := w.run(t)
	if order != "p1 p3 p2 " {
		t.Fatalf("with the learned quality %q wins, want the products by click rate", order)
	}
	for i, want := range []float64{0.02, 0.01 * 0.8, 0.005 * 0.6} {
		if got := float64(weights[i]) / 65_536; got < want*0.99 || got > want*1.01 {
			t.Errorf("rank %d has weight %.5f, want %.5f", i+1, got, want)
		}
	}
}

// Without an exponent, bids of one charge type are not compared by click rate.
func TestTheExponentIsOffByDefault(t *testing.T) {
	w := clickMarket()
	w.bids[bidKey{"cp2", 1}] = model.Bid{Ordinal: 1, Target: "p2", Amount: 1_000_001, Active: true}
	if order, _ := w.run(t); order[:2] != "p2" {
		t.Errorf("%q wins, want the highest bid first", order)
	}
	w.settings.LearnedQualityMilli = 600
	if order, _ := w.run(t); order[:2] != "p1" {
		t.Errorf("with an exponent of 0.6 %q wins, want p1 first", order)
	}
}

// What a group has counted is not read any more after it was reset.
func TestResetRemovesClickRates(t *testing.T) {
	w := clickMarket()
	m := market.New(1)
	w.feed(m)
	m.Publish()
	v := m.View()
	row := func(id string) uint32 {
		r, ok := v.Product(1, market.Hash(v.Seed(1), []byte(id)), []byte(id), false)
		if !ok {
			t.Fatalf("no %s", id)
		}
		return r
	}
	rate := func(id string) float64 {
		prior := v.ClickPrior(1, model.Listing, 0)
		return float64(v.ClickRate(market.ProductAd(row(id), 0), &prior)) / (1 << 32)
	}
	near := func(when, id string, want float64) {
		t.Helper()
		if got := rate(id); got < want*0.99 || got > want*1.01 {
			t.Errorf("%s: the click rate of %s is %.5f, want %.5f", when, id, got, want)
		}
	}
	near("at first", "p1", 0.02)
	near("at first", "p2", 0.005)
	m.Reset(1, false)
	near("without group 1", "p1", 0.02)
	near("without group 1", "p2", 0.01)
	m.Reset(2, false)
	near("without any group", "p1", 0.03)
	near("without any group", "p3", 0.03)
}
