package auction

import (
	"math/bits"
	"slices"

	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// This file computes the smallest bid amount with which a losing bid would have won.

// fillNeeded fills in the winner that a loser would have had to beat, and the amount for that. competed says that the
// bid passed the gates.
func (s *Scratch) fillNeeded(f *BidExplanation, h *hit, b *market.BidRow, competed bool, out *Result) {
	byMoney := competed || f.Reason == Reserve && h.quality > 0
	if f.Won || !byMoney || s.capped() || s.a.Kind == Flights {
		return
	}
	c := s.v.Campaign(b.Campaign)
	if f.Reason == Reserve && c.Flags&market.CampaignExclusive != 0 {
		return // Above the reserve price the bid would have kept other bids out, so more than its amount would change.
	}
	tie := market.Mix(s.seed, keyOf(b, c))
	against := s.against(h)
	if against >= 0 {
		w := s.winner(against)
		f.AgainstRank, f.AgainstPrice, f.AgainstHi, f.AgainstLo = uint8(against+1), out.Winners[against].Price, w.hi, w.lo // At most SlotsMax.
	}
	if s.types != 0 && s.types&(1<<c.Charge) == 0 {
		return // The bid would have added a charge type, which changes the weights of all bids.
	}
	least := uint64(1)
	if against >= 0 {
		var ok bool
		weight := s.weight(s.types|1<<c.Charge, c.Charge, h.quality, s.predict(h.row, keyOf(b, c), b.Ad))
		if least, ok = s.toBeat(s.winner(against), weight, tie, keyOf(b, c)); !ok {
			return
		}
	}
	f.Needed = s.leastBid(h, least, b, c)
}

// against returns the zero-based rank of the winner of the same entity, otherwise that of the last winner if all slots
// are taken, otherwise -1.
func (s *Scratch) against(h *hit) int {
	won := s.won[:s.winners()]
	own := func(i uint32) bool { return &s.hits[s.candidates[i].hit] == h }
	if rank := slices.IndexFunc(won, own); rank >= 0 {
		return rank
	}
	if len(won) == min(s.a.Slots, SlotsMax) {
		return len(won) - 1
	}
	return -1
}

// toBeat returns the smallest amount with which a bid of a given weight beats a winner: the quotient of score and
// weight, or the next larger amount when that quotient does not win the tie. ok is false when no amount does.
func (s *Scratch) toBeat(w *candidate, weight, tie, key uint64) (amount uint64, ok bool) {
	if w.hi >= weight {
		return 0, false
	}
	amount, rest := bits.Div64(w.hi, w.lo, weight)
	if rest == 0 && (&candidate{tie: tie, key: key}).beats(&candidate{tie: w.tie, key: w.key}) {
		return amount, true
	}
	return amount + 1, true
}

// leastBid returns the smallest bid amount that passes all gates and competes with at least least, 0 if there is none.
// It uses bisection, because the amounts after targeting and after pacing never fall when the bid amount rises. What is
// left of budget and wallet bounds the amount whatever is bid, so only the gates at the end compare with it.
func (s *Scratch) leastBid(h *hit, least uint64, b *market.BidRow, c *market.CampaignRow) money.Micros {
	r := s.productOf(h)
	floor := s.floorOf(c.Charge, r)
	low, high := uint64(1), uint64(money.MaxMicros)
	for low < high {
		middle := low + (high-low)/2
		if x := s.value(middle, floor, b, c); x.adjusted > floor && x.shaded >= least {
			high = middle
		} else {
			low = middle + 1
		}
	}
	raised := *b
	raised.Amount = int64(low) // At most MaxMicros.
	var amount uint64
	var reason Reason
	if b.Ad != 0 {
		amount, reason = s.gateAd(h, s.v.Ad(b), &raised, c)
	} else {
		amount, reason = s.gate(h, r, &raised, c)
	}
	if reason != passed || amount < least {
		return 0
	}
	return money.Micros(low) // At most MaxMicros.
}
