package auction

import (
	"github.com/gavel-ads/gavel/shard/market"
)

// admit sends the bids of a product through the gates, in the order of Reason: what passes becomes a candidate, what
// fails is counted.
//
// The balances are read here, last of the gates, and not only for the best-placed bids: so every bid without budget is
// counted as that, whatever its rank, and no winner has to be taken back. They cost one cache line for each bid that
// passes everything else.
func (s *Scratch) admit(at uint32, out *Result) {
	h := &s.hits[at]
	r := s.v.ProductRow(h.row)
	bids := s.v.Bids(r)
	for i := range bids {
		b := &bids[i]
		c := s.v.Campaign(b.Campaign)
		if reason := s.gate(h, r, b, c); reason != passed {
			out.Lost[reason]++
			continue
		}
		h.eligible++
		s.types |= 1 << c.Charge
		s.candidates = append(s.candidates, candidate{
			key:      uint64(c.Group)<<32 | uint64(b.Ordinal),
			amount:   uint64(b.Amount), //nolint:gosec // amounts are positive.
			hit:      at,
			campaign: b.Campaign,
			vendor:   c.Vendor,
			charge:   c.Charge,
		})
	}
}

const passed = Reason(Reasons)

// gate returns the first gate that a bid fails.
func (s *Scratch) gate(h *hit, r *market.ProductRow, b *market.BidRow, c *market.CampaignRow) Reason {
	label, triggers := s.v.Predicate(b.Terms)
	slot := s.v.Slot(b.Campaign)
	switch {
	case c.Flags&market.CampaignActive == 0 || b.Terms&market.BidActive == 0:
		return Inactive
	case s.t.NowMillis < c.StartMillis:
		return NotStarted
	case s.t.NowMillis >= c.EndMillis:
		return Ended
	case c.Flags&market.CampaignApproved == 0:
		return NotApproved
	case r.Flags&market.ProductActive == 0:
		return ProductInactive
	case !s.triggered(h, r, b.Terms, triggers):
		return Trigger
	case label != 0 && !s.located(label):
		return Geo
	case !s.filtered(h, r):
		return FilterMismatch
	case h.quality == 0 || b.Amount <= int64(s.settings.Reserve[c.Charge]):
		return Reserve
	case s.t.Stale != nil && s.t.Stale.Has(c.Group):
		return Stale
	case slot.Left.Load() <= 0:
		return Budget
	case slot.Wallet.Load() <= 0:
		return Wallet
	}
	return passed
}

// triggered reports whether a trigger of the bid matches a context. That the product itself is allowed is known.
func (s *Scratch) triggered(h *hit, r *market.ProductRow, terms market.Terms, triggers []uint32) bool {
	if terms&market.TriggerNone != 0 ||
		terms&market.TriggerOwn != 0 && s.a.HasProducts ||
		terms&market.TriggerOwnCategories != 0 && s.inCategory(h, r) {
		return true
	}
	for ; len(triggers) > 0; triggers = triggers[2:] {
		if s.matches(market.TriggerKind(triggers[0]), triggers[1]) { //nolint:gosec // a kind was stored.
			return true
		}
	}
	return false
}

// matches reports whether a trigger on another product or on a category matches a context.
func (s *Scratch) matches(kind market.TriggerKind, row uint32) bool {
	switch kind {
	case market.TriggerProduct:
		return s.a.HasProducts && s.sends(row)
	case market.TriggerCategory:
		return s.wanted.names(s.v, row)
	case market.TriggerCategories:
		return s.wanted.holds(s.v, s.v.ProductRow(row))
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

// located reports whether one of the request's locations is the bid's.
func (s *Scratch) located(label uint32) bool {
	for _, l := range s.a.Locations {
		if s.v.IsLocation(label, l.Hash, s.req.Text(l.Span)) {
			return true
		}
	}
	return false
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
