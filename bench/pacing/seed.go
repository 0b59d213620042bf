package pacing

import (
	"context"
	"math"

	"github.com/gavel-ads/gavel/bench/pacing/bound"
	"github.com/gavel-ads/gavel/bench/pacing/metric"
	"github.com/gavel-ads/gavel/bench/pacing/policy"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	"github.com/gavel-ads/gavel/bench/pacing/virtual"
)

// seedResult is what one seed brought.
type seedResult struct {
	requests, campaigns, constrained int
	bound                            float64
	values                           []map[string]float64 // By row.
	recoveries                       []*metric.Recovery   // By row.
	watched                          [][]watched          // By row and campaign of Options.Watch.
	example                          *Example
}

// preparations is the number of steps before the first row: the day before, the day without limits, and the bound.
const preparations = 3

// seed runs all rows on the day of a seed.
func (c *comparison) seed(ctx context.Context, index int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, err := c.prepare(ctx, c.options.Seeds[index])
	if err != nil {
		return err
	}
	r := &c.results[index]
	r.requests, r.campaigns = len(p.day.Requests), len(p.day.Campaigns)
	r.constrained, r.bound = len(p.measures.Constrained), p.measures.Bound
	if index == 0 {
		r.example = &Example{Day: p.measures}
	}
	for _, row := range c.rows {
		if row.kind.Hindsight && p.knowledge.Multipliers == nil {
			if p.knowledge.Multipliers, err = hindsight(ctx, p.day, &c.options.Virtual, p.rates); err != nil {
				return err
			}
		}
		config := c.options.Virtual
		config.Hold = row.hold
		o, err := virtual.Run(ctx, p.day, &config, p.rates, row.kind.New(p.knowledge))
		if err != nil {
			return err
		}
		values := map[string]float64{}
		for _, m := range metric.All() {
			values[m.Key] = m.Value(p.measures, o)
		}
		r.values = append(r.values, values)
		r.recoveries = append(r.recoveries, p.measures.RecoveryOf(o, c.options.Events))
		r.watched = append(r.watched, c.watch(p.day, o))
		if r.example != nil {
			r.example.Outcomes = append(r.example.Outcomes, o)
		}
		c.step()
	}
	return nil
}

// prepared is what all rows of a seed share.
type prepared struct {
	day       *scenario.Day
	rates     *virtual.Rates
	knowledge *policy.Knowledge
	measures  *metric.Day
}

// prepare generates the day, and runs it and the day before without limits.
func (c *comparison) prepare(ctx context.Context, seed uint64) (*prepared, error) {
	day, err := c.options.Day(seed, 0)
	if err != nil {
		return nil, err
	}
	before, err := c.options.Day(seed, 1)
	if err != nil {
		return nil, err
	}
	config := c.options.Virtual
	config.Unlimited, config.Faults = true, nil
	truth := make([]float64, len(day.Campaigns))
	for i := range truth {
		truth[i] = day.Campaigns[i].ClickRate
	}
	yesterday, err := virtual.Run(ctx, before, &config, virtual.NewRates(before, truth), openPolicy())
	if err != nil {
		return nil, err
	}
	c.step()
	p := &prepared{day: day, knowledge: &policy.Knowledge{
		Day: day, Auctions: make([]float64, len(truth)), Controller: c.options.Controller,
	}}
	for i := range truth {
		truth[i] = yesterday.Rate(i, truth[i])
		p.knowledge.Unpaced = append(p.knowledge.Unpaced, float64(yesterday.Billed[i]))
	}
	for i := range day.Candidates {
		p.knowledge.Auctions[day.Candidates[i].Campaign]++
	}
	p.rates = virtual.NewRates(day, truth)
	unlimited, err := virtual.Run(ctx, day, &config, p.rates, openPolicy())
	if err != nil {
		return nil, err
	}
	c.step()
	limit := math.NaN()
	if c.options.Bound {
		if limit, err = bound.LiquidWelfare(ctx, day, bound.Steps); err != nil {
			return nil, err
		}
	}
	c.step()
	p.measures = metric.NewDay(day, unlimited, limit)
	return p, nil
}

// openPolicy returns the policy that does not pace.
func openPolicy() policy.Policy { return policy.Named(policy.None).New(nil) }

// rounds and exponent of the search for static multipliers.
const (
	hindsightRounds   = 40
	hindsightExponent = 0.3
)

// hindsight returns the static multipliers that spend the budgets of a day: each round runs the day without limits and
// moves every multiplier toward its budget (tatonnement).
func hindsight(ctx context.Context, day *scenario.Day, shared *virtual.Config, rates *virtual.Rates) ([]float64, error) {
	config := *shared
	config.Unlimited, config.Faults = true, nil
	config.Nodes = 1 // Without budgets the nodes do not matter.
	k := &policy.Knowledge{Day: day, Multipliers: make([]float64, len(day.Campaigns))}
	for i := range k.Multipliers {
		k.Multipliers[i] = 1
	}
	for range hindsightRounds {
		o, err := virtual.Run(ctx, day, &config, rates, policy.Named("hindsight").New(k))
		if err != nil {
			return nil, err
		}
		for i := range k.Multipliers {
			spent := 0.
			for _, cost := range o.ExpectedIn[i] {
				spent += cost
			}
			factor := math.Pow(float64(day.Campaigns[i].Budget)/max(spent, 1), hindsightExponent)
			k.Multipliers[i] = min(1, k.Multipliers[i]*factor)
		}
	}
	return k.Multipliers, nil
}

// report collects the results of all seeds.
func (c *comparison) report() *Report {
	r := &Report{
		Seeds: c.options.Seeds, Nodes: c.options.Virtual.Nodes, LagMillis: c.options.Virtual.LagMillis,
		Campaigns: c.results[0].campaigns, Example: c.results[0].example,
	}
	for i := range c.results {
		x := &c.results[i]
		r.Requests = append(r.Requests, x.requests)
		r.Constrained = append(r.Constrained, x.constrained)
		if math.IsNaN(x.bound) {
			r.Bounds = append(r.Bounds, 0)
		} else {
			r.Bounds = append(r.Bounds, x.bound)
		}
	}
	for at, v := range c.rows {
		r.Rows = append(r.Rows, c.row(at, v))
	}
	return r
}

// row summarises one row over the seeds.
func (c *comparison) row(at int, v variant) Row {
	row := Row{
		Policy: v.kind.Name, Hold: v.hold,
		Values: map[string][]*float64{}, Mean: map[string]metric.Interval{}, Difference: map[string]metric.Interval{},
	}
	for _, m := range metric.All() {
		first, own := c.column(0, m.Key), c.column(at, m.Key)
		mean := metric.Mean(own)
		if mean.Count == 0 {
			continue
		}
		row.Mean[m.Key] = mean
		for i := range own {
			row.Values[m.Key] = append(row.Values[m.Key], number(own[i]))
		}
		if difference := metric.Paired(first, own); at > 0 && difference.Count > 0 {
			row.Difference[m.Key] = difference
		}
	}
	row.Recovery = c.recovery(at)
	row.Watched = c.watched(at)
	return row
}

// recovery sums up what followed the events of all seeds under one row; nil without an event.
func (c *comparison) recovery(at int) *Recovery {
	var sum metric.Recovery
	for i := range c.results {
		sum.Sum(c.results[i].recoveries[at])
	}
	if math.IsNaN(sum.Worst()) {
		return nil
	}
	r := &Recovery{Minutes: number(sum.Minutes()), Worst: number(sum.Worst())}
	for w := range sum.Spent {
		r.Ratios = append(r.Ratios, number(sum.Spent[w]/sum.Planned[w]))
	}
	return r
}

// column returns the values of a metric by seed.
func (c *comparison) column(row int, key string) []float64 {
	values := make([]float64, len(c.results))
	for i := range values {
		values[i] = c.results[i].values[row][key]
	}
	return values
}

// number returns nil for what JSON cannot represent.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
