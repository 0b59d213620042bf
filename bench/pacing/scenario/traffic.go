package scenario

import (
	"math"
	"math/rand/v2"
)

// Profile is the shape of a day: the traffic of hour h is exp(sum over k of A[k] cos(2 pi k h/24) + B[k] sin(...)),
// normalised. One-peak is a fit to the regions of the BAT data set, two-peak a fit to AuctionNet's generator.
type Profile struct{ A, B [3]float64 }

// The profiles.
var (
	OnePeak  = Profile{A: [3]float64{-.778, .083, .050}, B: [3]float64{-.645, -.344, -.041}}
	TwoPeaks = Profile{A: [3]float64{-.447, .192, .303}, B: [3]float64{-.352, -.627, -.173}}
	Flat     = Profile{}
)

// At returns the relative traffic at a time of the day.
func (p Profile) At(millis int64) float64 {
	hour := float64(millis) / float64(Hour)
	sum := 0.
	for k := range p.A {
		angle := 2 * math.Pi * float64(k+1) * hour / 24
		sum += p.A[k]*math.Cos(angle) + p.B[k]*math.Sin(angle)
	}
	return math.Exp(sum)
}

const (
	minute  = Hour / 60
	minutes = int(DayMillis / minute)
)

// traffic generates the times of the requests: a Poisson process whose rate is constant within each minute. The
// forecast has the mean and the shape of the profile and knows neither the noise nor the surge.
func (d *Day) traffic(c *Config, r *rand.Rand) {
	var rate [minutes]float64
	sum := 0.
	for i := range rate {
		rate[i] = c.Profile.At(int64(i)*minute + minute/2)
		sum += rate[i]
	}
	for i := range rate {
		rate[i] *= float64(c.Requests) / sum
		d.Forecast[i/60] += uint32(rate[i] * 1e6 / float64(c.Requests) * 1000) // At most 1e9 for the whole day.
	}
	d.Expected = [2]float64{float64(c.Requests) * (1 - c.BannerShare), float64(c.Requests) * c.BannerShare}
	level := 1 + c.LevelNoise*(2*r.Float64()-1)
	noise := 1.
	for i := range rate {
		if i%120 == 0 {
			noise = level * (1 + c.ShapeNoise*(2*r.Float64()-1))
		}
		rate[i] *= noise
		if at := int64(i) * minute; at >= c.SurgeFrom && at < c.SurgeFrom+c.SurgeLength {
			rate[i] *= c.SurgeFactor
		}
	}
	d.arrivals(&rate, c.BannerShare, r)
}

// arrivals generates the requests of a process with these rates per minute. The time between two requests, measured in
// expected requests, has the exponential distribution.
func (d *Day) arrivals(rate *[minutes]float64, bannerShare float64, r *rand.Rand) {
	at, left := 0, rate[0] // The minute, and the expected requests left in it.
	for {
		step := r.ExpFloat64()
		for step > left {
			step -= left
			at++
			if at == minutes {
				return
			}
			left = rate[at]
		}
		left -= step
		part := 1 - left/rate[at]
		d.Requests = append(d.Requests, Request{
			Millis: int64((float64(at) + part) * float64(minute)), Banner: r.Float64() < bannerShare,
		})
	}
}
