package metric

import (
	"math"

	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	"github.com/gavel-ads/gavel/bench/pacing/virtual"
)

// Recovery compares what campaigns spent after an event with what they should have spent, in windows of five minutes.
// It can be added up over campaigns, events and seeds, because one campaign's spend in five minutes is mostly chance.
type Recovery struct {
	Spent, Planned [RecoveryWindows]float64
}

// The windows of a Recovery.
const (
	RecoveryWindows = 36 // Three hours.
	windowMinutes   = 5
)

// recoveryBand is how far from the plan counts as recovered, and recoveryHold for how many windows in a row.
const (
	recoveryBand = 0.1
	recoveryHold = 3
)

// Add adds one campaign and an event. The plan of a window is what was left of the budget at its start,
// in proportion to the actual traffic.
func (r *Recovery) Add(d *Day, o *virtual.Outcome, campaign int, millis int64) {
	const minute = scenario.Hour / 60
	traffic := d.Traffic(campaign)
	first := int(millis / minute)
	for w := range RecoveryWindows {
		from, to := first+w*windowMinutes, first+(w+1)*windowMinutes
		if to >= o.Minutes-1 || traffic[from] >= 1 {
			return
		}
		left := max(0, float64(o.Budget[campaign]-o.BilledAt[campaign][from]))
		r.Planned[w] += left * (traffic[to] - traffic[from]) / (1 - traffic[from])
		for at := from; at < to; at++ {
			r.Spent[w] += o.ExpectedIn[campaign][at]
		}
	}
}

// Sum adds another Recovery.
func (r *Recovery) Sum(other *Recovery) {
	for w := range r.Spent {
		r.Spent[w] += other.Spent[w]
		r.Planned[w] += other.Planned[w]
	}
}

// Minutes returns the time after the event from which spend stays within 10 % of the plan for a quarter of an hour; NaN
// if that never happens in three hours, or if nothing was planned.
func (r *Recovery) Minutes() float64 {
	good := 0
	for w := range r.Spent {
		if r.Planned[w] > 0 && math.Abs(r.Spent[w]/r.Planned[w]-1) <= recoveryBand {
			good++
		} else {
			good = 0
		}
		if good == recoveryHold {
			return float64((w + 1 - recoveryHold) * windowMinutes)
		}
	}
	return math.NaN()
}

// Worst returns the spend of the window that is farthest from its plan, as a multiple of the plan.
func (r *Recovery) Worst() float64 {
	worst := math.NaN()
	for w := range r.Spent {
		if r.Planned[w] <= 0 {
			continue
		}
		if ratio := r.Spent[w] / r.Planned[w]; math.IsNaN(worst) || math.Abs(ratio-1) > math.Abs(worst-1) {
			worst = ratio
		}
	}
	return worst
}

// RecoveryOf returns the recovery of the constrained campaigns from the day's events: from their own edit of the
// budget, and from events that concern all of them, given by their times.
func (d *Day) RecoveryOf(o *virtual.Outcome, events []int64) *Recovery {
	r := &Recovery{}
	constrained := map[int]bool{}
	for _, i := range d.Constrained {
		constrained[i] = true
		for _, at := range events {
			r.Add(d, o, i, at)
		}
	}
	for _, e := range d.Day.Edits {
		if i := int(e.Campaign); constrained[i] && o.Budget[i] > o.BilledAt[i][e.Millis/(scenario.Hour/60)] {
			r.Add(d, o, i, e.Millis)
		}
	}
	return r
}
