package auction

import (
	"math/bits"

	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// The score of a bid is its amount times a weight. Between bids of one charge type the weight is the quality alone.
// When several charge types compete, the weight also converts an amount per click, per thousand impressions or per
// purchase into an amount per impression. Scores are 128-bit integers, so that no rounding depends on the machine.

// priorPurchase is the rate of purchases per click in units of 1/2^32: 10 of 100 clicks. It is used until purchases are
// attributed.
const priorPurchase = 10 << 32 / 100

// chargeTypes is a set of model.ChargeType.
type chargeTypes uint8

const cpmBit = chargeTypes(1 << model.CPM)

// containsRate reports whether the weight of a bid of a charge type, among competing bids of the charge types t, contains
// its click rate.
func (t chargeTypes) containsRate(charge model.ChargeType) bool {
	return t&(t-1) != 0 && t&cpmBit != 0 && charge != model.CPM
}

// weight returns the weight of a bid of a charge type on a product of a quality, among competing bids of the charge
// types t. It is at least 1 for a quality above 0. click is the bid's click rate in units of 1/2^32; it is not read unless
// the weight contains it.
func (t chargeTypes) weight(charge model.ChargeType, quality uint64, click uint32) uint64 {
	if t&(t-1) == 0 {
		return quality
	}
	w := quality
	if charge == model.CPM {
		w /= 1000
	}
	if charge == model.CPA {
		w = share(w, priorPurchase)
	}
	if t.containsRate(charge) {
		w = share(w, uint64(click))
	}
	return max(w, 1)
}

// share returns floor(w*p / 2^32). REQUIRES: p below 2^32.
func share(w, p uint64) uint64 {
	hi, lo := bits.Mul64(w, p)
	return hi<<32 | lo>>32
}

// score computes the scores of the candidates, and finds the best bid of each product and the best bid of another
// vendor.
// REQUIRES: all candidates are known, because their charge types decide the weights.
func (s *Scratch) score() {
	if s.comparesRates() {
		s.readClickRates()
	}
	if s.a.Kind == Flights && s.a.HasProducts {
		s.assignPairs()
	}
	for i := range s.candidates {
		c := &s.candidates[i]
		s.setScore(c)
		s.updateBest(&s.hits[c.hit], int32(i)) // Fewer candidates than 2^31.
	}
}

// setScore computes the score of a candidate.
func (s *Scratch) setScore(c *candidate) {
	c.hi, c.lo = bits.Mul64(c.amount, s.weight(s.types, c.charge, s.hits[c.hit].quality, c.click))
	c.tie = market.Mix(s.seed, c.key)
}

// updateBest updates best and other of a hit with a candidate.
func (s *Scratch) updateBest(h *hit, i int32) {
	c := &s.candidates[i]
	switch {
	case h.best == none:
		h.best = i
	case c.beats(&s.candidates[h.best]):
		if c.vendor != s.candidates[h.best].vendor {
			h.other = h.best
		}
		h.best = i
	case c.vendor != s.candidates[h.best].vendor && (h.other == none || c.beats(&s.candidates[h.other])):
		h.other = i
	}
}

// beats orders candidates by score, then by a hash of auction and bid, which is fair over many auctions and the same
// when the auction is run again, and finally by the key of the bid.
func (c *candidate) beats(d *candidate) bool {
	switch {
	case c.hi != d.hi:
		return c.hi > d.hi
	case c.lo != d.lo:
		return c.lo > d.lo
	case c.tie != d.tie:
		return c.tie < d.tie
	}
	return c.key < d.key
}
