package scenario

import "math"

// Delays is the distribution of the time from an auction to its click.
type Delays struct {
	Mean, SlowShare, SlowMean, LateShare float64 // As in Config.
}

// DefaultDelays returns the delays of Default.
func DefaultDelays() Delays {
	c := Default(0, 1)
	return Delays{Mean: c.DelayMean, SlowShare: c.DelaySlowShare, SlowMean: c.DelaySlowMean, LateShare: c.LateShare}
}

// lateMax is the longest delay of a late click.
const lateMax = 30 * float64(DayMillis)

// Click decides whether an impression of a campaign is clicked and after how many milliseconds. visibility is the
// exposure of its slot relative to the first one. The answer depends on the day, the request and the campaign only, and
// a better slot never loses a click, so that two policies differ by what they buy and not by chance.
func (d *Day) Click(request int, c *Candidate, visibility float64) (after int64, clicked bool) {
	s := d.source(1, request, c.Offer)
	if s.float() >= float64(c.Click)*visibility {
		return 0, false
	}
	mean := d.Delays.Mean
	if s.float() < d.Delays.SlowShare {
		mean = d.Delays.SlowMean
	}
	delay := -mean * math.Log1p(-s.float())
	if s.float() < d.Delays.LateShare {
		delay = s.float() * lateMax
	}
	return int64(delay), true
}

// Visibility returns the exposure of a zero-based slot relative to the first one: 1, 0.8, 0.6, then nine tenths of the
// one before. The engine uses the same values for expected costs.
func Visibility(slot int) float64 {
	switch slot {
	case 0:
		return 1
	case 1:
		return 0.8
	}
	return 0.6 * math.Pow(0.9, float64(slot-2))
}

// source is the SplitMix64 generator, which has good values from any seed.
type source uint64

func (s *source) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (s *source) float() float64 { return float64(s.next()>>11) / (1 << 53) }

// Uniform returns a value from 0 to 1 for one decision about a campaign in a request, independent of Click's.
func (d *Day) Uniform(request int, campaign int32) float64 {
	s := d.source(2, request, campaign)
	return s.float()
}

// source returns the random values of one purpose for a campaign in a request.
func (d *Day) source(purpose uint64, request int, campaign int32) source {
	day := source(d.Seed<<8 | purpose)
	return source(day.next() ^ uint64(request)<<32 ^ uint64(campaign)) // Indexes are not negative.
}

// Normal returns a value of the standard normal distribution for a campaign (Box and Muller).
func (d *Day) Normal(campaign int32) float64 {
	s := d.source(3, 0, campaign)
	return math.Sqrt(-2*math.Log(1-s.float())) * math.Cos(2*math.Pi*s.float())
}
