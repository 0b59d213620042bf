package learn

import "math/bits"

// Counts are counted interactions that have decayed: impressions, each with the visibility of its rank, and clicks. Both
// are in units of 1/One. Counts of different groups may be added when both have decayed to the same day.
type Counts struct{ Impressions, Clicks uint64 }

// Rate is what is known of a click rate: counts, half of which are forgotten every 14 days.
type Rate struct {
	Day uint32 // The marketplace's local day to which the counts have decayed.
	Counts
}

// The prior says how many clicks come of an impression at the first rank when nothing is known. It and every prediction
// are in units of 1/2^32 and lie between RateMin and RateMax.
const (
	PriorRate = 3 << 32 / 100
	RateMin   = 1 << 32 / 1_000_000
	RateMax   = 1<<31 - 1
)

const (
	dailyDecay  = 62_370        // 2^(-1/14) in units of 1/One: the half-life is 14 days.
	priorClicks = 27 * One / 10 // The clicks that a parent's prediction counts for.
)

// Impression adds an impression with the visibility of its rank.
func (r *Rate) Impression(day uint32, visibility uint64) {
	r.Decay(day)
	r.Impressions += visibility
}

// Click adds a click.
func (r *Rate) Click(day uint32) {
	r.Decay(day)
	r.Clicks += One
}

// Decay reduces the counts to what they count for on a day. A day before r.Day changes nothing. Decaying day by day
// gives the same counts as decaying once.
func (r *Rate) Decay(day uint32) {
	for r.Day < day {
		if r.Counts == (Counts{}) {
			r.Day = day // BOUND: counts of 64 bits are 0 after fewer than 1,000 days.
			return
		}
		r.Impressions, r.Clicks = decayed(r.Impressions), decayed(r.Clicks)
		r.Day++
	}
}

// decayed returns what a count counts for a day later.
func decayed(count uint64) uint64 {
	hi, lo := bits.Mul64(count, dailyDecay)
	return hi<<48 | lo>>16
}

// Prior is a prediction that the predictions below it start from.
type Prior struct {
	Rate   uint32 // Clicks of an impression at the first rank, in units of 1/2^32.
	weight uint64 // The impressions that it counts for, in units of 1/One: priorClicks / Rate.
}

// NewPrior returns the prior of a rate. REQUIRES: the rate lies between RateMin and RateMax.
func NewPrior(rate uint32) Prior {
	return Prior{Rate: rate, weight: priorClicks << 32 / uint64(rate)}
}

// Predict returns the click rate (C + m*p) / (I + m) in units of 1/2^32, where p is the rate of the prior and m = 2.7/p
// its weight: the mean of a Beta distribution whose first parameter, 2.7, was fitted to sponsored search by Lahaie and
// Pennock (EC 2007). Without counts it is p, and it approaches C/I as counts grow.
func (c Counts) Predict(prior *Prior) uint32 {
	if c == (Counts{}) {
		return prior.Rate
	}
	hi, lo := bits.Mul64(c.Clicks+priorClicks, 1<<32)
	of := c.Impressions + prior.weight
	if hi >= of {
		return RateMax // More clicks than impressions: not all impressions are reported.
	}
	p, _ := bits.Div64(hi, lo, of)
	return uint32(min(max(p, RateMin), RateMax)) // Below 2^31.
}
