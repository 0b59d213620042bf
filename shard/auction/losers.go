package auction

import (
	"cmp"
	"slices"

	"github.com/gavel-ads/gavel/shard/market"
)

// This file counts by campaign the auctions that were lost. An auction is lost by a campaign when bids of it were
// candidates and none of them won; the reason is that of its bid that came furthest, because this is the one that more
// money or another setting would have helped first. To find the losers costs a tenth of the auction, so a busy node
// does it only for some requests, which Params.LossWeight selects.

// loser is a campaign with a bid that lost.
type loser struct {
	campaign uint32 // Row.
	reason   Reason // passed for a bid that won.
}

// losersKept is the number of losers for which a Results keeps memory from one request to the next. BOUND: 32 KB.
const losersKept = 4_096

// addLoser notes a bid that failed a gate, if losers are counted.
func (s *Scratch) addLoser(b *market.BidRow, reason Reason) {
	if s.t.LossWeight > 0 {
		s.losers = append(s.losers, loser{b.Campaign, reason})
	}
}

// appendLosers appends each campaign that lost the auction once. REQUIRES: the auction was run just before.
func (s *Scratch) appendLosers(dst []loser) []loser {
	for i := range s.candidates {
		if c := &s.candidates[i]; c.campaign != 0 && !s.hits[c.hit].wrongID {
			s.losers = append(s.losers, loser{c.campaign, s.outcomeOf(c)})
		}
	}
	slices.SortFunc(s.losers, func(a, b loser) int {
		return cmp.Or(cmp.Compare(a.campaign, b.campaign), cmp.Compare(b.reason, a.reason))
	})
	last := uint32(0) // No campaign has row 0.
	for _, l := range s.losers {
		if l.campaign != last && l.reason != passed {
			dst = append(dst, l)
		}
		last = l.campaign
	}
	s.losers = s.losers[:0]
	return dst
}

// outcomeOf returns why a candidate lost, or passed for a winner.
func (s *Scratch) outcomeOf(c *candidate) Reason {
	reason := Outranked
	if c.overVendorCap {
		reason = Diversity
	}
	for rank := range s.winners() {
		switch w := s.winner(rank); {
		case w == c:
			return passed
		case w.hit == c.hit:
			reason = Diversity
		}
	}
	return reason
}

// RecordLosses counts the auctions of an answered request that campaigns have lost, if the request was selected
// (Params.LossWeight). It is called like RecordWins.
func RecordLosses(v *market.View, res *Results) {
	for _, l := range res.losers {
		v.AddAuctionLost(l.campaign, l.reason.Number(), res.lossWeight)
	}
}

// numbers are the reasons as they are stored and reported by campaign. The numbers of reasons never change: append only.
var numbers = [Reasons]uint8{
	Inactive: 1, NotStarted: 2, Ended: 3, NotApproved: 4, ProductInactive: 5, Trigger: 6, DeviceMismatch: 7, Geo: 8,
	Segment: 9, Excluded: 10, FilterMismatch: 11, Reserve: 12, Stale: 13, Budget: 14, Wallet: 15, Pacing: 16,
	Frequency: 17, Exclusive: 18, Diversity: 19, Outranked: 20,
	Holdout: 21,
}

const _ = uint(market.LossReasonsMax - 1 - Reasons) // The build fails when market cannot count all reasons.

// Number returns the number under which the reason is stored, from 1. Unlike the reason itself, whose value is its
// position among the gates, it never changes.
func (r Reason) Number() uint8 { return numbers[r] }

// ReasonNumbered returns the reason with a number, as Number returns it.
func ReasonNumbered(number uint8) (r Reason, known bool) {
	i := slices.Index(numbers[:], number)
	return Reason(max(i, 0)), i >= 0 // Below Reasons.
}
