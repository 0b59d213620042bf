package policy

import "math"

// pid is a controller of the logarithm of a probability or bid factor. Its error is the difference between planned and
// billed spend as a share of the budget. The integral is bounded, so that a campaign whose bids are too low for its
// budget does not wind it up.
type pid struct {
	gains
	plan      *plan
	word      func(float64) uint64
	start     float64
	sum, last []float64
}

// gains are the constants of a PID controller: of the error, of its integral over hours, and of its change per hour.
type gains struct{ proportional, integral, gradient float64 }

// The gains were tuned on seeds 101 to 105 for the smallest KS distance (bench/results/2026-11-23-pacing.md has the
// grid); the comparison uses other seeds.
func newThrottlePID(k *Knowledge) Policy { return newPID(k, throttle, gains{60, 10, 0}) }
func newBidPID(k *Knowledge) Policy      { return newPID(k, shade, gains{20, 10, 0.5}) }

func newPID(k *Knowledge, word func(float64) uint64, g gains) Policy {
	n := len(k.Day.Campaigns)
	return &pid{
		gains: g, plan: newPlan(&k.Day.Forecast, 0), word: word, start: math.Log(0.3),
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
