package traffic

import (
	"math"
	"math/rand/v2"
)

// LogNormal draws exp(N(mu, sigma)): bids, budgets and prices of shops have this shape.
func LogNormal(r *rand.Rand, mu, sigma float64) float64 {
	return math.Exp(mu + sigma*r.NormFloat64())
}
