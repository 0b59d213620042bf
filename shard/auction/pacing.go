package auction

import (
	"math/bits"

	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// applyPacing returns a bid amount after a pacing word that is not pacing.Open, and the probability that the bid
// competes, in units of 1/2^32. The bid is shaded first, but not below the smallest amount that can win. Where the
// word asks for more shading, the probability is reduced instead, by the square of the missing factor, because
// spend falls with the square of the shading. An auction of an experiment without pacing only knows campaigns that are
// stopped.
func (s *Scratch) applyPacing(word, amount, floor uint64) (shaded, probability uint64) {
	if s.unpaced && word != pacing.Stopped {
		return amount, pacing.Always
	}
	probability = word >> 32
	hi, lo := bits.Mul64(amount, word&(1<<32-1))
	shaded = min(hi<<33|lo>>31, amount) // Never above what was bid.
	least := min(max(floor+1, s.minor), amount)
	if shaded >= least {
		return shaded, probability
	}
	for range 2 {
		probability = mulDiv(probability, shaded, least)
	}
	return least, probability
}

// passesPacing reports whether a campaign competes in this request. The answer is the same for all auctions of the
// request, so that a campaign competes on the whole page or not at all.
func (s *Scratch) passesPacing(probability uint64, c *market.CampaignRow) bool {
	return probability >= pacing.Always || s.draw(c) < probability
}

// draw returns a number for the campaign in this request that is uniformly distributed over 0 to 2^32-1.
func (s *Scratch) draw(c *market.CampaignRow) uint64 {
	const salt = 0x9e3779b97f4a7c15 // It makes the number independent of the order of ties.
	return market.Mix(s.requestSeed^salt, uint64(c.Group)<<32|uint64(c.Ordinal)) >> 32
}

// mulDiv returns floor(a*b/c). REQUIRES: the quotient fits.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	quotient, _ := bits.Div64(hi, lo, c)
	return quotient
}
