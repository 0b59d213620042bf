package pacing

import (
	"math/bits"
	"slices"
)

// HoursOfWeek is the number of local hours of a week. Hour 0 is Monday from 0:00 to 1:00.
const HoursOfWeek = 168

// WeightOne is the weight of an average hour.
const WeightOne = 1 << 20

// Weights are the traffic of each hour of the week relative to the average hour, in units of 1/WeightOne, and the level
// of that average hour.
type Weights struct {
	Hours [HoursOfWeek]uint32
	Level uint64 // Auctions in an average hour, in units of 2^-8; 0: not known.
}

// Traffic is what the traffic of a marketplace, or of one of its ad formats, taught. It is replicated: Learn and
// Weights are computed by every replica and use integers only.
type Traffic struct {
	Hours [HoursOfWeek]HourTraffic
	Seen  uint64 // Auctions that were learned from.
}

// HourTraffic is what was learned of one hour of the week.
type HourTraffic struct {
	Rate  uint64 // Mean of the auctions in the hour, in units of 2^-8.
	Weeks uint8  // How often it was observed, at most 255.
}

// Auctions of unknown weight that stand beside those observed, as shrinkage toward the parent: the uniform curve for a
// marketplace, the marketplace's curve for an ad format.
const (
	MarketPrior = 20_000
	FormatPrior = 2_000
)

// Bounds of what is learned, so that no product overflows.
const (
	auctionsMax = 1 << 40 // In an hour: 300 million a second.
	seenMax     = 1 << 31 // As the weight of what was seen against a prior.
	minutesMax  = 180     // Of one hour of the week: where the clock is set back it lasts two hours.
)

// Learn adds the auctions that were counted in one local hour of the week, which lasted so many minutes: 60, or 120
// when the clock was set back in it; an hour that the clock skips is not learned. The mean of the first weeks becomes a
// moving one with weight 0.3 for the newest. Out of range arguments change nothing.
func (t *Traffic) Learn(hour int, auctions uint64, minutes uint32) {
	if hour < 0 || hour >= HoursOfWeek || minutes == 0 || minutes > minutesMax {
		return
	}
	auctions = min(auctions, auctionsMax)
	h := &t.Hours[hour]
	rate := auctions * 60 << 8 / uint64(minutes)
	switch h.Weeks {
	case 0:
		h.Rate = rate
	case 1, 2:
		h.Rate = (h.Rate*uint64(h.Weeks) + rate) / (uint64(h.Weeks) + 1)
	default:
		h.Rate = (h.Rate*7 + rate*3) / 10
	}
	h.Weeks = min(h.Weeks, 254) + 1
	t.Seen = min(t.Seen, 1<<62) + auctions
}

// Weights returns the curve's weights: what was observed, shrunk toward the parent's (nil: the uniform curve) as if
// prior auctions had been seen with those. An hour of the week that was not observed yet counts like the same hour of
// the days that were. Before all 24 hours of a day were observed, the result is the parent's.
func (t *Traffic) Weights(parent *Weights, prior uint64) Weights {
	uniform := UniformWeights()
	if parent == nil {
		parent = &uniform
	}
	filled, ok := t.filled()
	if !ok {
		return *parent
	}
	sum := uint64(0) // Below 168 x 2^54, see auctionsMax.
	for _, rate := range filled {
		sum += rate
	}
	if sum == 0 {
		return *parent
	}
	w := Weights{Level: sum / HoursOfWeek}
	seen, prior := min(t.Seen, seenMax), min(prior, seenMax)
	for i, rate := range filled {
		hi, lo := bits.Mul64(rate, HoursOfWeek*WeightOne)
		observed, _ := bits.Div64(hi, lo, sum) // Below 2^28, because rate <= sum.
		w.Hours[i] = uint32((seen*observed + prior*uint64(parent.Hours[i])) / (seen + prior))
	}
	return w
}

// filled returns the rate of each hour of the week, with the mean of the same hour of other days where it was not
// observed. It reports whether each hour of the day was observed at least once.
func (t *Traffic) filled() (rates [HoursOfWeek]uint64, ok bool) {
	for hour := range 24 {
		sum, days := uint64(0), uint64(0)
		for i := hour; i < HoursOfWeek; i += 24 {
			if t.Hours[i].Weeks > 0 {
				sum, days = sum+t.Hours[i].Rate, days+1
			}
		}
		if days == 0 {
			return rates, false
		}
		for i := hour; i < HoursOfWeek; i += 24 {
			rates[i] = sum / days
			if t.Hours[i].Weeks > 0 {
				rates[i] = t.Hours[i].Rate
			}
		}
	}
	return rates, true
}

// During returns the weights for a campaign that competes in some hours of the week only, by its schedule: the others
// have weight 0, so that its budget is planned for its own hours. Such a campaign needs a curve of its own.
func (w Weights) During(active *[HoursOfWeek]bool) Weights {
	for hour, competes := range active {
		if !competes {
			w.Hours[hour] = 0
		}
	}
	return w
}

// UniformWeights returns the weights of a marketplace of which nothing is known.
func UniformWeights() (w Weights) {
	for i := range w.Hours {
		w.Hours[i] = WeightOne
	}
	return w
}

// flat reports whether all hours are alike, except those without traffic (During).
func (w *Weights) flat() bool {
	most := slices.Max(w.Hours[:])
	return !slices.ContainsFunc(w.Hours[:], func(weight uint32) bool { return weight != 0 && weight != most })
}
