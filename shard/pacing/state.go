package pacing // float: the leader computes this; its results are replicated as integers.

import (
	"math"

	"github.com/gavel-ads/gavel/shard/money"
)

// State is what the controller of one campaign remembers between ticks. The zero value is a campaign that never served:
// it competes with full bids until its wins tell what they cost (beginSteering). Memory and Restore carry it over to another process.
//
// The control loop compares two costs per auction: the target, which is what is free of the budget over the auctions
// that are expected until its end, and the estimate, which is what the campaign cost lately. It moves the logarithm of
// the aggressiveness by that of their ratio within a loop time. Both are expected costs, so that a campaign with ten
// clicks a day has a signal after every win and not only after every click; what was really billed is corrected through
// what is free, and what chance added or took lately is made up within some loop times (catchUp).
type State struct {
	at       int64 // Time of the last tick in milliseconds.
	started  bool  // There was a tick.
	restored bool  // There was none since Restore.
	period   uint32

	steering bool    // Enough is known to steer the campaign; it stays so.
	wins     float64 // Wins before that.

	aggressiveness float64 // e^Params.XMin to 1: the factor of the bids; below the floor also the probability to compete.
	opening        float64 // The same after an hour of the period; openingUnknown before.
	steered        float64 // Seconds of this period in which the campaign was steered, until the opening is known.

	holdFast, holdSlow float64 // Expected cost of ads whose outcome is open, by the pace at which it is released.
	winRate            float64 // Wins per second.
	cost, traffic      float64 // Expected cost and auctions in the memory of the estimate.
	seen, seenHours    float64 // Auctions of this period, and the curve's weight while they were counted; see observe.

	// Auctions and the curve's weight of the last minutes, and the auctions of a surge, which are not in seen; see surgeOf.
	// A new leader begins without them: only the ratio of the first two counts, and a surge passes.
	lately, latelyHours, surge float64

	used      float64 // Billed in this period and on hold, at the last tick.
	usedKnown bool    // used is that of this period.
	behind    float64 // Distance from the plan that is to be made up; below 0 when too much was spent.

	cap      money.Micros // Budget and carry at the last tick.
	dayStart int64        // Plan.DayStartMillis at the last tick.
	daySpent money.Micros // Billed in this period before that day.

	counted          float64 // Auctions of this period in which the campaign was not paused; the means are over these.
	skip, multiplier float64 // Means of this period.
}

// openingUnknown is the value of State.opening before it is known.
const openingUnknown = 0

// Preload reads each cache line of the state and returns a number without meaning. A caller that ticks many states preloads
// some before their ticks, so that memory is fetched at once instead of line by line. It changes nothing.
func (s *State) Preload() uint64 {
	return uint64(s.at) + math.Float64bits(s.holdFast) + math.Float64bits(s.lately) + math.Float64bits(s.multiplier)
}

// Tick advances the controller to now (Unix milliseconds) and returns what auctions shall do until the next tick. It is
// meant to be called once a second; other distances are right too, and a time that is not after the last tick counts
// what was served without letting time pass. It allocates nothing. Arguments out of range are clamped: the word is
// never above Open, the hold is never negative, and nothing is ever NaN. REQUIRES: the fields of p are positive
// numbers, but for the logarithms.
func (s *State) Tick(now int64, plan *Plan, served Served, curve *Curve, p *Params) Decision {
	last, dt := s.advance(inRange(now))
	s.begin(plan)
	s.serve(dt, &served, p)
	resumed := s.restored && dt > gapMax
	s.restored = false
	if resumed {
		last, served.Auctions = inRange(now), 0 // Nobody may have counted the traffic since the memory was taken.
	}

	var t traffic
	var l limits
	if plan.Mode == Even {
		s.observe(&t, last, inRange(now), plan, served.Auctions, curve, p)
	}
	s.limit(&l, plan, &t, p)
	s.edit(plan, &l, p)
	spent := s.spend(&l, &served)
	if plan.Mode == Even && plan.active() && l.left > 0 && !resumed {
		s.steer(dt, spent, &served, &t, &l, p)
		s.remember(dt, p)
	}
	return s.decide(plan, served.Auctions, &l, p)
}
