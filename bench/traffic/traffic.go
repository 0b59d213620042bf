// Package traffic makes the market, the auction bodies and the event bodies of a shop that does not exist, from a seed.
//
// The shapes are fits to published figures of real shops (each constant names its kind of source), never anybody's
// traffic itself. Everything is a pure function of the seed and of the order of calls, so that two runs, two builds or
// two servers see the same bytes. The package imports nothing of the product: whoever measures with it measures from
// outside.
package traffic

import "math/rand/v2"

// New returns the random source of one generator. Sources of the same seed and different streams are independent, so
// that each worker draws from its own stream and the number of workers changes nothing for the others.
func New(seed, stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, stream*0x9e3779b97f4a7c15+1))
}
