// Package metric computes what the comparison reports of a simulated day: how much of the budgets was spent, how
// evenly, how much was served that could not be billed, and what the money bought.
//
// Most metrics are over the constrained campaigns: those that without a budget would have spent more than 1.3 times
// their budget. That set is fixed by the run without limits, so that it is the same for every policy.
package metric

import (
	"math"
	"slices"

	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	"github.com/gavel-ads/gavel/bench/pacing/virtual"
)

// Day is what the metrics of one day are measured against.
type Day struct {
	Day         *scenario.Day
	Constrained []int
	Bound       float64      // Upper bound of the liquid welfare.
	Unlimited   []int64      // Spend without limits.
	traffic     [2][]float64 // Share of the day's requests until each minute, of listings and banners.
}

// constrainedFactor is how much more than its budget a constrained campaign would spend.
const constrainedFactor = 1.3

// NewDay prepares the metrics of a day from the run without limits.
func NewDay(day *scenario.Day, unlimited *virtual.Outcome, bound float64) *Day {
	d := &Day{Day: day, Bound: bound, Unlimited: unlimited.Billed}
	for i := range day.Campaigns {
		if float64(unlimited.Billed[i]) > constrainedFactor*float64(day.Campaigns[i].Budget) {
			d.Constrained = append(d.Constrained, i)
		}
	}
	for kind := range d.traffic {
		d.traffic[kind] = cumulativeTraffic(day, kind == 1)
	}
	return d
}

func cumulativeTraffic(day *scenario.Day, banner bool) []float64 {
	const minute = scenario.Hour / 60
	share := make([]float64, scenario.DayMillis/minute+1)
	for i := range day.Requests {
		if q := &day.Requests[i]; q.Banner == banner {
			share[q.Millis/minute+1]++
		}
	}
	for i := 1; i < len(share); i++ {
		share[i] += share[i-1]
	}
	total := max(share[len(share)-1], 1)
	for i := range share {
		share[i] /= total
	}
	return share
}

// Traffic returns the share of the day's requests until each minute that a campaign could have competed for.
func (d *Day) Traffic(campaign int) []float64 {
	if d.Day.Campaigns[campaign].Banner {
		return d.traffic[1]
	}
	return d.traffic[0]
}

// Metric is one number of a run. Value returns NaN where it means nothing, for example without a constrained campaign.
type Metric struct {
	Key   string
	Title string // Of a column.
	About string
	Value func(d *Day, o *virtual.Outcome) float64
	// Digits is how many decimals a table shows.
	Digits int
}

// All returns every metric, in the order of the tables.
func All() []Metric {
	return []Metric{
		{"utilisation", "util", "billed / budget, constrained campaigns", utilisation, 4},
		{"overDelivery", "over %", "clicks beyond the budgets that are not billed, % of revenue", overDelivery, 3},
		{"overspend", "overspend", "billed above a budget, in micros; 0 by construction", overspend, 0},
		{"early", "early %", "% of constrained campaigns that spent 95 % before 20 h", early, 1},
		{"life", "life h", "median hour at which a constrained campaign has spent 95 % (24: never)", life, 2},
		{"quickspend", "quick %", "% of constrained campaigns that spent 90 % in the first half of the day", quickspend, 1},
		{"ks", "KS", "largest distance of billed/budget from the share of the traffic, median of constrained campaigns", ksOf(0, math.Inf(1)), 3},
		{"ks10", "KS 10", "the same, budgets of 7 to 14 clicks", ksOf(7, 14), 3},
		{"ksSmall", "KS S", "the same, 5 to 30 clicks", ksOf(5, 30), 3},
		{"ksMedium", "KS M", "the same, 30 to 300 clicks", ksOf(30, 300), 3},
		{"ksLarge", "KS L", "the same, more than 300 clicks", ksOf(300, math.Inf(1)), 3},
		{"openLoop10", "open 10", "KS of clicks that arrive at random along the plan, budgets of 7 to 14 clicks", openLoopOf(7, 14), 3},
		{"error15", "err15", "deviation of a quarter of an hour's expected spend from plan, CPC budgets of 200+ clicks", errorOf(15, false), 3},
		{"error1", "err1", "the same in a minute", errorOf(1, false), 3},
		{"error15CPM", "err15 cpm", "the same in a quarter of an hour, CPM budgets of 200+ clicks", errorOf(15, true), 3},
		{"volatility", "vol", "sum of the changes of the bid factor from minute to minute, mean of constrained campaigns", volatility, 2},
		{"valuePerMoney", "value/money", "value of the wins at the bid / billed, constrained campaigns", valuePerMoney, 3},
		{"clicksPerMoney", "clicks/money", "clicks per unit of the currency, constrained CPC campaigns", clicksPerMoney, 3},
		{"ecpc", "eCPC", "billed per click, constrained CPC campaigns", costPerClick, 3},
		{"welfare", "LW/LP", "liquid welfare / its upper bound", welfare, 4},
		{"revenue", "rev/LP", "billed / the upper bound of liquid welfare", revenue, 4},
	}
}

func utilisation(d *Day, o *virtual.Outcome) float64 {
	billed, budget := 0., 0.
	for _, i := range d.Constrained {
		billed += float64(o.Billed[i])
		budget += float64(o.Budget[i])
	}
	return billed / budget
}

func overDelivery(_ *Day, o *virtual.Outcome) float64 {
	over, billed := 0., 0.
	for i := range o.Billed {
		over += float64(o.Raw[i] - o.Billed[i])
		billed += float64(o.Billed[i])
	}
	return 100 * over / billed
}

func overspend(_ *Day, o *virtual.Outcome) float64 {
	over := int64(0)
	for i := range o.Billed {
		over += max(0, o.Billed[i]-o.Budget[i])
	}
	return float64(over)
}

// spentAt returns the first minute at which a share of the budget was billed, the last one if none.
func spentAt(o *virtual.Outcome, i int, share float64) int {
	limit := share * float64(o.Budget[i])
	for minute, billed := range o.BilledAt[i] {
		if float64(billed) >= limit {
			return minute
		}
	}
	return o.Minutes - 1
}

// shareOf returns the percentage of the constrained campaigns for which a condition holds.
func (d *Day) shareOf(holds func(i int) bool) float64 {
	n := 0.
	for _, i := range d.Constrained {
		if holds(i) {
			n++
		}
	}
	return 100 * n / float64(len(d.Constrained))
}

func early(d *Day, o *virtual.Outcome) float64 {
	return d.shareOf(func(i int) bool { return spentAt(o, i, 0.95) < 20*60 })
}

func quickspend(d *Day, o *virtual.Outcome) float64 {
	return d.shareOf(func(i int) bool { return spentAt(o, i, 0.9) < 12*60 })
}

func life(d *Day, o *virtual.Outcome) float64 {
	var hours []float64
	for _, i := range d.Constrained {
		hours = append(hours, float64(spentAt(o, i, 0.95))/60)
	}
	return Median(hours)
}

// KS returns the largest distance of a campaign's billed share of the budget from the share of the traffic so far.
func (d *Day) KS(o *virtual.Outcome, i int) float64 {
	most := 0.
	traffic := d.Traffic(i)
	for minute, billed := range o.BilledAt[i] {
		most = max(most, math.Abs(float64(billed)/float64(o.Budget[i])-traffic[minute]))
	}
	return most
}

// sized calls a function for every constrained campaign whose budget pays for at least from and less than to clicks.
func (d *Day) sized(from, to float64, each func(i int)) {
	for _, i := range d.Constrained {
		if clicks := d.Day.Campaigns[i].Clicks(); clicks >= from && clicks < to {
			each(i)
		}
	}
}

func ksOf(from, to float64) func(*Day, *virtual.Outcome) float64 {
	return func(d *Day, o *virtual.Outcome) float64 {
		var all []float64
		d.sized(from, to, func(i int) { all = append(all, d.KS(o, i)) })
		return Median(all)
	}
}

// OpenLoop is the expected KS distance of clicks that arrive at random along the plan: 0.87/sqrt(clicks).
func OpenLoop(clicks float64) float64 { return 0.87 / math.Sqrt(clicks) }

func openLoopOf(from, to float64) func(*Day, *virtual.Outcome) float64 {
	return func(d *Day, _ *virtual.Outcome) float64 {
		var all []float64
		d.sized(from, to, func(i int) { all = append(all, OpenLoop(d.Day.Campaigns[i].Clicks())) })
		return Median(all)
	}
}

// errorOf returns the median over large constrained campaigns of AvgErr (Xu and others, KDD 2015): the root of the mean
// square of the difference between expected and planned spend in each slot, in units of the mean slot. The plan follows
// the actual traffic.
func errorOf(minutes int, banner bool) func(*Day, *virtual.Outcome) float64 {
	return func(d *Day, o *virtual.Outcome) float64 {
		var all []float64
		d.sized(200, math.Inf(1), func(i int) {
			if d.Day.Campaigns[i].Banner == banner {
				all = append(all, d.averageError(o, i, minutes))
			}
		})
		return Median(all)
	}
}

func (d *Day) averageError(o *virtual.Outcome, i, minutes int) float64 {
	traffic, budget := d.Traffic(i), float64(o.Budget[i])
	slots := (o.Minutes - 1) / minutes
	sum := 0.
	for slot := range slots {
		spent := 0.
		for minute := slot * minutes; minute < (slot+1)*minutes; minute++ {
			spent += o.ExpectedIn[i][minute]
		}
		difference := spent - budget*(traffic[(slot+1)*minutes]-traffic[slot*minutes])
		sum += difference * difference
	}
	return math.Sqrt(sum/float64(slots)) * float64(slots) / budget
}

func volatility(d *Day, o *virtual.Outcome) float64 {
	sum := 0.
	for _, i := range d.Constrained {
		for minute := 1; minute < o.Minutes; minute++ {
			sum += math.Abs(float64(o.Multiplier[i][minute]) - float64(o.Multiplier[i][minute-1]))
		}
	}
	return sum / float64(len(d.Constrained))
}

func valuePerMoney(d *Day, o *virtual.Outcome) float64 {
	value, billed := 0., 0.
	for _, i := range d.Constrained {
		value += o.Value[i]
		billed += float64(o.Billed[i])
	}
	return value / billed
}

func clicksPerMoney(d *Day, o *virtual.Outcome) float64 { return 1 / costPerClick(d, o) }

func costPerClick(d *Day, o *virtual.Outcome) float64 {
	clicks, billed := 0., 0.
	for _, i := range d.Constrained {
		if !d.Day.Campaigns[i].Banner {
			clicks += float64(o.Clicks[i])
			billed += float64(o.Billed[i]) / 1e6
		}
	}
	return billed / clicks
}

func welfare(d *Day, o *virtual.Outcome) float64 {
	sum := o.External
	for i := range o.Value {
		sum += min(o.Value[i], float64(o.Budget[i]))
	}
	return sum / d.Bound
}

func revenue(d *Day, o *virtual.Outcome) float64 {
	sum := 0.
	for i := range o.Billed {
		sum += float64(o.Billed[i])
	}
	return sum / d.Bound
}

// Median returns the median of values, NaN of none. It may reorder them.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}
