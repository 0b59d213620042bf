package policy

import "math"

// pid is a controller of the logarithm of a probability or bid factor. Its error is the difference between planned and
// billed spend as a share of the budget. The integral is bounded, so that a campaign whose bids are too low for its
// budget does not wind it up.
type pid struct {
	plan                             *plan
	proportional, integral, gradient float64
	word                             func(float64) uint64
	start                            float64
	sum, last                        []float64
}

// The gains were tuned on seeds 101 to 105: bench/results has the grid.
func newThrottlePID(k *Knowledge) Policy { return newPID(k, throttle, PIDGains) }
func newBidPID(k *Knowledge) Policy      { return newPID(k, shade, PIDGains) }

// Gains are the constants of a PID controller: of the error, of its integral over hours, and of its change per hour.
type Gains struct{ Proportional, Integral, Gradient float64 }

// PIDGains are the tuned gains of both PID policies.
var PIDGains = Gains{Proportional: 20, Integral: 10, Gradient: 0.5}

func newPID(k *Knowledge, word func(float64) uint64, g Gains) Policy {
	n := len(k.Day.Campaigns)
	return &pid{
		plan: newPlan(&k.Day.Forecast, 0), word: word, start: math.Log(0.3),
		proportional: g.Proportional, integral: g.Integral, gradient: g.Gradient,
		sum: make([]float64, n), last: make([]float64, n),
	}
}

const (
	pidSeconds = 60
	pidLeast   = -6. // Of the logarithm.
)

// Tick implements Policy.
func (p *pid) Tick(seen *Seen, words []uint64) {
	if !every(seen, pidSeconds) {
		return
	}
	const hours = float64(pidSeconds) / 3600
	share := p.plan.at(seen.Millis)
	for i := range words {
		difference := share - float64(seen.Spent[i])/float64(seen.Budget[i])
		change := (difference - p.last[i]) / hours
		p.last[i] = difference
		p.sum[i] += difference * hours
		if p.integral > 0 {
			p.sum[i] = min(max(p.sum[i], pidLeast/p.integral), -p.start/p.integral)
		}
		x := p.start + p.proportional*difference + p.integral*p.sum[i] + p.gradient*change
		words[i] = p.word(math.Exp(min(max(x, pidLeast), 0)))
	}
}
