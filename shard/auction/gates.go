package auction

import (
	"github.com/gavel-ads/gavel/shard/market"
)

// admit sends the bids of a product through the gates, in the order of Reason: what passes becomes a candidate, what
// fails is counted.
//
// The balances are read here, last but for pacing and frequency, and not only for the best-placed bids: so every bid
// without budget is counted as that, whatever its rank, and no winner has to be taken back. They cost one cache line for
// each bid that passes everything else.
func (s *Scratch) admit(at uint32, out *Result) {
	h := &s.hits[at]
	r := s.v.ProductRow(h.row)
	bids := s.v.Bids(r)
	for i := range bids {
		b := &bids[i]
		c := s.v.Campaign(b.Campaign)
		if s.searched && !s.invited(h, r, b) {
			continue
		}
		amount, reason := s.gate(h, r, b, c)
		if reason != passed {
			out.Lost[reason]++
			continue
		}
		s.enter(h, at, amount, b, c)
	}
}

// enter adds a bid that passed the gates to the candidates.
func (s *Scratch) enter(h *hit, at uint32, amount uint64, b *market.BidRow, c *market.CampaignRow) {
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
		click:    s.v.Slot(b.Campaign).Click.Load(), // Once: a rate that moves between scoring and pricing would tear them apart.
	})
}

// keyOf names a bid on every node.
func keyOf(b *market.BidRow, c *market.CampaignRow) uint64 {
	return uint64(c.Group)<<32 | uint64(b.Ordinal)
}

const passed = Reason(Reasons)

// gate returns the first gate that a bid on a product fails, or what the bid is worth here.
func (s *Scratch) gate(h *hit, r *market.ProductRow, b *market.BidRow, c *market.CampaignRow) (amount uint64, lost Reason) {
	label, triggers := s.v.Predicate(b.Terms)
	terms := s.terms(b, c)
	reason := s.runs(b, c, terms)
	switch {
	case reason != passed:
		return 0, reason
	case r.Flags&market.ProductActive == 0:
		return 0, ProductInactive
	case !s.triggered(h, r, b.Terms, triggers):
		return 0, Trigger
	case label != 0 && !s.located(label):
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
	return s.afford(s.floorOf(c.Charge, r), b, c, terms)
}

// terms returns the further terms of a bid's campaign, nil without any.
func (s *Scratch) terms(b *market.BidRow, c *market.CampaignRow) *market.CampaignTerms {
	if c.Flags&market.CampaignTermed == 0 {
		return nil
	}
	return s.v.Terms(b.Campaign)
}

// runs returns the first gate of time and state that a bid fails.
func (s *Scratch) runs(b *market.BidRow, c *market.CampaignRow, terms *market.CampaignTerms) Reason {
	switch {
	case c.Flags&market.CampaignActive == 0 || b.Terms&market.BidActive == 0 || terms != nil && s.rests(terms):
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

// afford returns the first gate of money that a bid fails, or what it is worth after targeting and pacing.
func (s *Scratch) afford(floor uint64, b *market.BidRow, c *market.CampaignRow, terms *market.CampaignTerms) (amount uint64, lost Reason) {
	amount = uint64(b.Amount) //nolint:gosec // amounts are positive.
	if terms != nil {
		amount = s.worth(terms, amount)
	}
	slot := s.v.Slot(b.Campaign)
	switch {
	case amount <= floor:
		return 0, Reserve
	case s.t.Stale != nil && s.t.Stale.Has(c.Group):
		return 0, Stale
	case slot.Left.Load() <= 0:
		return 0, Budget
	case slot.Wallet.Load() <= 0:
		return 0, Wallet
	}
	if gate := s.v.Gate(b.Campaign).Load(); gate != market.GateOpen {
		shaded, chance := s.pace(gate, amount, floor)
		if !s.spared(chance, c) {
			return 0, Pacing
		}
		amount = shaded
	}
	if terms != nil && len(terms.Caps) > 0 && s.worn(terms, b, c) {
		return 0, Frequency
	}
	return amount, passed
}

// invited reports whether a search that names neither products nor a category asks for a bid at all: by a keyword, or
// because it has no trigger. Other bids on the products that it finds are no candidates and lose nothing.
func (s *Scratch) invited(h *hit, r *market.ProductRow, b *market.BidRow) bool {
	_, triggers := s.v.Predicate(b.Terms)
	return s.triggered(h, r, b.Terms, triggers)
}

// triggered reports whether a trigger of the bid matches a context. That the product itself is allowed is known; in a
// travel auction that names no products, every product it allows counts as named.
func (s *Scratch) triggered(h *hit, r *market.ProductRow, terms market.Terms, triggers []uint32) bool {
	if terms&market.TriggerNone != 0 ||
		terms&market.TriggerOwn != 0 && (s.a.HasProducts || s.travels) ||
		terms&market.TriggerOwnCategories != 0 && s.inCategory(h, r) {
		return true
	}
	return s.anyMatches(triggers)
}

func (s *Scratch) anyMatches(triggers []uint32) bool {
	for ; len(triggers) > 0; triggers = triggers[2:] {
		if s.matches(market.TriggerKind(triggers[0]), triggers[1]) { //nolint:gosec // a kind was stored.
			return true
		}
	}
	return false
}

// matches reports whether a trigger on another product, on a category or on a keyword matches a context.
func (s *Scratch) matches(kind market.TriggerKind, row uint32) bool {
	switch kind {
	case market.TriggerProduct:
		return s.a.HasProducts && s.sends(row)
	case market.TriggerCategory:
		return s.wanted.names(s.v, row)
	case market.TriggerCategories:
		return s.wanted.holds(s.v, s.v.ProductRow(row))
	case market.TriggerExact, market.TriggerPhrase, market.TriggerBroad:
		return len(s.query) > 0 && s.v.Matches(row, s.query)
	case market.TriggerNotExact, market.TriggerNotBroad:
	}
	return false
}

// negated reports whether a negative keyword matches the search query.
func (s *Scratch) negated(triggers []uint32) bool {
	if len(s.query) == 0 {
		return false
	}
	for ; len(triggers) > 0; triggers = triggers[2:] {
		if market.TriggerKind(triggers[0]).IsNegative() && s.v.Matches(triggers[1], s.query) { //nolint:gosec // a kind was stored.
			return true
		}
	}
	return false
}

// inCategory asks once for each product whether it satisfies the category context.
func (s *Scratch) inCategory(h *hit, r *market.ProductRow) bool {
	if h.category == unasked {
		h.category = no
		if s.wanted.holds(s.v, r) {
			h.category = yes
		}
	}
	return h.category == yes
}

// filtered asks once for each product whether the filter lets it through.
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

// passes reports whether a product has all of the filter's values, or with or at least one. Values are compared by their
// keyed 64-bit hashes.
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
