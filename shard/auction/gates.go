package auction

import (
	"math"

	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// gateBids evaluates the gates for the bids of a product, in the order of Reason. A bid that passes all becomes a
// candidate, any other is counted as lost.
//
// The balances are read here for every bid, and not only for the best bids after ranking. So every bid without budget
// is counted as such regardless of its rank, and the ranking never has to be repeated. The cost is one cache line for
// each bid that passes the gates before.
func (s *Scratch) gateBids(at uint32, out *Result) {
	h := &s.hits[at]
	r := s.v.ProductRow(h.row)
	bids := s.v.Bids(r)
	for i := range bids {
		b := &bids[i]
		c := s.v.Campaign(b.Campaign)
		if s.searchOnly && !s.matchesSearch(h, r, b) {
			continue
		}
		amount, reason := s.gate(h, r, b, c)
		if reason != passed {
			out.Lost[reason]++
			s.addLoser(b, reason)
			continue
		}
		s.addCandidate(h, at, amount, b, c, out)
	}
}

// addCandidate adds a bid that passed the gates to the candidates, or holds it back.
func (s *Scratch) addCandidate(h *hit, at uint32, amount uint64, b *market.BidRow, c *market.CampaignRow, out *Result) {
	if s.noAds {
		out.Lost[Holdout]++
		s.addLoser(b, Holdout)
		return
	}
	if c.Flags&market.CampaignHoldout != 0 && s.holdBack(at, amount, b, c) {
		return
	}
	h.eligible++
	s.types |= 1 << c.Charge
	s.candidates = append(s.candidates, candidate{
		key:      keyOf(b, c),
		amount:   amount,
		hit:      at,
		campaign: b.Campaign,
		vendor:   c.Vendor,
		ad:       b.Ad,
		charge:   c.Charge,
	})
}

// keyOf returns a key of a bid that is the same on every node.
func keyOf(b *market.BidRow, c *market.CampaignRow) uint64 {
	return uint64(c.Group)<<32 | uint64(b.Ordinal)
}

const passed = Reason(Reasons)

// gate returns the first gate that a bid on a product fails or, when it passes all, the amount with which it competes.
func (s *Scratch) gate(h *hit, r *market.ProductRow, b *market.BidRow, c *market.CampaignRow) (amount uint64, lost Reason) {
	location, triggers := s.v.Predicate(b.Terms)
	terms := s.terms(b, c)
	reason := s.gateState(b, c, terms)
	switch {
	case reason != passed:
		return 0, reason
	case r.Flags&market.ProductActive == 0:
		return 0, ProductInactive
	case !s.triggered(h, r, b.Terms, triggers):
		return 0, Trigger
	case location != 0 && !s.located(location):
		return 0, Geo
	case terms != nil && !s.included(terms):
		return 0, Segment
	case terms != nil && s.excluded(terms) || s.negated(triggers):
		return 0, Excluded
	case !s.filtered(h, r):
		return 0, FilterMismatch
	case h.quality == 0:
		return 0, Reserve
	}
	amount, lost = s.gateMoney(s.floorOf(c.Charge, r), b, c, terms)
	if lost == passed && s.exclusive(h, r, c) {
		return 0, Exclusive
	}
	return amount, lost
}

// terms returns the targeting of a bid's campaign, nil when it has none.
func (s *Scratch) terms(b *market.BidRow, c *market.CampaignRow) *market.CampaignTerms {
	if c.Flags&market.CampaignHasTerms == 0 {
		return nil
	}
	return s.v.Terms(b.Campaign)
}

// gateState returns the first gate of state and time that a bid fails, or passed.
func (s *Scratch) gateState(b *market.BidRow, c *market.CampaignRow, terms *market.CampaignTerms) Reason {
	switch {
	case c.Flags&market.CampaignActive == 0 || b.Terms&market.BidActive == 0 || terms != nil && s.offHour(terms):
		return Inactive
	case s.t.NowMillis < c.StartMillis:
		return NotStarted
	case s.t.NowMillis >= c.EndMillis:
		return Ended
	case c.Flags&market.CampaignApproved == 0:
		return NotApproved
	}
	return passed
}

// gateMoney returns the first gate of money, pacing and frequency that a bid fails or, when it passes all, the amount
// with which it competes: after targeting and pacing, and at most what is left of budget and wallet. floor is the
// reserve price.
func (s *Scratch) gateMoney(floor uint64, b *market.BidRow, c *market.CampaignRow, terms *market.CampaignTerms) (amount uint64, lost Reason) {
	amount = uint64(b.Amount) // Amounts are positive.
	if terms != nil {
		amount = s.adjusted(terms, amount)
	}
	switch {
	case amount <= floor:
		return 0, Reserve
	case s.t.Stale != nil && s.t.Stale.Has(c.Group):
		return 0, Stale
	}
	balances, most := s.v.Balances(b.Campaign), uint64(math.MaxUint64)
	if !balances.HasHeadroom(amount, s.nodes, s.earlierCost) { // Near the end of a budget or wallet.
		if most, lost = s.gateHeadroom(b.Campaign, c.Charge, floor); lost != passed {
			return 0, lost
		}
	}
	if word := balances.Pacing.Load(); word != pacing.Open {
		shaded, probability := s.applyPacing(word, amount, floor)
		if !s.passesPacing(probability, c) {
			return 0, Pacing
		}
		amount = shaded
	}
	if terms != nil && len(terms.Caps) > 0 && s.capReached(terms, b, c) {
		return 0, Frequency
	}
	return min(amount, most), passed
}

// matchesSearch reports whether a bid is a candidate of a search that names neither products nor a category: its
// keyword matches, or it has no trigger. Other bids on the products found are not candidates and are not counted.
func (s *Scratch) matchesSearch(h *hit, r *market.ProductRow, b *market.BidRow) bool {
	_, triggers := s.v.Predicate(b.Terms)
	return s.triggered(h, r, b.Terms, triggers)
}

// triggered reports whether a trigger of the bid matches a context. REQUIRES: the auction allows the product. In a
// travel auction without product ids, every allowed product counts as named.
func (s *Scratch) triggered(h *hit, r *market.ProductRow, terms market.Terms, triggers []uint32) bool {
	if terms&market.TriggerNone != 0 ||
		terms&market.TriggerOwn != 0 && (s.a.HasProducts || s.travelOnly) ||
		terms&market.TriggerOwnCategories != 0 && s.inCategory(h, r) {
		return true
	}
	return s.anyMatches(triggers)
}

func (s *Scratch) anyMatches(triggers []uint32) bool {
	for ; len(triggers) > 0; triggers = triggers[2:] {
		if s.matches(model.TriggerKind(triggers[0]), triggers[1]) { // A kind was stored.
			return true
		}
	}
	return false
}

// matches reports whether a trigger on another product, on a category or on a keyword matches a context.
func (s *Scratch) matches(kind model.TriggerKind, row uint32) bool {
	switch kind {
	case model.TriggerProduct:
		return s.a.HasProducts && s.namesProduct(row)
	case model.TriggerCategory:
		return s.categories.namesCategory(s.v, row)
	case model.TriggerCategories:
		return s.categories.satisfiedBy(s.v, s.v.ProductRow(row))
	case model.TriggerExact, model.TriggerPhrase, model.TriggerBroad:
		return len(s.query) > 0 && s.v.Matches(row, s.query)
	case model.TriggerNotExact, model.TriggerNotBroad:
	}
	return false
}

// negated reports whether a negative keyword matches the search query.
func (s *Scratch) negated(triggers []uint32) bool {
	if len(s.query) == 0 {
		return false
	}
	for ; len(triggers) > 0; triggers = triggers[2:] {
		if model.TriggerKind(triggers[0]).IsNegative() && s.v.Matches(triggers[1], s.query) { // A kind was stored.
			return true
		}
	}
	return false
}

// inCategory reports whether a product satisfies the category context. It computes that once for each product.
func (s *Scratch) inCategory(h *hit, r *market.ProductRow) bool {
	if h.category == unasked {
		h.category = no
		if s.categories.satisfiedBy(s.v, r) {
			h.category = yes
		}
	}
	return h.category == yes
}

// filtered reports whether a product passes the request's filter. It computes that once for each product.
func (s *Scratch) filtered(h *hit, r *market.ProductRow) bool {
	f := &s.a.Filter
	if !f.Set || len(f.Attributes)+len(f.Promotions) == 0 {
		return true
	}
	if h.filter == unasked {
		h.filter = no
		if s.passes(f, r) {
			h.filter = yes
		}
	}
	return h.filter == yes
}

// passes reports whether a product has all values of the filter or, with f.Or, at least one of them. Values are
// compared by their keyed 64-bit hashes.
func (s *Scratch) passes(f *Filter, r *market.ProductRow) bool {
	for i := range f.Attributes {
		if s.v.HasAttribute(r, f.Attributes[i].Hash) == f.Or {
			return f.Or
		}
	}
	for i := range f.Promotions {
		if s.v.HasPromotion(r, f.Promotions[i].Hash) == f.Or {
			return f.Or
		}
	}
	return !f.Or
}
