// Package traffic generates the market, the auction bodies and the event bodies of an invented shop from a seed.
//
// The distributions are fitted to published figures of real shops and are not the traffic of any shop. Everything is a pure
// function of the seed and of the order of calls, so that two runs, two builds or two servers get the same bytes. The
// package imports nothing of the product, because measurements with it use only the product's interfaces.
package traffic

import "math/rand/v2"

// New returns the random source of one generator. Sources of the same seed and different streams are independent, so that
// each worker uses its own stream and does not depend on the number of workers.
func New(seed, stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, stream*0x9e3779b97f4a7c15+1))
}
