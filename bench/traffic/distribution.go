package traffic

import (
	"math"
	"math/rand/v2"
	"time"
)

// LogNormal draws exp(N(mu, sigma)): bids, budgets and prices of shops have this shape.
func LogNormal(r *rand.Rand, mu, sigma float64) float64 {
	return math.Exp(mu + sigma*r.NormFloat64())
}

// Beta draws from Beta(a, b), both above 0, as the ratio of two gamma draws: click rates of campaigns have this shape.
func Beta(r *rand.Rand, a, b float64) float64 {
	x, y := gamma(r, a), gamma(r, b)
	return x / (x + y)
}

// gamma draws from Gamma(shape, 1) by the squeeze method of Marsaglia and Tsang, "A Simple Method for Generating Gamma
// Variables", ACM TOMS 26(3), 2000; a shape below 1 is lifted by one and scaled back as section 6 there says.
func gamma(r *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(r, shape+1) * math.Pow(1-r.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		u := 1 - r.Float64() // In (0, 1]: its logarithm exists.
		if math.Log(u) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// ClickRate draws a campaign's click rate with the given mean, Beta(2.71, 2.71(1/mean-1)): the fit to published
// campaign click rates. Means seen: 0.004 on marketplaces, 0.03 in search, 0.00075 on banners.
func ClickRate(r *rand.Rand, mean float64) float64 {
	const a = 2.71
	return Beta(r, a, a*(1/mean-1))
}

// ClickDelay draws the time from an impression to its click: 90 % exponential of mean 20 s, 10 % of mean 300 s.
func ClickDelay(r *rand.Rand) time.Duration {
	mean := 20.0
	if r.Float64() < 0.10 {
		mean = 300
	}
	return time.Duration(r.ExpFloat64() * mean * float64(time.Second))
}

// PurchaseDelay draws the time from a click to its purchase: 35 % within one sitting (mean 20 min), 15 % the same day
// (mean 8 h), 50 % later (mean 6 days), cut at 30 days.
func PurchaseDelay(r *rand.Rand) time.Duration {
	const month = 30 * 24 * time.Hour
	mean := 6 * 24 * time.Hour
	switch u := r.Float64(); {
	case u < 0.35:
		mean = 20 * time.Minute
	case u < 0.50:
		mean = 8 * time.Hour
	}
	return min(time.Duration(r.ExpFloat64()*float64(mean)), month)
}
