package auction

import (
	"math"
	"math/bits"

	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// This file holds the gates budget and wallet. A campaign's headroom is what is left of its budget minus the hold,
// which is the expected cost of the ads already served whose outcome is open. The hold comes from the leader of the
// group and is a few seconds old, so the node also takes off its own wins since then, times the number of serving nodes
// (market.Balances). The headroom of the wallet is computed alike. Of the wallet's other campaigns it takes off only
// the hold: their wins of the last seconds are in balances of their own, which are not read here.

// headroom is what the gates budget and wallet read of a campaign, in micros.
type headroom struct {
	left, hold         int64
	wallet, walletHold int64
	claimed            int64 // What this node's wins that hold may not include take off both.
}

// headroomOf reads the headroom of a campaign. earlier is the expected cost of its wins in earlier auctions of the
// request, which are not part of the balances yet.
func (s *Scratch) headroomOf(x *market.Balances, earlier uint64) headroom {
	return headroom{
		left: x.BudgetLeft.Load(), hold: x.Hold.Load(), wallet: x.WalletBalance.Load(), walletHold: x.WalletHold.Load(),
		claimed: market.Claimed(s.nodes, x.Pending()+earlier),
	}
}

// gate returns the first of the gates budget and wallet that a bid fails. When it passes both, it returns the largest
// amount with which the bid may compete: what is left of budget and wallet, so that one more interaction can be paid in
// full. What is left must be above the reserve price, like the bid.
func (r *headroom) gate(charge model.ChargeType, floor uint64) (most uint64, lost Reason) {
	switch {
	case r.left <= r.hold+r.claimed || perUnit(r.left, charge) <= floor: // A hold is at most MaxMicros: no overflow.
		return 0, Budget
	case r.wallet <= r.walletHold+r.claimed || perUnit(r.wallet, charge) <= floor:
		return 0, Wallet
	}
	return r.most(charge), passed
}

// most returns the largest amount with which a bid of a charge type may compete.
func (r *headroom) most(charge model.ChargeType) uint64 {
	return perUnit(min(r.left, r.wallet), charge)
}

// perUnit returns the largest amount of a charge type of which one interaction costs at most left. An amount of CPM is
// that of a thousand impressions.
func perUnit(left int64, charge model.ChargeType) uint64 {
	amount := uint64(max(left, 0)) // Not negative.
	if charge == model.CPM {
		hi, lo := bits.Mul64(amount, 1000)
		if hi != 0 {
			return math.MaxUint64
		}
		return lo
	}
	return amount
}

// gateHeadroom returns the first of the gates budget and wallet that a bid fails or, when it passes both, the largest
// amount with which it may compete.
func (s *Scratch) gateHeadroom(row uint32, charge model.ChargeType, floor uint64) (most uint64, lost Reason) {
	r := s.headroomOf(s.v.Balances(row), s.earlierCostOf(row))
	return r.gate(charge, floor)
}

// earlierCostOf returns the expected cost of a campaign's wins in earlier auctions of the request.
func (s *Scratch) earlierCostOf(campaign uint32) (cost uint64) {
	for i := range s.earlier {
		winners := s.earlier[i].Winners
		for j := range winners {
			if winners[j].campaign == campaign {
				cost += uint64(winners[j].Expected) // Not negative.
			}
		}
	}
	return cost
}

// addCost adds the expected cost of a winner to that of the auctions so far.
func (s *Scratch) addCost(expected uint64) {
	s.cost = min(s.cost+expected, 1<<62) // The bound prevents an overflow.
}

// RecordWins adds the winners of an answered request to this node's own totals of their campaigns, which at once takes
// their expected costs off the headroom that later auctions of this node see, and counts the auctions that each campaign
// has won. It is called exactly once for each
// request whose winners are shown, after its last Run, with the view and the results of that Run. It allocates nothing,
// does not wait, and may be called concurrently.
func RecordWins(v *market.View, res *Results) {
	for i := range res.Results {
		winners := res.Results[i].Winners
		for j := range winners {
			w := &winners[j]
			if w.campaign == 0 {
				continue
			}
			v.AddWin(w.campaign, w.Expected)
			if !wonAny(winners[:j], w.campaign) {
				v.AddAuctionWon(w.campaign)
			}
		}
	}
}

// wonAny reports whether a campaign has any of the winners.
func wonAny(winners []Winner, campaign uint32) bool {
	for i := range winners {
		if winners[i].campaign == campaign {
			return true
		}
	}
	return false
}

// expectedCost returns the price times the probability that it is charged, in units of 1/2^32, rounded up and at least
// one micro.
func expectedCost(price, probability uint64) uint64 {
	hi, lo := bits.Mul64(price, probability)
	cost := hi<<32 | lo>>32
	if lo<<32 != 0 {
		cost++
	}
	return max(cost, 1)
}
