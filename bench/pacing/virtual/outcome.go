package virtual

import (
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	controller "github.com/gavel-ads/gavel/shard/pacing"
)

// Outcome is what a day brought, by campaign. Amounts are micros.
type Outcome struct {
	Budget     []int64 // At the end of the day; what was billed at an edit, if that lowered the budget below it.
	Billed     []int64
	Raw        []int64 // What all clicks would have cost, also those that no budget was left for.
	Clicks     []int64
	Charged    []int64   // Clicks, or impressions of banners, of which at least a part was billed.
	Value      []float64 // Sum of bid x click probability over the wins; for banners, of the bid per impression.
	Wins       []int64
	Minutes    int
	BilledAt   [][]int64   // Billed until each minute, from midnight to midnight.
	ExpectedIn [][]float64 // Price x true click probability of the wins in each minute.
	Multiplier [][]float32 // Bid factor at each minute.
	Pass       [][]float32 // Probability to compete at each minute.
	Exposure   []float64   // Sum of exposures, and of true click probabilities over them.
	TrueClicks []float64
	External   float64 // Value of external winners.
}

// minutesOfDay is the number of samples of a curve, the one at midnight included.
const minutesOfDay = int(scenario.DayMillis/minute) + 1

func newOutcome(day *scenario.Day) *Outcome {
	n := len(day.Campaigns)
	o := &Outcome{
		Billed: make([]int64, n), Raw: make([]int64, n), Clicks: make([]int64, n), Charged: make([]int64, n),
		Value: make([]float64, n), Wins: make([]int64, n), Exposure: make([]float64, n), TrueClicks: make([]float64, n),
		Minutes:  minutesOfDay,
		BilledAt: make([][]int64, n), ExpectedIn: make([][]float64, n), Multiplier: make([][]float32, n), Pass: make([][]float32, n),
	}
	for i := range n {
		o.BilledAt[i], o.ExpectedIn[i] = make([]int64, minutesOfDay), make([]float64, minutesOfDay-1)
		o.Multiplier[i], o.Pass[i] = make([]float32, minutesOfDay), make([]float32, minutesOfDay)
	}
	return o
}

// win counts a win at a time and a price.
func (o *Outcome) win(now int64, day *scenario.Day, c *scenario.Candidate, visibility float64, price int64) {
	i := c.Campaign
	o.Wins[i]++
	o.Value[i] += day.Value(c, visibility)
	probability := 1.
	if !day.Campaigns[i].Banner {
		probability = float64(c.Click) * visibility
	}
	o.ExpectedIn[i][now/minute] += float64(price) * probability
	o.Exposure[i] += visibility
	o.TrueClicks[i] += min(float64(c.Click)*visibility, 1)
}

// click counts a click, or an impression of a banner.
func (o *Outcome) click(i int, price, charged int64) {
	o.Raw[i] += price
	o.Billed[i] += charged
	if charged > 0 {
		o.Charged[i]++
	}
}

// sample stores the state at a minute.
func (o *Outcome) sample(at int, nodes []*node) {
	for i := range o.BilledAt {
		o.BilledAt[i][at] = o.Billed[i]
		pass, multiplier := controller.Split(nodes[0].balances[i].Pacing.Load())
		o.Multiplier[i][at], o.Pass[i][at] = float32(multiplier), float32(pass)
	}
}

// finish stores the end of the day.
func (o *Outcome) finish(l *leader) {
	last := o.Minutes - 1
	for i := range o.BilledAt {
		o.BilledAt[i][last] = o.Billed[i]
		o.Multiplier[i][last], o.Pass[i][last] = o.Multiplier[i][last-1], o.Pass[i][last-1]
	}
	o.Budget = append(o.Budget, l.allowed...)
}

// Rate returns the mean true click rate in the first slot over what a campaign won; fallback if it won nothing.
func (o *Outcome) Rate(i int, fallback float64) float64 {
	if o.Exposure[i] < 50 {
		return fallback
	}
	return max(o.TrueClicks[i]/o.Exposure[i], 1e-6)
}
