package auction

import (
	"math/bits"

	"github.com/gavel-ads/gavel/shard/market"
)

// pace returns what a gate that is not open makes of a bid, and how probable it is that the bid competes. The bid is
// shaded first, but not below the least that can win; where that would be needed, the campaign competes less often: spend
// goes with the square of the shading, so the chance does too.
func (s *Scratch) pace(gate, amount, floor uint64) (shaded, chance uint64) {
	chance = gate >> 32
	hi, lo := bits.Mul64(amount, gate&(1<<32-1))
	shaded = min(hi<<33|lo>>31, amount) // Never above what was bid.
	least := min(max(floor+1, s.minor), amount)
	if shaded >= least {
		return shaded, chance
	}
	for range 2 {
		chance = mulDiv(chance, shaded, least)
	}
	return least, chance
}

// spared draws for a campaign, once for all auctions of a request: so it is in or out for the whole page.
func (s *Scratch) spared(chance uint64, c *market.CampaignRow) bool {
	return chance >= market.GateAlways || s.draw(c) < chance
}

// draw is the campaign's number of this request, evenly from 0 to 2^32-1.
func (s *Scratch) draw(c *market.CampaignRow) uint64 {
	const salt = 0x9e3779b97f4a7c15 // So that it tells nothing of the order of ties.
	return market.Mix(s.requestSeed^salt, uint64(c.Group)<<32|uint64(c.Ordinal)) >> 32
}

// mulDiv returns floor(a*b/c). REQUIRES: the quotient fits.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	quotient, _ := bits.Div64(hi, lo, c)
	return quotient
}
