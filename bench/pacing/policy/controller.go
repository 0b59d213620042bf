package policy

import (
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// Epoch is the Unix time in milliseconds of the simulated midnight, a Monday in UTC.
const Epoch = int64(20_780) * scenario.DayMillis

// gavel is the marketplace's controller, one State for each campaign, as the leader of a group runs it.
type gavel struct {
	day      *scenario.Day
	states   []pacing.State
	plans    []pacing.Plan
	expected []int64
	wins     []int64
	auctions [2]int64
	hold     []int64
	params   pacing.Params
	curves   [2]*pacing.Curve // Of listings and of banners.
}

func newController(k *Knowledge) Policy { return newControllerOf(k, k.Controller) }

// newControllerThrottle is the controller whose smallest bid factor is 1.
func newControllerThrottle(k *Knowledge) Policy {
	p := k.Controller
	p.Floor = 1
	return newControllerOf(k, p)
}

// newControllerOf returns the controller with these constants.
func newControllerOf(k *Knowledge, p pacing.Params) Policy {
	n := len(k.Day.Campaigns)
	g := &gavel{
		day: k.Day, states: make([]pacing.State, n), plans: make([]pacing.Plan, n),
		expected: make([]int64, n), wins: make([]int64, n), hold: make([]int64, n),
		params: p, curves: [2]*pacing.Curve{curveOf(k.Day, 0), curveOf(k.Day, 1)},
	}
	for i := range g.plans {
		c := &k.Day.Campaigns[i]
		g.plans[i] = pacing.Plan{Mode: pacing.Even, StartMillis: Epoch + c.StartMillis, EndMillis: Epoch + c.EndMillis}
	}
	return g
}

// curveOf returns the forecast as a curve of hours of the week, all days alike, with the level of listings (0) or of
// banners (1), as the replicas learn them.
func curveOf(day *scenario.Day, kind int) *pacing.Curve {
	sum := 0.
	for _, weight := range day.Forecast {
		sum += float64(weight)
	}
	const unit = 1 << 8 // Of Weights.Level.
	w := &pacing.Weights{Level: uint64(day.Expected[kind] / 24 * unit)}
	for hour := range w.Hours {
		w.Hours[hour] = uint32(float64(day.Forecast[hour%24]) / sum * 24 * pacing.WeightOne) // At most 24 times the mean.
	}
	return pacing.NewCurve(w, pacing.UTC, nil, Epoch-scenario.DayMillis, Epoch+9*scenario.DayMillis)
}

// Tick implements Policy.
func (g *gavel) Tick(seen *Seen, words []uint64) {
	g.params.ClickDelay = seen.DelaySeconds
	traffic := [2]uint64{uint64(seen.Auctions[0] - g.auctions[0]), uint64(seen.Auctions[1] - g.auctions[1])} // Totals never fall.
	g.auctions = seen.Auctions
	for i := range words {
		kind := 0
		if g.day.Campaigns[i].Banner {
			kind = 1
		}
		served := pacing.Served{
			Expected: money.Micros(seen.Expected[i] - g.expected[i]), Wins: uint64(seen.Wins[i] - g.wins[i]), Auctions: traffic[kind],
		}
		g.expected[i], g.wins[i] = seen.Expected[i], seen.Wins[i]
		p := &g.plans[i]
		p.Budget, p.Spent = money.Micros(seen.Budget[i]), money.Micros(seen.Spent[i])
		now := Epoch + seen.Millis
		p.Paused = now < p.StartMillis || now >= p.EndMillis
		d := g.states[i].Tick(now, p, served, g.curves[kind], &g.params)
		words[i], g.hold[i] = d.Word, int64(d.Hold)
	}
}

// Holds implements Holder.
func (g *gavel) Holds() []int64 { return g.hold }

// Restart implements Restarter: a new leader continues from what is replicated.
func (g *gavel) Restart() {
	for i := range g.states {
		g.states[i] = pacing.Restore(g.states[i].Memory())
	}
}
