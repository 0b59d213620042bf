package pacing

import (
	"github.com/gavel-ads/gavel/bench/pacing/metric"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	"github.com/gavel-ads/gavel/bench/pacing/virtual"
)

// watched is what a watched campaign got on one seed.
type watched struct{ budget, billed, wins, clicks float64 }

// watch returns the results of the watched campaigns; zeros for one that the day does not have.
func (c *comparison) watch(day *scenario.Day, o *virtual.Outcome) []watched {
	all := make([]watched, len(c.options.Watch))
	for at, id := range c.options.Watch {
		for i := range day.Campaigns {
			if day.Campaigns[i].ID == id {
				all[at] = watched{float64(o.Budget[i]) / 1e6, float64(o.Billed[i]) / 1e6, float64(o.Wins[i]), float64(o.Clicks[i])}
			}
		}
	}
	return all
}

// watched summarises the watched campaigns under one row.
func (c *comparison) watched(row int) (all []Watched) {
	for at, id := range c.options.Watch {
		column := func(value func(*watched) float64) metric.Interval {
			values := make([]float64, len(c.results))
			for i := range values {
				values[i] = value(&c.results[i].watched[row][at])
			}
			return metric.Mean(values)
		}
		all = append(all, Watched{
			ID:     id,
			Budget: column(func(w *watched) float64 { return w.budget }),
			Billed: column(func(w *watched) float64 { return w.billed }),
			Wins:   column(func(w *watched) float64 { return w.wins }),
			Clicks: column(func(w *watched) float64 { return w.clicks }),
		})
	}
	return all
}
