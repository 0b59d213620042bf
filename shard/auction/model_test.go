package auction_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// The model is an independent implementation of the auction: plain loops over plain values, texts instead of hashes,
// big integers instead of 128-bit ones, one sort instead of a top-k. It shares with the engine only the hash for ties
// and pacing, the normalisation of keywords and the parents of H3 cells, whose tests have independent implementations
// too.

// modelBid is a bid that passed the gates.
type modelBid struct {
	bid              *model.Bid // Nil for external demand.
	entity           string     // The entity, which wins at most once.
	product, vendor  string
	variation        string
	campaign, source string
	owner            *campaign
	amount           money.Micros
	floor            money.Micros
	charge           model.ChargeType
	quality          *big.Int
	weight, score    *big.Int
	click, average   uint32 // Click rates of the ad, and of an average ad there.
	exponent         uint16 // Of the learned quality.
	tie, key         uint64
	overVendorCap    bool // It loses because of the cap per vendor.
}

// auction runs an auction in the model.
func (w *modelMarket) auction(q query, t *auction.Params, seq uint64) outcome {
	var o outcome
	var offers, held []*modelBid
	defer w.treat(q)()
	seed := market.Mix(uint64(t.Marketplace)<<48|uint64(t.Node)<<32|uint64(t.Epoch), seq)
	for key, b := range w.bids {
		c := w.campaigns[key.campaign]
		if !w.allows(q, c, &b) {
			continue
		}
		amount, reason, lost := w.loses(q, c, &b, t)
		if lost {
			o.lost[reason]++
			o.lose(c, reason)
			continue
		}
		if w.noAds {
			o.lost[auction.Holdout]++
			o.lose(c, auction.Holdout)
			continue
		}
		bidKey := uint64(c.Group)<<32 | uint64(b.Ordinal)
		x := &modelBid{
			bid: &b, entity: b.Target, product: b.Target, vendor: c.VendorID, campaign: c.ID.String(), owner: c, amount: amount, charge: c.Charge,
			floor: w.floor(q, c.Charge, &b), quality: w.bestQuality(q, b.Target), key: bidKey, tie: market.Mix(seed, bidKey),
		}
		if isAd(q) {
			x.entity = fmt.Sprint(key.campaign, " ", b.TargetType, " ", b.Target)
			x.quality = new(big.Int).Lsh(big.NewInt(1), 60)
		}
		if len(q.external) > 0 {
			x.source = w.settings.ExternalDemand.OwnValue
		}
		if holdout := market.HoldoutOf(&c.Campaign); holdout.Arm(q.user) == market.HeldOut {
			held = append(held, x)
		} else {
			offers = append(offers, x)
		}
	}
	offers = append(offers, w.external(q, t, seed, &o)...)
	w.heldTypes = map[model.ChargeType]bool{}
	for _, x := range held {
		w.heldTypes[x.charge] = true
	}
	for _, x := range held {
		reason := w.compareHeld(q, offers, x)
		o.lost[reason]++
		o.lose(x.owner, reason)
	}
	w.rank(q, offers, &o)
	return o
}

// treat changes the market for an auction of a user whom its experiment treats. The function that it returns changes it back.
func (w *modelMarket) treat(q query) (restore func()) {
	was, e := w.settings, w.settings.Experiment
	arms := market.ArmsOf(&was)
	if e.EndMillis != 0 || arms.Arm(q.user) != market.HeldOut {
		return func() {}
	}
	switch e.Treatment {
	case model.TreatNoAds:
		w.noAds = true
	case model.TreatUnpaced:
		w.unpaced = true
	case model.TreatQuality:
		w.settings.LearnedQualityMilli = uint16(e.ValueMilli)
	case model.TreatReserve:
		for i, amount := range was.Reserve {
			w.settings.Reserve[i] = times(amount, e.ValueMilli)
		}
		w.settings.Reserves = slices.Clone(was.Reserves)
		for i := range w.settings.Reserves {
			w.settings.Reserves[i].Amount = times(was.Reserves[i].Amount, e.ValueMilli)
		}
	}
	w.effects.treated[e.Treatment]++
	return func() { w.settings, w.noAds, w.unpaced = was, false, false }
}

// times returns an amount times a factor in thousandths.
func times(amount money.Micros, milli uint32) money.Micros {
	x := new(big.Int).Mul(big.NewInt(int64(amount)), big.NewInt(int64(milli)))
	x.Div(x, big.NewInt(1000))
	if limit := big.NewInt(int64(money.MaxMicros)); x.Cmp(limit) > 0 {
		x = limit
	}
	return money.Micros(x.Int64())
}

// compareHeld runs the auction again with one of the bids that are held back, and returns why it lost.
func (w *modelMarket) compareHeld(q query, offers []*modelBid, held *modelBid) auction.Reason {
	all := []*modelBid{held}
	for _, x := range offers {
		all = append(all, new(*x))
	}
	var o outcome
	w.rank(q, all, &o)
	if reason, lost := w.lostAs[held.key]; lost {
		return reason
	}
	return auction.Holdout
}

func (w *modelMarket) external(q query, t *auction.Params, seed uint64, o *outcome) (offers []*modelBid) {
	for i, b := range q.external {
		p, known := w.products[b.product]
		if !slices.Contains(q.products, b.product) {
			continue
		}
		if !known {
			o.lost[auction.ProductInactive]++
			continue
		}
		quality := w.bestQuality(q, b.product)
		floor := w.floor(q, model.CPC, &model.Bid{Target: b.product})
		switch {
		case !p.Active:
			o.lost[auction.ProductInactive]++
		case !passes(q, p):
			o.lost[auction.FilterMismatch]++
		case quality.Sign() == 0 || b.amount <= floor:
			o.lost[auction.Reserve]++
		case w.sponsored(q, b.product, t):
			o.lost[auction.Exclusive]++
		case w.noAds:
			o.lost[auction.Holdout]++
		default:
			key := 1<<63 | uint64(i)
			offers = append(offers, &modelBid{
				entity: b.product, product: b.product, vendor: "\x00external", source: b.source, amount: b.amount, charge: model.CPC,
				quality: quality, key: key, tie: market.Mix(seed, key),
			})
		}
	}
	return offers
}

// flight is one pair of a flight auction.
type flight struct {
	variation string
	quality   *big.Int
}

// flights lists the pairs of a product, the best first, without repeats.
func (w *modelMarket) flights(q query, product string) (all []flight) {
	for i, id := range q.products {
		if id != product || slices.ContainsFunc(all, func(f flight) bool { return f.variation == q.variations[i] }) {
			continue
		}
		asked := int64(model.QualityOne)
		if len(q.quality) > 0 {
			asked = int64(q.quality[i])
		}
		all = append(all, flight{q.variations[i], new(big.Int).Mul(big.NewInt(int64(w.products[product].Quality)), big.NewInt(asked))})
	}
	slices.SortStableFunc(all, func(a, b flight) int { return b.quality.Cmp(a.quality) })
	return all
}

// bestQuality returns the quality of a product in the request; for flights, the quality of its best pair.
func (w *modelMarket) bestQuality(q query, product string) *big.Int {
	if isAd(q) {
		return big.NewInt(1)
	}
	if q.kind == auction.Flights && len(q.products) > 0 {
		return w.flights(q, product)[0].quality
	}
	quality := big.NewInt(int64(w.products[product].Quality))
	if i := slices.Index(q.products, product); len(q.quality) > 0 {
		return quality.Mul(quality, big.NewInt(int64(q.quality[i])))
	}
	return quality.Mul(quality, big.NewInt(model.QualityOne))
}

func compare(a, b *modelBid) int {
	if c := b.score.Cmp(a.score); c != 0 {
		return c
	}
	if a.tie != b.tie {
		if a.tie < b.tie {
			return -1
		}
		return 1
	}
	if a.key < b.key {
		return -1
	}
	return 1
}

// assignPairs assigns the bids of a product to its pairs: the best bid to the best pair, and so on.
func (w *modelMarket) assignPairs(q query, offers []*modelBid, types map[model.ChargeType]bool) {
	slices.SortFunc(offers, compare)
	dealt := map[string]int{}
	for _, x := range offers {
		pairs := slices.DeleteFunc(w.flights(q, x.product), func(f flight) bool { return f.quality.Sign() == 0 })
		pair := pairs[min(dealt[x.product], len(pairs)-1)]
		dealt[x.product]++
		x.quality, x.variation = pair.quality, pair.variation
		x.entity = x.product + " " + x.variation
		x.value(types)
	}
}

func (x *modelBid) value(types map[model.ChargeType]bool) {
	x.weight = weight(types, x)
	x.score = new(big.Int).Mul(big.NewInt(int64(x.amount)), x.weight)
}

func (w *modelMarket) rank(q query, offers []*modelBid, o *outcome) {
	types := maps.Clone(w.heldTypes)
	for _, x := range offers {
		types[x.charge] = true
		x.click, x.average = w.clickRates(q, x)
		x.exponent = w.settings.LearnedQualityMilli
	}
	for _, x := range offers {
		x.value(types)
	}
	if q.kind == auction.Flights && len(q.products) > 0 {
		w.assignPairs(q, offers, types)
	}
	slices.SortFunc(offers, compare)
	slots := min(q.slots, 40)
	capped := int(w.settings.VendorMax)
	if capped == 0 {
		capped = slots
	}
	taken := map[string]bool{}
	wins := map[string]int{}
	won := map[*modelBid]bool{}
	w.winners, w.lostAs = map[uint64]bool{}, map[uint64]auction.Reason{}
	full := func(x *modelBid) bool { return wins[x.vendor] >= capped && x.bid != nil }
	for i, x := range offers {
		switch {
		case len(won) == slots || taken[x.entity]:
			continue
		case full(x):
			x.overVendorCap = true
			continue
		}
		var next *modelBid
		for _, y := range offers[i+1:] {
			if y.vendor != x.vendor && !taken[y.entity] && !full(y) {
				next = y
				break
			}
		}
		taken[x.entity], won[x], w.winners[x.key] = true, true, true
		wins[x.vendor]++
		shown := w.win(q, x, next)
		shown.expected = x.expected(len(o.winners), shown.price)
		o.winners = append(o.winners, shown)
	}
	for _, x := range offers {
		switch {
		case won[x]:
		case taken[x.entity] || x.overVendorCap:
			w.lostAs[x.key] = auction.Diversity
		default:
			w.lostAs[x.key] = auction.Outranked
		}
		if reason, lost := w.lostAs[x.key]; lost {
			o.lost[reason]++
			o.lose(x.owner, reason)
		}
	}
	for x := range won {
		delete(o.losers, x.owner)
	}
}

// win returns what a winner shows and pays.
func (w *modelMarket) win(q query, x, next *modelBid) win {
	o := win{id: x.product, variation: x.variation, campaign: x.campaign, source: x.source, price: w.price(x, next)}
	if !isAd(q) {
		return o
	}
	b := x.bid
	o.kind = b.TargetType
	if q.kind == auction.Banners {
		for _, a := range w.shown(q, b) {
			url := a.URL
			if url == "" {
				url = w.assets[a.AssetID].URL
			}
			o.shows += fmt.Sprintf("%s %s;", url, a.Content)
		}
		return o
	}
	p := w.products[b.Target]
	if o.kind == model.TargetProduct && p.Brand != "" {
		o.id = p.Brand
	}
	if o.kind != model.TargetURL {
		o.kind = model.TargetProduct
	}
	o.shows = fmt.Sprintf("%s %s %s", x.vendor, b.Creative.Title, b.Creative.Content)
	products := b.Creative.Products
	if len(products) == 0 {
		products = x.owner.Products
	}
	for _, id := range products {
		if p, known := w.products[id]; !known || p.Active {
			o.shows += " " + id
		}
	}
	return o
}

// weight returns the value of one unit of the bid for an impression.
func weight(types map[model.ChargeType]bool, x *modelBid) *big.Int {
	w := new(big.Int).Set(x.quality)
	containsRate := len(types) > 1 && types[model.CPM] && x.charge != model.CPM
	if x.exponent > 0 && !containsRate {
		w.Mul(w, big.NewInt(int64(learn.Factor(x.click, x.average, x.exponent)))).Rsh(w, 16)
		if w.Sign() == 0 {
			w.SetInt64(1)
		}
	}
	if len(types) == 1 {
		return w
	}
	part := func(n, of int64) {
		rate := big.NewInt(n << 32 / of)
		w.Mul(w, rate).Rsh(w, 32)
	}
	if x.charge == model.CPM {
		w.Div(w, big.NewInt(1000))
	}
	if x.charge == model.CPA {
		part(10, 100)
	}
	if containsRate {
		w.Mul(w, big.NewInt(int64(x.click))).Rsh(w, 32)
	}
	if w.Sign() == 0 {
		w.SetInt64(1)
	}
	return w
}

func (w *modelMarket) price(x, next *modelBid) money.Micros {
	if x.bid == nil {
		return 0
	}
	price := x.amount
	if x.owner.Price != model.FirstPrice && x.owner.Type != model.Exclusive {
		least := max(x.floor, money.PerMinor(w.settings.CurrencyExponent))
		if next != nil {
			worth, rest := new(big.Int).DivMod(next.score, x.weight, new(big.Int))
			if rest.Sign() > 0 {
				worth.Add(worth, big.NewInt(1))
			}
			least = max(least, money.Micros(worth.Int64())+1)
		}
		price = min(price, least)
	}
	if x.charge == model.CPM {
		return min((price+999)/1000, max(1, x.amount/1000))
	}
	return price
}
