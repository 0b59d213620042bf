package campaign

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

const (
	// shadeMin is the smallest factor of bids that a forecast tries: pacing lowers bids no further.
	shadeMin = 0.05
	// shadeRounds is the number of factors that are tried. BOUND: each replays all recorded auctions. Six leave the
	// factor within 5 %, which is less than what the sample leaves open.
	shadeRounds = 6
)

// isPaced reports whether pacing spreads the budget of a campaign over its period, instead of spending it as fast as
// auctions are won.
func isPaced(c *model.Campaign) bool {
	return c.Budget > 0 && (c.Period != model.Total || c.Pacing == model.PacingEven && c.EndMillis != 0)
}

// shaded returns a hypothetical market in which all bids of the campaign are lowered by a factor, as pacing does.
func shaded(s *market.WhatIf, factor float64) *market.WhatIf {
	x := *s
	x.Bids = slices.Clone(s.Bids)
	for i := range x.Bids {
		x.Bids[i].Amount = max(1, money.Micros(float64(x.Bids[i].Amount)*factor))
	}
	// A base bid falls with the target, which is its divisor.
	target := math.Min(float64(s.Campaign.TargetROASMilli)/factor, math.MaxUint32)
	x.Campaign.TargetROASMilli = uint32(target)
	return &x
}

// pace replaces the replay of an estimator by one with the bids that pacing would leave: lowered by the one factor with
// which the budget lasts. Without pacing, or with a budget that is not reached, the replay stays. When the time for
// replays ends before a factor is found, it stays too, and the budget ends early in the day.
func (s forecastService) pace(ctx context.Context, tenant uint16, x *market.WhatIf, e *estimator, now time.Time) error {
	first := e.replay
	if !isPaced(e.campaign) || first.Requests == 0 || first.To.Sub(first.From) < spanMin {
		return nil
	}
	budget := e.budgetPerDay()
	if spend := e.spend(); spend == nil || spend.expected <= budget {
		return nil
	}
	e.overBudget, e.above, e.aboveMultiplier = true, first, 1
	low, high := shadeMin, 1.0
	for range shadeRounds {
		factor := math.Sqrt(low * high)
		replay, code, err := s.core.Replay(ctx, tenant, shaded(x, factor), now)
		if err != nil {
			return err
		}
		if code != apierr.OK || !covers(&replay, first) {
			break
		}
		tried := *e
		tried.replay = &replay
		if spend := tried.spend(); spend.expected > budget {
			high = factor
			e.above, e.aboveMultiplier = &replay, factor
			continue
		}
		low = factor
		e.replay, e.multiplier = &replay, factor
	}
	if e.replay == first { // No factor is small enough: pacing leaves out auctions as well, with the smallest one.
		e.replay, e.multiplier, e.above = e.above, e.aboveMultiplier, nil
	}
	return nil
}

// perDayPaced is the expected result of a day in which pacing goes back and forth between two factors: where few rivals
// make the spend jump, none between the two spends the budget.
func (e *estimator) perDayPaced(budget float64) numbersPerDay {
	n := e.numbers()
	if e.above == nil || n.spend == nil {
		return n
	}
	over := *e
	over.replay = e.above
	more := over.numbers()
	// One of the two is at most the budget, the other above it.
	part := (budget - n.spend.expected) / (more.spend.expected - n.spend.expected)
	e.multiplier += part * (e.aboveMultiplier - e.multiplier)
	n.wins, n.spend = n.wins.mixed(more.wins, part), new(n.spend.mixed(*more.spend, part))
	if n.clicks != nil {
		n.clicks = new(n.clicks.mixed(*more.clicks, part))
	}
	return n
}

// mixed is the estimate of which a part is y.
func (x interval) mixed(y interval, part float64) interval {
	of := func(a, b float64) float64 { return a + part*(b-a) }
	return interval{expected: of(x.expected, y.expected), low: of(x.low, y.low), high: of(x.high, y.high)}
}

// covers reports whether a replay has enough of the auctions of another to be compared with it.
func covers(r, with *serving.Replay) bool {
	return 2*r.Requests >= with.Requests && r.To.Sub(r.From) >= spanMin
}
