package virtual

import (
	"math"

	"github.com/gavel-ads/gavel/bench/pacing/scenario"
)

// Rates are the click rates that a marketplace has learned before the day begins: those of another day, with an error
// as if each were learned from a number of clicks.
type Rates struct {
	prior  []float64 // Clicks per impression in the first slot.
	clicks float64   // The number of clicks that the prior counts for.
}

// learnedError is the standard deviation of the logarithm of a learned rate.
const learnedError = 0.15

// NewRates returns the learned rates for true ones.
func NewRates(day *scenario.Day, truth []float64) *Rates {
	r := &Rates{clicks: 1 / (learnedError * learnedError)}
	for i, rate := range truth {
		r.prior = append(r.prior, rate*math.Exp(learnedError*day.Normal(int32(i)))) // At most 100,000 campaigns.
	}
	return r
}

func (r *Rates) start() []rate {
	all := make([]rate, len(r.prior))
	for i, prior := range r.prior {
		all[i] = rate{clicks: r.clicks, impressions: r.clicks / prior}
	}
	return all
}

// rate is a click rate that goes on learning: (clicks + m p) / (impressions + m), where p is the prior and m its
// weight. Impressions count by the exposure of their slots.
type rate struct{ clicks, impressions float64 }

// predict returns the rate in the unit of the market, 1/2^32.
func (r *rate) predict() uint32 {
	return uint32(min(max(r.clicks/r.impressions, 1e-6), 0.499) * (1 << 32))
}

func (l *leader) learnImpression(i int, visibility float64) { l.learned[i].impressions += visibility }
func (l *leader) learnClick(i int)                          { l.learned[i].clicks++ }

// delay learns the mean time from an auction to its click, from a start value of a minute.
type delay struct{ sum, count float64 }

const (
	delayStart       = 60.
	delayStartClicks = 100.
)

func newDelay() delay { return delay{sum: delayStart * delayStartClicks, count: delayStartClicks} }

func (d *delay) learn(seconds float64) { d.sum, d.count = d.sum+seconds, d.count+1 }
func (d *delay) mean() float64         { return d.sum / d.count }
