package policy

import "github.com/gavel-ads/gavel/bench/pacing/scenario"

// plan is the share of the day's traffic that is expected until a time.
type plan struct{ sums [25]float64 }

// newPlan returns the plan of a forecast whose last hours count as empty (fast finish).
func newPlan(forecast *[24]uint32, emptyHours int) *plan {
	p := &plan{}
	for i, weight := range forecast {
		if i >= len(forecast)-emptyHours {
			weight = 0
		}
		p.sums[i+1] = p.sums[i] + float64(weight)
	}
	for i := range p.sums {
		p.sums[i] /= p.sums[24]
	}
	return p
}

// at returns the share until a time of the day.
func (p *plan) at(millis int64) float64 {
	i := millis / scenario.Hour
	if i >= 24 {
		return 1
	}
	part := float64(millis%scenario.Hour) / float64(scenario.Hour)
	return p.sums[i] + part*(p.sums[i+1]-p.sums[i])
}
