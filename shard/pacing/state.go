package pacing // float: the leader computes this; its results are replicated as integers.

import "github.com/gavel-ads/gavel/shard/money"

// State is what the controller of one campaign remembers between ticks. The zero value is a campaign that never served: it
// starts slowly (Params.Start). Memory and Restore carry it over to another process.
type State struct {
	at      int64 // Time of the last tick in milliseconds.
	started bool  // There was a tick.
	period  uint32

	x       float64 // Logarithm of the aggressiveness, Params.XMin to 0.
	opening float64 // x an hour after the start of the period; 1: not known.

	holdFast, holdSlow float64 // Expected cost of ads whose outcome is open, by the pace at which it is released.
	winRate            float64 // Wins per second.
	cost, traffic      float64 // Expected cost and auctions in the memory of the estimate.
	seen, seenHours    float64 // Auctions of this period, and the weight of the curve while they were counted.

	cap      money.Micros // Budget and carry at the last tick.
	dayStart int64        // Plan.DayStartMillis at the last tick.
	daySpent money.Micros // Billed in this period before that day.

	skip, multiplier float64 // Means of this period.
}

// Tick advances the controller to now (Unix milliseconds) and returns what auctions shall do until the next tick. It is meant
// to be called once a second; other distances are right too, and a time that is not after the last tick counts what was
// served without letting time pass. It allocates nothing. Fields out of range are clamped, so that the word is never above
// Open, the hold is never negative and no result is ever NaN.
func (s *State) Tick(now int64, plan *Plan, served Served, curve *Curve, p *Params) Decision {
	last, dt := s.advance(now)
	s.begin(plan, p)
	s.serve(dt, &served, p)

	t := s.traffics(last, now, plan, served.Auctions, curve)
	l := s.limits(plan, &t, p)
	s.edit(plan, p)
	if plan.Mode == Even && !plan.Paused && !plan.WalletEmpty && l.left > 0 {
		s.steer(dt, &served, &t, &l, p)
		s.remember(now, plan, p)
	}
	return s.decide(plan, served.Auctions, &l, p)
}
