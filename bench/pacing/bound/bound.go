// Package bound computes an upper bound of what any policy can achieve on a day.
package bound

import (
	"context"
	"math"

	"github.com/gavel-ads/gavel/bench/pacing/scenario"
)

// Steps is the number of subgradient steps that the comparison uses.
const Steps = 150

// LiquidWelfare returns an upper bound of the liquid welfare of a day, in micros: the sum over the campaigns of what
// their wins are worth to them, but at most their budgets, plus the value of external winners.
//
// It is the linear program's dual: for any discounts d from 0 to 1, one for each campaign,
//
//	sum of d x budget + sum over requests of the best assignment of slots to discounted values
//
// is a bound, because a campaign's capped value is at most d x budget + (1-d) x value. Projected subgradient steps look
// for a small one; the smallest found is returned, so that a bad step only costs tightness. No solver is needed.
func LiquidWelfare(ctx context.Context, day *scenario.Day, steps int) (float64, error) {
	d := newDual(day)
	best := math.Inf(1)
	for step := range steps {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		best = min(best, d.evaluate())
		d.descend(0.5 / math.Sqrt(float64(step+1)))
	}
	return min(best, d.evaluate()), nil
}

// dual is the state of the descent.
type dual struct {
	day      *scenario.Day
	exposure []float64 // By slot.
	budget   []float64 // The largest of the day, so that the bound holds with edits too.
	discount []float64
	worth    []float64 // What the assignment of the last evaluation is worth to each campaign.
	top      []ranked
}

// ranked is a candidate for a slot. An external bid has no campaign.
type ranked struct {
	score, value float64
	campaign     int32
}

const noCampaign = int32(-1)

func newDual(day *scenario.Day) *dual {
	d := &dual{day: day, discount: make([]float64, len(day.Campaigns)), worth: make([]float64, len(day.Campaigns))}
	for i := range day.Campaigns {
		d.budget = append(d.budget, float64(day.Campaigns[i].Budget))
	}
	for _, e := range day.Edits {
		d.budget[e.Campaign] = max(d.budget[e.Campaign], float64(e.Budget))
	}
	for slot := range day.Slots {
		d.exposure = append(d.exposure, scenario.Visibility(slot))
	}
	return d
}

// evaluate returns the bound for the current discounts, and fills worth.
func (d *dual) evaluate() float64 {
	clear(d.worth)
	sum, external := 0., 0
	for i := range d.day.Requests {
		q := &d.day.Requests[i]
		slots := d.day.SlotsOf(q)
		d.top = d.top[:0]
		for _, c := range d.day.Of(i) {
			if d.eligible(&c, q.Millis) {
				value := d.day.Value(&c, 1)
				d.rank(ranked{score: (1 - d.discount[c.Campaign]) * value, value: value, campaign: c.Campaign}, slots)
			}
		}
		for ; external < len(d.day.External) && d.day.External[external].Request == int32(i); external++ { // At most 20 million.
			x := &d.day.External[external]
			value := float64(x.Bid) * float64(x.Click)
			d.rank(ranked{score: value, value: value, campaign: noCampaign}, slots)
		}
		sum += d.assign()
	}
	for i := range d.discount {
		sum += d.discount[i] * d.budget[i]
	}
	return sum
}

// eligible reports whether a candidate may win: its bid is above the reserve price, and its campaign runs.
func (d *dual) eligible(candidate *scenario.Candidate, millis int64) bool {
	c := &d.day.Campaigns[candidate.Campaign]
	reserve := d.day.Reserve[0]
	if c.Banner {
		reserve = d.day.Reserve[1]
	}
	return d.day.Offers[candidate.Offer].Bid > reserve && millis >= c.StartMillis && millis < c.EndMillis
}

// rank inserts a candidate into the best ones of a request.
func (d *dual) rank(r ranked, slots int) {
	if len(d.top) == slots {
		if r.score <= d.top[slots-1].score {
			return
		}
		d.top = d.top[:slots-1]
	}
	d.top = append(d.top, r)
	for at := len(d.top) - 1; at > 0 && d.top[at].score > d.top[at-1].score; at-- {
		d.top[at], d.top[at-1] = d.top[at-1], d.top[at]
	}
}

// assign gives the slots of a request to the best candidates and returns the sum of their scores.
func (d *dual) assign() (sum float64) {
	for slot := range d.top {
		t := &d.top[slot]
		sum += d.exposure[slot] * t.score
		if t.campaign != noCampaign {
			d.worth[t.campaign] += d.exposure[slot] * t.value
		}
	}
	return sum
}

// descend moves each discount against its subgradient, budget less worth, in units of the larger of the two.
func (d *dual) descend(step float64) {
	for i := range d.discount {
		slope := (d.budget[i] - d.worth[i]) / max(d.budget[i], d.worth[i], 1)
		d.discount[i] = min(max(d.discount[i]-step*slope, 0), 1)
	}
}
