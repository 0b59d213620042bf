package auction_test

import (
	"math/big"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/h3"
	"github.com/gavel-ads/gavel/shard/keyword"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// This file holds the gates of the model: which bids are candidates, and why a bid loses.

// place returns the external id of the place that a query names, if it is known and active.
func (w *modelMarket) place(q query) (string, bool) {
	if q.kind == auction.Banners {
		s, known := w.slots[q.place]
		return s.ID, known && s.Active
	}
	for _, p := range w.placements {
		if p.ExternalID == q.place {
			return p.ExternalID, p.Active
		}
	}
	for _, p := range w.placements {
		if p.ID == q.place {
			return p.ExternalID, p.Active
		}
	}
	return "", false
}

func isAd(q query) bool { return q.kind == auction.Banners || q.kind == auction.SponsoredBrand }

func isTravel(q query) bool { return q.kind == auction.Hotels || q.kind == auction.Flights }

// allows reports whether the contexts make a bid a candidate.
func (w *modelMarket) allows(q query, c *campaign, b *model.Bid) bool {
	switch {
	case c.Format != max(q.kind, auction.Listings).Format():
		return false
	case isAd(q):
		place, ok := w.place(q)
		return ok && b.Creative != nil && b.Creative.Place == place
	case len(q.products) > 0:
		return slices.Contains(q.products, b.Target)
	case isTravel(q):
		return w.travels(q, b.Target) && (len(q.clauses) == 0 || w.satisfies(q, b.Target))
	case len(q.clauses) > 0:
		return w.satisfies(q, b.Target)
	}
	return q.hasSearch && w.triggered(q, c, b)
}

func (w *modelMarket) travels(q query, product string) bool {
	kind := map[auction.Kind]string{auction.Hotels: "travelType:hotels", auction.Flights: "travelType:flights"}[q.kind]
	has := w.products[product].Attributes
	anySite := slices.ContainsFunc(has, func(a string) bool { return strings.HasPrefix(a, "site:") })
	return slices.Contains(has, kind) && (!anySite || slices.Contains(has, "site:"+q.site))
}

func (w *modelMarket) loses(q query, c *campaign, b *model.Bid, t *auction.Params) (amount money.Micros, reason auction.Reason, lost bool) {
	p, known := w.products[b.Target]
	product := b.TargetType == model.TargetProduct
	in := func(segment string) bool { return q.user != 0 && slices.Contains(w.segments[segment], q.user) }
	hour := int((t.NowMillis + int64(t.OffsetSeconds)*1000) / 3_600_000 % (7 * 24))
	hour = (hour + 3*24) % (7 * 24)
	switch {
	case !c.Active || c.Status == model.Terminated || !b.Active || len(c.Schedule) > 0 && c.Schedule[hour] == 0:
		return 0, auction.Inactive, true
	case t.NowMillis < c.StartMillis:
		return 0, auction.NotStarted, true
	case c.EndMillis != 0 && t.NowMillis >= c.EndMillis:
		return 0, auction.Ended, true
	case c.Status != model.Approved:
		return 0, auction.NotApproved, true
	case q.kind == auction.Banners && !slices.ContainsFunc(b.Creative.Assets, w.approved):
		return 0, auction.NotApproved, true
	case product && (!known || !p.Active):
		return 0, auction.ProductInactive, true
	case !w.triggered(q, c, b):
		return 0, auction.Trigger, true
	case q.kind == auction.Banners && len(w.shown(q, b)) == 0:
		return 0, auction.DeviceMismatch, true
	case b.Location != "" && !slices.ContainsFunc(q.locations, func(l string) bool { return w.locationMatches(b.Location, l) }):
		return 0, auction.Geo, true
	case len(c.Segments.Include) > 0 && !slices.ContainsFunc(c.Segments.Include, in):
		return 0, auction.Segment, true
	case slices.ContainsFunc(c.Segments.Exclude, in) || w.negated(q, b):
		return 0, auction.Excluded, true
	case q.kind != auction.Banners && product && !passes(q, p):
		return 0, auction.FilterMismatch, true
	case w.bestQuality(q, b.Target).Sign() == 0:
		return 0, auction.Reserve, true
	}
	amount, reason, lost = w.gateMoney(q, c, b, t, w.adjusted(c, b, hour, in))
	if !lost && c.Type != model.Exclusive && product && w.sponsored(q, b.Target, t) {
		return 0, auction.Exclusive, true
	}
	return amount, reason, lost
}

// sponsored reports whether an exclusive campaign with a bid on a product, at the place of the query if it has one, is
// on and has the money that its bid offers.
func (w *modelMarket) sponsored(q query, product string, t *auction.Params) bool {
	hour := int((t.NowMillis + int64(t.OffsetSeconds)*1000) / 3_600_000 % (7 * 24))
	hour = (hour + 3*24) % (7 * 24)
	in := func(segment string) bool { return q.user != 0 && slices.Contains(w.segments[segment], q.user) }
	for key, b := range w.bids {
		c := w.campaigns[key.campaign]
		switch {
		case c.Type != model.Exclusive || c.Format != max(q.kind, auction.Listings).Format():
			continue
		case b.TargetType != model.TargetProduct || b.Target != product:
			continue
		case !c.Active || c.Status != model.Approved || !b.Active || len(c.Schedule) > 0 && c.Schedule[hour] == 0:
			continue
		case t.NowMillis < c.StartMillis || c.EndMillis != 0 && t.NowMillis >= c.EndMillis:
			continue
		}
		if isAd(q) {
			if place, ok := w.place(q); !ok || b.Creative == nil || b.Creative.Place != place {
				continue
			}
		}
		_, why, lost := w.gateMoney(q, c, &b, t, w.adjusted(c, &b, hour, in))
		if !lost || why == auction.Pacing || why == auction.Frequency {
			return true
		}
	}
	return false
}

// gateMoney returns the first gate of money, pacing and frequency that a bid of an adjusted amount fails.
func (w *modelMarket) gateMoney(q query, c *campaign, b *model.Bid, t *auction.Params, amount money.Micros) (money.Micros, auction.Reason, bool) {
	floor := w.floor(q, c.Charge, b)
	local := t.NowMillis + int64(t.OffsetSeconds)*1000
	paced, passes := c.applyPacing(amount, floor, money.PerMinor(w.settings.CurrencyExponent), t)
	if w.unpaced && c.pacingState() != pacing.Stopped {
		paced, passes = amount, true
	}
	switch {
	case amount <= floor:
		return 0, auction.Reserve, true
	case w.stale != nil && w.stale.Has(uint16(c.Group)):
		return 0, auction.Stale, true
	}
	most, gate, fails := w.headroom(c, floor)
	switch {
	case fails:
		return 0, gate, true
	case !passes:
		return 0, auction.Pacing, true
	case q.user != 0 && slices.ContainsFunc(c.Caps, func(x model.Cap) bool { return w.exposures[frequencyQuery(q.user, c, b, x, local)] >= x.Limit }):
		return 0, auction.Frequency, true
	}
	if most < paced {
		w.effects.clamped++
	}
	return min(paced, most), 0, false
}

// frequencyQuery returns the query for what a cap counts.
func frequencyQuery(user uint64, c *campaign, b *model.Bid, x model.Cap, local int64) auction.FrequencyQuery {
	n := x.Type - 1
	q := auction.FrequencyQuery{
		User: user, Group: uint16(c.Group), Campaign: c.Ordinal, Interaction: model.CapInteraction(n % 9 / 3),
		Period: model.Period(n % 3), LocalMillis: local,
	}
	if n >= 9 {
		q.Bid = b.Ordinal
	}
	return q
}

func (w *modelMarket) approved(a model.BannerAsset) bool {
	return a.AssetID == "" || w.assets[a.AssetID].Approved
}

// shown lists the assets of a banner that may be shown.
func (w *modelMarket) shown(q query, b *model.Bid) (all []model.BannerAsset) {
	device := q.device
	if device == auction.NoDevice {
		device = auction.Desktop
	}
	slot := w.slots[q.place].Dimensions
	declared := slot[auction.Desktop] != model.Dimensions{} || slot[auction.Mobile] != model.Dimensions{}
	for _, a := range b.Creative.Assets {
		fits := !declared || slot[device] != model.Dimensions{} && (a.Dimensions == model.Dimensions{} || a.Dimensions == slot[device])
		if w.approved(a) && fits && (b.Creative.Device == auction.NoDevice || b.Creative.Device == device) {
			all = append(all, a)
		}
	}
	return all
}

// locationMatches compares a bid's location with the request's.
func (w *modelMarket) locationMatches(own, asked string) bool {
	if !w.settings.H3 {
		return strings.EqualFold(own, asked)
	}
	a, okA := h3.Parse([]byte(own))
	b, okB := h3.Parse([]byte(asked))
	for okA && okB && b.Resolution() > a.Resolution() {
		b = b.Parent(b.Resolution() - 1)
	}
	return okA && okB && a == b
}

// floor is the reserve price of a bid.
func (w *modelMarket) floor(q query, charge model.ChargeType, b *model.Bid) money.Micros {
	floor := w.settings.Reserve[charge]
	place, _ := w.place(q)
	for _, r := range w.settings.Reserves {
		var in []string
		if b.TargetType == model.TargetProduct {
			for _, c := range w.products[b.Target].Categories {
				in = append(in, w.ancestors(c)...)
			}
		} else {
			for _, name := range slices.Concat(q.clauses...) {
				in = append(append(in, name), w.ancestors(name)...)
			}
		}
		if r.Charge == charge && (r.AnyFormat || r.Format == max(q.kind, auction.Listings).Format()) &&
			(r.Place == "" || isAd(q) && r.Place == place) && (r.Category == "" || slices.Contains(in, r.Category)) {
			floor = max(floor, r.Amount)
		}
	}
	return max(floor, 0)
}

func (w *modelMarket) adjusted(c *campaign, b *model.Bid, hour int, in func(string) bool) money.Micros {
	amount := w.baseBid(c, b)
	scale := func(n, of int64) {
		amount.Mul(amount, big.NewInt(n)).Div(amount, big.NewInt(of))
		if limit := big.NewInt(int64(money.MaxMicros)); amount.Cmp(limit) > 0 {
			amount.Set(limit)
		}
	}
	if len(c.Schedule) > 0 {
		scale(int64(c.Schedule[hour]), 100)
	}
	factor := int64(1_000_000)
	for _, m := range c.Segments.Multipliers {
		if in(m.Segment) {
			factor = min(max(factor*int64(m.Multiplier)/1_000_000, 100_000), 10_000_000)
		}
	}
	scale(factor, 1_000_000)
	return max(1, money.Micros(amount.Int64()))
}

// pace shades the amount, but not below the smallest that can win. It reduces the probability instead, by the square of
// the missing factor.
func (c *campaign) applyPacing(amount, floor, minor money.Micros, t *auction.Params) (money.Micros, bool) {
	pass, multiplier := c.pacingState()>>32, c.pacingState()&(1<<32-1)
	x := new(big.Int).Mul(big.NewInt(int64(amount)), new(big.Int).SetUint64(multiplier))
	shaded := money.Micros(x.Rsh(x, 31).Int64())
	shaded = min(shaded, amount)
	if least := min(max(floor+1, minor), amount); shaded < least {
		for range 2 {
			p := new(big.Int).Mul(new(big.Int).SetUint64(pass), big.NewInt(int64(shaded)))
			pass = p.Div(p, big.NewInt(int64(least))).Uint64()
		}
		shaded = least
	}
	seed := market.Mix(uint64(t.Marketplace)<<48|uint64(t.Node)<<32|uint64(t.Epoch), t.Seq)
	sample := market.Mix(seed^0x9e3779b97f4a7c15, uint64(c.Group)<<32|uint64(c.Ordinal)) >> 32
	return shaded, pass == 1<<32-1 || sample < pass
}

func (w *modelMarket) triggered(q query, c *campaign, b *model.Bid) bool {
	open := true
	for _, t := range b.Triggers {
		open = open && t.Kind.IsNegative()
		switch {
		case t.Kind == model.TriggerProduct:
			own := c.Format == model.Listing && t.Value == b.Target && isTravel(q) && len(q.products) == 0
			if slices.Contains(q.products, t.Value) || own {
				return true
			}
		case t.Kind == model.TriggerCategory:
			for _, name := range slices.Concat(q.clauses...) {
				if name == t.Value || slices.Contains(w.ancestors(name), t.Value) {
					return true
				}
			}
		case t.Kind == model.TriggerCategories:
			if w.satisfies(q, t.Value) {
				return true
			}
		case !t.Kind.IsNegative() && keywordMatches(q, t):
			return true
		}
	}
	return open
}

func (w *modelMarket) negated(q query, b *model.Bid) bool {
	return slices.ContainsFunc(b.Triggers, func(t model.Trigger) bool { return t.Kind.IsNegative() && keywordMatches(q, t) })
}

// keywordMatches compares a keyword with the query, as texts between blanks.
func keywordMatches(q query, t model.Trigger) bool {
	query := " " + keyword.Text([]string{q.search}) + " "
	if !q.hasSearch || t.Value == "" {
		return false
	}
	switch t.Kind {
	case model.TriggerExact, model.TriggerNotExact:
		return query == " "+t.Value+" "
	case model.TriggerPhrase:
		return strings.Contains(query, " "+t.Value+" ")
	default:
	}
	return !slices.ContainsFunc(strings.Fields(t.Value), func(word string) bool { return !strings.Contains(query, " "+word+" ") })
}

// ancestors lists a category of the catalog and its ancestors.
func (w *modelMarket) ancestors(id string) (list []string) {
	for {
		c, known := w.categories[id]
		if !known || len(list) > len(w.categories) {
			return list
		}
		list = append(list, id)
		id = c.ParentID
	}
}

// satisfies reports whether a product is in the categories of the query.
func (w *modelMarket) satisfies(q query, product string) bool {
	if len(q.clauses) == 0 {
		return false
	}
	var in []string
	for _, c := range w.products[product].Categories {
		in = append(in, w.ancestors(c)...)
	}
	for _, clause := range q.clauses {
		if !slices.ContainsFunc(clause, func(name string) bool { return slices.Contains(in, name) }) {
			return false
		}
	}
	return true
}

func passes(q query, p model.Product) bool {
	var found []bool
	for _, x := range q.attributes {
		found = append(found, slices.Contains(p.Attributes, x))
	}
	for _, x := range q.promotions {
		found = append(found, slices.Contains(p.Promotions, x))
	}
	if len(found) == 0 {
		return true
	}
	return slices.Contains(found, true) && (q.or || !slices.Contains(found, false))
}
