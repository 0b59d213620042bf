package auction

import (
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// gateExternalBids evaluates the gates that apply to the external bids of the request. Such a bid can only win with an
// active catalog product among products.ids. A bid on another product of the request loses as ProductInactive; one on a
// product that is not among the ids is ignored and not counted.
func (s *Scratch) gateExternalBids(out *Result) {
	if !s.a.HasProducts {
		return
	}
	for i := range s.a.External {
		b := &s.a.External[i]
		at, ok := s.externalHit(b)
		if !ok {
			if s.namesUnknown(b) {
				out.Lost[ProductInactive]++
			}
			continue
		}
		h := &s.hits[at]
		if reason := s.gateExternal(h, s.v.ProductRow(h.row), b); reason != passed {
			out.Lost[reason]++
			continue
		}
		h.eligible++
		s.types |= 1 << model.CPC
		s.candidates = append(s.candidates, candidate{
			key:    externalKey | uint64(i), // At most ExternalBidsMax.
			amount: uint64(b.Amount),        // Amounts are positive.
			hit:    at,
			vendor: externalVendor,
			charge: model.CPC,
		})
	}
}

// externalHit returns the hit of an external bid's product, if the product is in the catalog and among the auction's
// ids.
func (s *Scratch) externalHit(b *ExternalBid) (at uint32, ok bool) {
	text := s.req.Text(b.Product.Span)
	row, ok := s.v.Product(s.t.Marketplace, b.Product.Hash, text, false)
	if !ok || !s.v.IsProduct(row, s.t.Marketplace, text) {
		return 0, false
	}
	at, ok = s.hitByRow.get(uint64(row))
	return at, ok && s.v.ProductRow(row).Flags&market.ProductKnown != 0
}

// namesUnknown reports whether the product of an external bid, of which externalHit has found no hit, is among the
// auction's ids. It is not in the catalog then.
func (s *Scratch) namesUnknown(b *ExternalBid) bool {
	return s.namesID(b.Product.Hash, s.req.Text(b.Product.Span))
}

// gateExternal returns the first gate that an external bid fails, or passed. External bids compete as CPC bids.
func (s *Scratch) gateExternal(h *hit, r *market.ProductRow, b *ExternalBid) Reason {
	switch {
	case r.Flags&market.ProductActive == 0:
		return ProductInactive
	case !s.filtered(h, r):
		return FilterMismatch
	case h.quality == 0 || uint64(b.Amount) <= s.floorOf(model.CPC, r): // Amounts are positive.
		return Reserve
	case r.Flags&market.ProductExclusive != 0 && s.sponsored(h, r):
		return Exclusive
	case s.noAds:
		return Holdout
	}
	return passed
}
