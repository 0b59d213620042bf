package pacing // float: the leader computes this; its results are replicated as integers.

import (
	"math"

	"github.com/gavel-ads/gavel/shard/money"
)

// decide turns the state into the decision.
func (s *State) decide(plan *Plan, auctions uint64, l *limits, p *Params) Decision {
	pass, multiplier := 1.0, 1.0
	if plan.Mode == Even {
		pass, multiplier = p.shade(s.aggressiveness)
	}
	if plan.Ceiling > 0 {
		multiplier = min(multiplier, float64(plan.Ceiling)/Unshaded)
	}
	word := Word(pass, multiplier)
	if plan.Mode != Unlimited && s.steering && l.day <= 0 {
		word = Stopped
	}
	if word == Stopped || plan.Mode != Unlimited && l.left <= 0 {
		pass = 0
	}
	if plan.active() {
		s.count(float64(auctions), pass, multiplier)
	}
	return Decision{
		Word:       word,
		Hold:       money.Micros(math.Ceil(clamp(s.hold(), 0, float64(money.MaxMicros)))),
		Status:     s.status(plan, l),
		Skip:       uint32(s.skip * Always),
		Multiplier: uint32(s.multiplier * Unshaded),
	}
}

// shade returns the probability to compete and the factor of the bids for an aggressiveness. Spend grows with the
// square of the factor, so that below the floor the probability falls with the square.
func (p *Params) shade(aggressiveness float64) (pass, multiplier float64) {
	if aggressiveness >= p.Floor {
		return 1, aggressiveness
	}
	return aggressiveness * aggressiveness / (p.Floor * p.Floor), p.Floor
}

// count adds to the means of the period. The mean factor is that of the auctions that were not skipped.
func (s *State) count(auctions, pass, multiplier float64) {
	if auctions <= 0 {
		return
	}
	s.counted += auctions
	s.skip = unit(s.skip + (1-pass-s.skip)*(auctions/s.counted))
	if competed := s.counted * (1 - s.skip); competed > 0 {
		s.multiplier = unit(s.multiplier + (multiplier-s.multiplier)*clamp(auctions*pass/competed, 0, 1))
	}
}

// wouldSpend is how many times its budget a campaign must be able to spend to count as limited by it.
const wouldSpend = 1.3

// fullBid is the mean factor of the bids from which on a campaign counts as competing with its full bids.
const fullBid = 0.95

// heldByReturn reports whether the target return lowers the bids, and more than the budget does.
func (s *State) heldByReturn(plan *Plan) bool {
	factor := float64(plan.Ceiling) / Unshaded
	return plan.Ceiling > 0 && factor < fullBid && (plan.Mode != Even || s.aggressiveness > factor)
}

// status names what bounds the spend.
func (s *State) status(plan *Plan, l *limits) Status {
	switch {
	case plan.WalletEmpty:
		return LimitedByWallet
	case plan.Mode != Unlimited && l.left <= 0:
		return LimitedByBudget
	case s.heldByReturn(plan):
		return LimitedByReturn
	case plan.Mode == Unlimited:
		return NotPaced
	case plan.Mode == Fast:
		return NotPaced
	case s.counted > 0 && s.multiplier*s.multiplier*(1-s.skip)*wouldSpend < 1:
		return LimitedByBudget
	case s.aggressiveness >= 1 && s.multiplier >= fullBid:
		return LimitedByBid
	}
	return OnPlan
}
