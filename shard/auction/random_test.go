package auction_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/keyword"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// TestAgreesWithModel runs random auctions of all kinds on random markets, with random changes and a publication
// between them, and compares winners, ranks, prices, what is shown and loss reasons with the model's. It also shows
// that an auction on an older view gives the same result as before.
//
// It runs a million auctions, a twentieth of them with go test -short; with AUCTIONS=n about n million.
func TestAgreesWithModel(t *testing.T) {
	times, err := strconv.Atoi(os.Getenv("AUCTIONS"))
	if err != nil {
		times = 1
	}
	part := 1
	if testing.Short() {
		part = 20
	}
	var seen tally
	t.Run("", func(t *testing.T) {
		for _, x := range []struct{ products, markets, rounds, changes int }{
			{products: 3, markets: 255, rounds: 210, changes: 3},
			{products: 6, markets: 60, rounds: 150, changes: 4},
			{products: 25, markets: 12, rounds: 60, changes: 6},
			{products: 120, markets: 2, rounds: 25, changes: 20},
			{products: 2500, markets: 1, rounds: 20, changes: 4000}, // Enough to grow every table and compact every arena.
		} {
			t.Run(fmt.Sprint("products=", x.products), func(t *testing.T) {
				t.Parallel()
				if x.markets < part { // There is no part of a market, so it has fewer rounds; one of the largest takes seconds.
					x.rounds = min(x.rounds, 8*x.rounds*x.markets/part)
				}
				for seed := range (x.markets*times + part - 1) / part {
					r := newRandomMarket(uint64(seed), x.products)
					for round := range x.rounds {
						r.round(t, fmt.Sprintf("seed %d round %d", seed, round), x.changes)
						if t.Failed() {
							return
						}
						seen.add(r)
					}
				}
			})
		}
	})
	if !t.Failed() {
		seen.check(t, int64(times), int64(part))
	}
}

// tally counts result types and loss reasons of the random auctions, to check that all of them occur.
type tally struct {
	auctions atomic.Int64
	winners  [auction.FlightsResult + 1]atomic.Int64
	lost     [auction.Reasons]atomic.Int64

	mu      sync.Mutex
	effects modelEffects
}

func (y *tally) add(r *randomMarket) {
	y.auctions.Add(int64(len(r.res.Results)))
	y.mu.Lock()
	y.effects.add(&r.effects)
	y.mu.Unlock()
	r.effects = modelEffects{}
	for i := range r.res.Results {
		x := &r.res.Results[i]
		y.winners[x.Type].Add(int64(len(x.Winners)))
		for reason, n := range x.Lost {
			y.lost[reason].Add(int64(n))
		}
	}
}

func (y *tally) check(t *testing.T, times, part int64) {
	if n := y.auctions.Load(); n < times*1_000_000/part {
		t.Errorf("only %d auctions", n)
	}
	for kind := auction.ListingsResult; kind <= auction.FlightsResult; kind++ {
		if n := y.winners[kind].Load(); n < 5_000/part {
			t.Errorf("only %d winners of result type %d", n, kind)
		}
	}
	for name, n := range map[string]int64{
		"clamped": y.effects.clamped, "below the reserve price": y.effects.belowReserve, "closed by a hold": y.effects.held,
		"closed by own wins": y.effects.pending, "closed by the same request": y.effects.sameRequest,
		"without ads": y.effects.treated[model.TreatNoAds], "with other reserve prices": y.effects.treated[model.TreatReserve],
		"with another learned quality": y.effects.treated[model.TreatQuality], "without pacing": y.effects.treated[model.TreatUnpaced],
	} {
		if n < 1_000/part {
			t.Errorf("only %d bids were %s", n, name)
		}
	}
	for reason := range auction.Reason(auction.Reasons) {
		if n := y.lost[reason].Load(); n < 1_000/part {
			t.Errorf("%d bids lost for %s", n, reason)
		}
	}
}

// randomMarket generates a market, changes of it, and queries.
type randomMarket struct {
	*rand.Rand
	*modelMarket
	m    *market.Market
	size int
	big  bool // One vendor has nearly all campaigns.
	sc   auction.Scratch
	res  auction.Results
	seq  uint64
	keys []bidKey // The keys of all bids, to choose one.
	next uint32   // Ordinal of the last bid, over all groups.

	spending  *market.Spending
	earlierOf []map[*campaign]money.Micros // modelMarket.earlier before each auction of the last request.
}

func newRandomMarket(seed uint64, products int) *randomMarket {
	r := &randomMarket{Rand: rand.New(rand.NewPCG(seed, 1)), modelMarket: newModelMarket(), m: market.New(seed), size: products, big: seed%2 == 1}
	for i := range 6 + r.size/4 {
		c := r.modelMarket.campaign(fmt.Sprint("c", i), r.vendor(), uint32(i))
		c.Format = []model.AdFormat{model.Listing, model.Banner, model.Listing, model.SponsoredBrand}[i%4]
		switch i % 5 {
		case 2:
			c.Type = model.Exclusive
		case 0, 1:
			c.Type = model.Autobidding
		}
		r.draw(c)
	}
	r.feed(r.m)
	r.spending = market.NewSpending(r.m)
	for range r.size * 3 {
		r.changeMarket()
	}
	for range 30 {
		r.changeRecords()
		r.changeBid()
	}
	return r
}

const auctionsPerRound = 16

func (r *randomMarket) round(t *testing.T, name string, changes int) {
	for range 1 + r.IntN(changes) {
		r.change()
	}
	r.m.Publish()

	v := r.m.View()
	queries := make([]query, auctionsPerRound)
	for i := range queries {
		queries[i] = r.query()
	}
	tick := params(100, r.seq)
	tick.OffsetSeconds = int32(r.IntN(3)) * 3600
	tick.Frequency = r.exposures
	tick.Stale = r.drawStale()
	tick.LossWeight = uint32(r.IntN(3))
	r.seq += auctionsPerRound
	req := requestFor(v, 1, queries...)
	auction.Run(v, tick, req, &r.res, &r.sc)
	clear(r.earlier)
	r.earlierOf = r.earlierOf[:0]
	var outcomes []outcome
	for i, q := range queries {
		r.earlierOf = append(r.earlierOf, maps.Clone(r.earlier))
		got, want := outcomeOf(&r.res.Results[i]), r.auction(q, tick, tick.Seq+uint64(i))
		got.losers = want.losers // compareCounts compares their sums.
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s auction %d: %+v\n got %v\nwant %v", name, i, q, got, want)
			return
		}
		outcomes = append(outcomes, want)
		for _, x := range want.winners {
			if x.campaign != "" {
				c := r.byID(x.campaign)
				r.earlier[c] = addUpTo(r.earlier[c], x.expected)
			}
		}
	}
	if r.IntN(8) == 0 {
		r.explain(t, name, v, tick, req, queries)
	}
	r.recheck(t, name, v, tick, req)
	if r.IntN(2) == 0 {
		auction.RecordWins(v, &r.res)
		auction.RecordLosses(v, &r.res)
		r.record(outcomes)
		r.compareCounts(t, name, outcomes, tick.LossWeight)
	}
	if r.IntN(3) == 0 {
		r.collectSpending(t, name)
	}
}

// compareCounts compares what was counted of a request's auctions, by campaign, with the model.
func (r *randomMarket) compareCounts(t *testing.T, name string, outcomes []outcome, weight uint32) {
	want := map[string]market.AuctionCounts{}
	count := func(c *campaign, add func(*market.AuctionCounts)) {
		x := want[c.Name]
		x.Marketplace, x.Group, x.Ordinal = c.Marketplace, uint16(c.Group), c.Ordinal
		add(&x)
		want[c.Name] = x
	}
	for _, o := range outcomes {
		won := map[string]bool{}
		for _, w := range o.winners {
			if w.campaign != "" && !won[w.campaign] {
				won[w.campaign] = true
				count(r.byID(w.campaign), func(x *market.AuctionCounts) { x.Won++ })
			}
		}
		for c, reason := range o.losers {
			if weight > 0 {
				count(c, func(x *market.AuctionCounts) { x.Lost[0]++; x.Lost[reason.Number()] += weight })
			}
		}
	}
	got := map[string]market.AuctionCounts{}
	r.m.CollectAuctions(func(x *market.AuctionCounts) {
		for _, c := range r.campaigns {
			if uint16(c.Group) == x.Group && c.Ordinal == x.Ordinal {
				got[c.Name] = *x
			}
		}
	})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: counted %+v, want %+v", name, got, want)
	}
}

// collectSpending collects the node's own totals and compares them with the model's.
func (r *randomMarket) collectSpending(t *testing.T, name string) {
	r.spending.Collect()
	r.collect()
	got := map[uint64]market.Spent{}
	for g := range ids.Group(4) {
		for _, x := range r.spending.AppendChanged(nil, g, 0) {
			got[uint64(g)<<32|uint64(x.Ordinal)] = x
		}
	}
	for _, c := range r.campaigns {
		x := got[uint64(c.Group)<<32|uint64(c.Ordinal)]
		if x.Expected != c.total || x.Wins != c.won {
			t.Errorf("%s: %s spent %d in %d wins, want %d in %d", name, c.Name, x.Expected, x.Wins, c.total, c.won)
		}
	}
}

// drawStale sometimes declares the balances of one or two groups too old.
func (r *randomMarket) drawStale() *auction.Groups {
	r.stale = nil
	if r.IntN(8) == 0 {
		r.stale = new(auction.Groups)
		r.stale.Add(uint16(1 + r.IntN(3)))
		r.stale.Add(uint16(1 + r.IntN(3)))
	}
	return r.stale
}

// recheck publishes changes and runs the same request on the old view.
func (r *randomMarket) recheck(t *testing.T, name string, v *market.View, tick *auction.Params, req *auction.Request) {
	before := fmt.Sprint(texts(&r.res))
	for range r.IntN(3) {
		r.changeMarket()
	}
	r.m.Publish()
	var res auction.Results
	auction.Run(v, tick, req, &res, &r.sc)
	if after := fmt.Sprint(texts(&res)); before != after {
		t.Errorf("%s: an old view changed:\n%s\n%s", name, before, after)
	}
}

// texts returns everything in the results, tokens included, as texts.
func texts(res *auction.Results) (all []string) {
	for i := range res.Results {
		x := &res.Results[i]
		all = append(all, fmt.Sprint(outcomeOf(x)))
		for _, w := range x.Winners {
			all = append(all, string(w.Token[:]))
		}
	}
	return all
}

func (r *randomMarket) change() {
	if r.IntN(3) > 0 {
		r.changeMarket()
		return
	}
	r.recordExposure()
	r.countClicks()
	r.countPurchases()
	if c := r.someCampaign(); c.slot != nil {
		c.left, c.wallet, c.hold, c.walletHold = r.balance(), r.balance(), r.hold(), r.hold()
		c.pacing = 0
		if r.IntN(3) == 0 {
			c.pacing = r.pacing()
		}
		c.publish()
	}
	if r.IntN(20) == 0 {
		r.nodes = r.Uint32N(4)
		r.m.SetServingNodes(r.nodes)
	}
}

// changeMarket makes one change that is visible from the next view on.
func (r *randomMarket) changeMarket() {
	switch n := r.IntN(100); {
	case n < 45:
		r.changeBid()
	case n < 70:
		p := r.drawProduct()
		r.products[p.ID] = p
		r.m.PutProduct(1, &p)
	case n < 73:
		id := r.product()
		delete(r.products, id)
		r.m.DeleteProduct(1, id)
	case n < 83:
		c := model.Category{ID: r.category()}
		if r.IntN(3) > 0 {
			c.ParentID = r.category()
		}
		if r.cycle(c) {
			return
		}
		r.categories[c.ID] = c
		r.m.PutCategory(1, &c)
	case n < 86:
		id := r.category()
		delete(r.categories, id)
		r.m.DeleteCategory(1, id)
	case n < 92:
		c := r.someCampaign()
		r.draw(c)
		r.m.PutCampaign(&c.Campaign)
		for _, key := range r.keys { // Their base bids follow the campaign's target.
			if b, has := r.bids[key]; has && key.campaign == c.Name {
				r.m.PutBid(&c.Campaign, &b)
			}
		}
	case n < 94:
		r.drawSettings()
		r.m.PutMarketplace(&r.settings)
	case n < 99:
		r.changeRecords()
	default:
		r.reload()
	}
}

// reload resets a group and feeds everything again, as after the installation of a snapshot.
func (r *randomMarket) reload() {
	for g := range ids.Group(4) {
		r.m.Reset(g, g == 0)
	}
	r.feed(r.m)
}

// changeBid changes or deletes a bid with probability one half; otherwise it adds one.
func (r *randomMarket) changeBid() {
	var key bidKey
	var b model.Bid
	if i := r.IntN(2*len(r.keys) + 1); i < len(r.keys) {
		key = r.keys[i]
		b = r.bids[key]
		b.Deleted = r.IntN(4) == 0
		if b.Deleted {
			r.keys[i] = r.keys[len(r.keys)-1]
			r.keys = r.keys[:len(r.keys)-1]
		}
	} else {
		r.next++
		key = bidKey{r.someCampaign().Name, r.next}
		b = model.Bid{Ordinal: r.next, Target: r.product()}
		if r.campaigns[key.campaign].Format != model.Listing {
			b.TargetType, b.Creative = model.TargetType(r.IntN(4)), r.creative()
		}
		r.keys = append(r.keys, key)
	}
	b.Amount, b.Active, b.Location, b.Triggers = r.amount(), r.IntN(10) > 0, r.location(), r.triggers(b.Target)
	if b.Creative != nil && r.IntN(2) == 0 {
		b.Triggers, b.Location = nil, ""
	}
	r.m.PutBid(&r.campaigns[key.campaign].Campaign, &b)
	if r.bids[key] = b; b.Deleted {
		delete(r.bids, key)
	}
}

// cycle reports whether the category would be its own ancestor, which the catalog refuses.
func (r *randomMarket) cycle(c model.Category) bool {
	for id := c.ParentID; id != ""; id = r.categories[id].ParentID {
		if id == c.ID {
			return true
		}
	}
	return false
}

func (r *randomMarket) draw(c *campaign) {
	c.Active = r.IntN(12) > 0
	c.Status = model.Approved
	if r.IntN(12) == 0 {
		c.Status = model.Status(r.IntN(4))
	}
	c.StartMillis = []int64{0, 0, 0, 0, 100, 101}[r.IntN(6)]
	c.EndMillis = []int64{0, 0, 0, 0, 100, 101}[r.IntN(6)]
	c.Charge = model.CPC
	if r.IntN(3) == 0 {
		c.Charge = model.ChargeType(1 + r.IntN(3))
	}
	c.TargetROASMilli = []uint32{0, 500, 2_500, 20_000}[r.IntN(4)]
	c.Price = model.SecondPrice
	if r.IntN(6) == 0 {
		c.Price = model.FirstPrice
	}
	r.drawTerms(c)
}

func (r *randomMarket) drawProduct() model.Product {
	p := model.Product{ID: r.product(), Active: r.IntN(10) > 0, Quality: r.score(), Price: r.price()}
	for range r.IntN(4) {
		p.Categories = append(p.Categories, r.category())
	}
	for range r.IntN(3) {
		p.Attributes = append(p.Attributes, r.attribute())
		p.Promotions = append(p.Promotions, r.attribute())
	}
	if r.IntN(2) == 0 {
		p.Attributes = append(p.Attributes, []string{"travelType:hotels", "travelType:flights"}[r.IntN(2)])
	}
	if r.IntN(3) == 0 {
		p.Attributes = append(p.Attributes, "site:"+r.site())
	}
	if r.IntN(2) == 0 {
		p.Brand = r.word()
	}
	return p
}

func (r *randomMarket) query() query {
	q := query{slots: 1 + r.IntN(6), user: uint64(r.IntN(4)), site: r.site()}
	if r.IntN(10) == 0 {
		q.slots = 40
	}
	context := r.IntN(6)
	if context < 4 {
		for range 1 + r.IntN(r.size+2) {
			q.products = append(q.products, r.product())
			q.quality = append(q.quality, r.score())
		}
		if r.IntN(2) == 0 {
			q.quality = nil
		}
	}
	if context >= 3 {
		q.form = auction.CategoryForm(1 + r.IntN(3))
		for range 1 + r.IntN(2) {
			clause := []string{r.category()}
			for q.form == auction.Disjunctions && r.IntN(2) == 0 {
				clause = append(clause, r.category())
			}
			if q.clauses = append(q.clauses, clause); q.form == auction.OneCategory {
				break
			}
		}
	}
	if context == 5 && r.IntN(2) == 0 {
		q.form, q.clauses = 0, nil
	}
	if q.hasSearch = context == 0 || context == 5 || r.IntN(8) == 0; q.hasSearch {
		q.search = r.text()
	}
	for range r.IntN(3) {
		q.locations = append(q.locations, r.location())
	}
	if r.IntN(4) == 0 {
		q.or = r.IntN(2) == 0
		q.attributes = append(q.attributes, r.attribute())
		q.promotions = append(q.promotions, r.attribute())
		q.promotions = q.promotions[:r.IntN(2)]
	}
	if r.IntN(2) == 0 {
		r.drawKind(&q)
		return q
	}
	for r.IntN(4) == 0 {
		q.external = append(q.external, externalBid{source: "partner", product: r.product(), amount: r.amount()})
	}
	return q
}

func (r *randomMarket) triggers(target string) (list []model.Trigger) {
	if r.IntN(2) == 0 {
		return []model.Trigger{{Kind: model.TriggerProduct, Value: target}, {Kind: model.TriggerCategories, Value: target}}
	}
	for range r.IntN(3) {
		t := model.Trigger{Kind: model.TriggerKind(r.IntN(model.TriggerKinds)), Value: r.product()}
		if t.Kind == model.TriggerCategory {
			t.Value = r.category()
		}
		if t.Kind.IsKeyword() {
			t.Value = keyword.Text([]string{r.text()})
		}
		list = append(list, t)
	}
	return list
}

func (r *randomMarket) someCampaign() *campaign {
	return r.campaigns[fmt.Sprint("c", r.IntN(len(r.campaigns)))]
}

// Small numbers of names and amounts make ties, repeats and exposures frequent.
func (r *randomMarket) vendor() string {
	if r.big && r.IntN(10) > 0 {
		return "v0"
	}
	return fmt.Sprint("v", r.IntN(4))
}

func (r *randomMarket) product() string   { return fmt.Sprint("product-", r.IntN(r.size)) }
func (r *randomMarket) category() string  { return fmt.Sprint("cat", r.IntN(7)) }
func (r *randomMarket) attribute() string { return fmt.Sprint("color:", r.IntN(3)) }

func (r *randomMarket) location() string {
	return []string{"", "", "Berlin", "berlin", "KÖLN", "köln", "85283473fffffff", "8428347ffffffff", "8928308280FFFFF"}[r.IntN(9)]
}

func (r *randomMarket) score() uint32 {
	return []uint32{model.QualityOne, model.QualityOne, model.QualityOne / 2, 1, 0, r.Uint32N(model.QualityOne + 1)}[r.IntN(6)]
}

// price returns a catalog price, 0 for none. With most of them a click is worth about as much as other bids offer.
func (r *randomMarket) price() money.Micros {
	switch r.IntN(4) {
	case 0:
		return 0
	case 1:
		return r.amount()
	}
	return money.Micros(1+r.IntN(20)) * 400_000
}

func (r *randomMarket) amount() money.Micros {
	switch r.IntN(8) {
	case 0:
		return money.Micros(1 + r.Int64N(int64(money.MaxMicros)))
	case 1:
		return money.Micros(1 + r.Int64N(2000))
	}
	return money.Micros(1+r.IntN(20)) * 10_000
}

func (r *randomMarket) balance() money.Micros {
	if r.IntN(2) == 0 {
		return money.Micros(r.IntN(300_000)) // About as much as a bid.
	}
	return []money.Micros{math.MaxInt64, math.MaxInt64, 1, 0, -5}[r.IntN(5)]
}

func (r *randomMarket) hold() money.Micros {
	if r.IntN(10) == 0 {
		return r.amount()
	}
	return money.Micros(r.IntN(4) * r.IntN(20_000))
}
