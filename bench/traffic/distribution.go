package traffic

import (
	"math"
	"math/rand/v2"
)

// LogNormal returns a random value of the lognormal distribution exp(N(mu, sigma)), which bids, budgets and prices of shops
// follow.
func LogNormal(r *rand.Rand, mu, sigma float64) float64 {
	return math.Exp(mu + sigma*r.NormFloat64())
}
