package pacing

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gavel-ads/gavel/shard/money"
)

// market is a day of one campaign in a virtual market, from a seed. Traffic follows a curve with one peak, a level of
// the day and a factor for each two hours, neither of which the campaign knows. The strongest rival of each auction
// bids a uniform amount up to the campaign's full bid, so that a bid shaded by m wins m of the auctions at m/2 of the
// bid on average.
type market struct {
	clicks    float64 // Budget in clicks at the price that a static multiplier would pay.
	demand    float64 // What full bids would spend, in budgets.
	clickRate float64
	fast      float64 // Mean delay of 90 % of the clicks in seconds; the others' is 15 times as long.
	uniform   bool    // The campaign does not know the curve.
	unpaced   bool    // The word is always Open.
	params    Params
}

// dayOutcome is how a day went.
type dayOutcome struct {
	utilisation float64 // Billed of the budget.
	over        float64 // Clicks that nothing was left for, of the budget.
	hours95     float64 // Hours until 95 % were billed; 24 when they never were.
	ks          float64 // Largest distance of the billed share from the share of the actual traffic.
	value       float64 // Clicks at the full bid for each money unit billed.
}

// onePeak is the fitted traffic of an hour of a day with one peak, as in the generator of the simulator.
func onePeak() (w Weights) {
	sum := 0.0
	var hours [24]float64
	for h := range hours {
		for k, f := range [][2]float64{{-0.778, -0.645}, {0.083, -0.344}, {0.050, -0.041}} {
			sin, cos := math.Sincos(2 * math.Pi * float64(k+1) * (float64(h) + 0.5) / 24)
			hours[h] += f[0]*cos + f[1]*sin
		}
		hours[h] = math.Exp(hours[h])
		sum += hours[h] / 24
	}
	for i := range w.Hours {
		w.Hours[i] = uint32(hours[i%24] / sum * WeightOne)
	}
	return w
}

const bidMicros = 1_000_000

// run plays a day in seconds.
func (m *market) run(seed uint64) (o dayOutcome) {
	r := rand.New(rand.NewPCG(seed, 20))
	w := onePeak()
	// Full bids win all auctions at half the bid; so many auctions make full bids spend demand x budget.
	multiplier := 1 / math.Sqrt(m.demand)
	budget := m.clicks * bidMicros * multiplier / 2
	auctions := m.demand * budget / (m.clickRate * bidMicros / 2)
	w.Level = uint64(auctions / 24 * trafficUnit)
	curve := NewCurve(&w, UTC, nil, 0, 24*hourMillis)
	if m.uniform {
		curve = Uniform()
	}
	level := 0.85 + 0.3*r.Float64()
	var factors [12]float64
	for i := range factors {
		factors[i] = level * (0.6 + 0.8*r.Float64())
	}

	plan := Plan{Budget: money.Micros(budget), EndMillis: 24 * hourMillis, Mode: Even}
	var (
		s                 State
		served            Served
		due               [24 * 3600][]money.Micros // Prices of clicks by the second in which they happen.
		word              uint64
		hold              money.Micros
		billed, traffic   [24 * 3600]float64
		clicks, over, all float64
	)
	params := m.params
	params.ClickDelay = m.fast * 2.4
	for second := range due {
		d := s.Tick(int64(second)*1000, &plan, served, curve, &params)
		word, hold = d.Word, d.Hold
		if m.unpaced {
			word, hold = Open, 0
		}
		served = Served{}
		pass, shade := Split(word)
		weight := float64(w.Hours[second/3600]) / WeightOne * factors[second/7200] / 3600
		for range poisson(r, auctions/24*weight) {
			served.Auctions++
			all++
			bid := min(shade*bidMicros, float64(plan.Budget-plan.Spent))
			price := r.Float64() * bidMicros
			if r.Float64() >= pass || price >= bid || plan.Spent+hold+served.Expected >= plan.Budget {
				continue
			}
			served.Wins++
			served.Expected += money.Micros(math.Ceil(price * m.clickRate))
			if r.Float64() >= m.clickRate {
				continue
			}
			delay := r.ExpFloat64() * m.fast
			if r.IntN(10) == 0 {
				delay *= 15
			}
			if at := second + int(delay); at < len(due) {
				due[at] = append(due[at], money.Micros(price))
			}
		}
		for _, price := range due[second] {
			charge := min(price, plan.Budget-plan.Spent)
			plan.Spent += charge
			over += float64(price - charge)
			clicks++
		}
		billed[second], traffic[second] = float64(plan.Spent), all
	}

	o.utilisation = float64(plan.Spent) / budget
	o.over = over / budget
	o.hours95 = 24
	for i := range billed {
		if o.hours95 == 24 && billed[i] >= 0.95*budget {
			o.hours95 = float64(i) / 3600
		}
		o.ks = max(o.ks, math.Abs(billed[i]/budget-traffic[i]/all))
	}
	o.value = clicks * bidMicros / max(float64(plan.Spent), 1)
	return o
}

// poisson draws a number of events by exponential gaps.
func poisson(r *rand.Rand, mean float64) (n int) {
	for t := r.ExpFloat64(); t < mean; t += r.ExpFloat64() {
		n++
	}
	return n
}

// days returns the mean outcome of many days, with the median of hours95 and ks.
func (m *market) days(n int) (mean dayOutcome) {
	var hours, ks []float64
	for seed := range n {
		o := m.run(uint64(seed))
		mean.utilisation += o.utilisation / float64(n)
		mean.over += o.over / float64(n)
		mean.value += o.value / float64(n)
		hours, ks = append(hours, o.hours95), append(ks, o.ks)
	}
	slices.Sort(hours)
	slices.Sort(ks)
	mean.hours95, mean.ks = hours[n/2], ks[n/2]
	return mean
}

// TestVirtualMarket holds the controller to figures near those of the simulator: a budget is spent, late, along the
// traffic and without overselling. Of n clicks at random moments the distance from the traffic would be 0.87/sqrt(n) in
// the mean (0.28, 0.06, 0.01), to which the unplanned end of the day adds 0.03; with few clicks catching up beats that.
func TestVirtualMarket(t *testing.T) {
	for _, c := range []struct {
		clicks, demand         float64
		days                   int
		utilisation, hours, ks float64 // Bounds: at least, at least, at most.
	}{
		{clicks: 10, demand: 4, days: 60, utilisation: 0.90, hours: 22, ks: 0.26},
		{clicks: 200, demand: 4, days: 16, utilisation: 0.99, hours: 21, ks: 0.08},
		{clicks: 200, demand: 20, days: 8, utilisation: 0.99, hours: 20.5, ks: 0.08},
		{clicks: 10_000, demand: 4, days: 2, utilisation: 0.995, hours: 21, ks: 0.06},
	} {
		m := market{clicks: c.clicks, demand: c.demand, clickRate: 0.03, fast: 20, params: Defaults()}
		o := m.days(c.days)
		m.unpaced = true
		unpaced := m.days(c.days)
		t.Logf("%.0f clicks, demand %.0f: %+v, unpaced %+v", c.clicks, c.demand, o, unpaced)
		if o.utilisation < c.utilisation || o.hours95 < c.hours || o.ks > c.ks || o.over > 0.001 {
			t.Errorf("%.0f clicks, demand %.0f: %+v, want %+v and at most 0.1 %% oversold", c.clicks, c.demand, o, c)
		}
		if o.value < 1.25*unpaced.value || o.ks > unpaced.ks/2 {
			t.Errorf("%.0f clicks, demand %.0f: %+v is no better than unpaced: %+v", c.clicks, c.demand, o, unpaced)
		}
	}
}

// Without a curve, spend follows the clock: later than without pacing, and all of it.
func TestVirtualMarketFirstDay(t *testing.T) {
	m := market{clicks: 200, demand: 4, clickRate: 0.03, fast: 20, uniform: true, params: Defaults()}
	if o := m.days(10); o.utilisation < 0.99 || o.hours95 < 21 || o.ks > 0.3 || o.over > 0.002 {
		t.Errorf("%+v", o)
	}
}
