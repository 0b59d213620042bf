package auction

import (
	"slices"

	"github.com/gavel-ads/gavel/shard/market"
)

// An exclusive campaign has its product targets for itself: while it runs and can pay what its bid offers, the bids of
// other campaigns of its format on these products lose, and so does external demand. It does not matter whether its own
// bid competes in the auction, because a trigger, the user or pacing may be against it: what was sold is the product.
// A bid that is not above the reserve price pays nothing and keeps nobody out. Exclusive campaigns compete with one
// another; the management API prevents that two have the same target.

// exclusive reports whether a bid of a campaign loses because an exclusive campaign has its product.
func (s *Scratch) exclusive(h *hit, r *market.ProductRow, c *market.CampaignRow) bool {
	return r.Flags&market.ProductExclusive != 0 && c.Flags&market.CampaignExclusive == 0 && s.sponsored(h, r)
}

// sponsored reports whether an exclusive campaign has a product. It computes that once for each product.
func (s *Scratch) sponsored(h *hit, r *market.ProductRow) bool {
	if h.sponsored == unasked {
		h.sponsored = no
		bids := s.v.Bids(r)
		for i := range bids {
			if s.sponsors(&bids[i], r) {
				h.sponsored = yes
				break
			}
		}
	}
	return h.sponsored == yes
}

// sponsors reports whether a bid on a product is of an exclusive campaign that runs and can pay.
func (s *Scratch) sponsors(b *market.BidRow, r *market.ProductRow) bool {
	c := s.v.Campaign(b.Campaign)
	if c.Flags&market.CampaignExclusive == 0 {
		return false
	}
	terms := s.terms(b, c)
	if s.gateState(b, c, terms) != passed {
		return false
	}
	_, lost := s.gateMoney(s.floorOf(c.Charge, r), b, c, terms)
	return lost == passed || lost > Wallet // Pacing and frequency caps come after the gates of money.
}

// exclusiveAd is exclusive for a bid for a place. Exclusive campaigns have the products that their ads at the place
// lead to.
func (s *Scratch) exclusiveAd(ad *market.Ad, c *market.CampaignRow) bool {
	place := s.v.ProductRow(s.place.Row)
	if place.Flags&market.ProductExclusive == 0 || c.Flags&market.CampaignExclusive != 0 ||
		ad.Product == market.NoProduct {
		return false
	}
	if !s.sponsoredKnown {
		s.sponsoredKnown = true
		s.sponsoredAds = s.sponsoredAds[:0]
		bids := s.v.Bids(place)
		for i := range bids {
			if p := s.v.Ad(&bids[i]).Product; p != market.NoProduct && s.sponsors(&bids[i], s.v.ProductRow(p)) {
				s.sponsoredAds = append(s.sponsoredAds, p)
			}
		}
	}
	return slices.Contains(s.sponsoredAds, ad.Product)
}
