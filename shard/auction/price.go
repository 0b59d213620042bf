package auction

import (
	"math/bits"

	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

const increment = 1 // Micros that a winner pays above the amount that equals the runner-up's score.

// price returns what the winner at a rank pays for each charged interaction.
//
// Under the second-price rule that is the smallest amount that keeps the rank: the runner-up's score divided by the
// winner's weight, plus one micro; at least the reserve price and one minor unit, and at most the bid. Bids of the
// winner's own vendor do not raise the price.
func (s *Scratch) price(rank int) money.Micros {
	c := s.winner(rank)
	h := &s.hits[c.hit]
	if c.campaign == 0 {
		return 0 // External bids are recorded and never charged.
	}
	amount := c.amount
	if s.v.Campaign(c.campaign).Price == model.SecondPrice {
		least := max(s.floorOf(c.charge, s.productOf(h)), s.minor)
		if j := s.runnerUp(rank); j != nil {
			weight := s.weight(s.types, c.charge, h.quality, c.click)
			// The quotient is at most the winner's own amount, because its score is at least that of j.
			worth, rest := bits.Div64(j.hi, j.lo, weight)
			if rest > 0 {
				worth++
			}
			least = max(least, worth+increment)
		}
		amount = min(amount, least)
	}
	if c.charge == model.CPM {
		amount = perImpression(amount, c.amount)
	}
	return money.Micros(amount) // At most the bid.
}

// perImpression converts a price for a thousand impressions to one for each: rounded up, but at most a thousandth of
// the bid (at least one micro).
func perImpression(price, bid uint64) uint64 {
	return min((price+999)/1000, max(1, bid/1000))
}

// runnerUp returns the bid with the best score that would win the slot without the winner's vendor: a bid of another
// vendor on a product that no better-ranked winner has. It returns nil when there is none.
func (s *Scratch) runnerUp(rank int) *candidate {
	if s.capped() {
		return s.cappedRunnerUp(rank)
	}
	vendor := s.bestOf(s.top[rank]).vendor
	best := none
	consider := func(i int32) {
		if i != none && (best == none || s.candidates[i].beats(&s.candidates[best])) {
			best = i
		}
	}
	consider(s.hits[s.top[rank]].other)
	found := false
	for _, at := range s.top[rank+1 : s.ranked] {
		h := &s.hits[at]
		if s.candidates[h.best].vendor != vendor { // Everything further down scores less.
			consider(h.best)
			found = true
			break
		}
		consider(h.other)
	}
	if !found {
		for i := range s.hits { // All further products of top have best bids of the same vendor, so search the products below top.
			h := &s.hits[i]
			switch {
			case h.best == none || h.wrongID || h.inTop:
			case s.candidates[h.best].vendor != vendor:
				consider(h.best)
			default:
				consider(h.other)
			}
		}
	}
	if best == none {
		return nil
	}
	return &s.candidates[best]
}

// productOf returns the product row of a hit, nil when the hit is not a product.
func (s *Scratch) productOf(h *hit) *market.ProductRow {
	if h.row == market.NoProduct {
		return nil
	}
	return s.v.ProductRow(h.row)
}

// minorUnit returns one minor unit of the currency in micros, which is the smallest price.
func minorUnit(m *model.Marketplace) uint64 {
	return uint64(money.PerMinor(min(m.CurrencyExponent, money.MaxExponent)))
}
