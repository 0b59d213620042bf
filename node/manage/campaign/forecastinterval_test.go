package campaign

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestTotalOfEqualWeights compares with the exact bounds of a Poisson count (Garwood) in tables of 95 %.
func TestTotalOfEqualWeights(t *testing.T) {
	for n, want := range map[int][2]float64{0: {0, 3.6889}, 1: {0.0253, 5.5716}, 3: {0.6187, 8.7673}, 10: {4.7954, 18.3904}, 100: {81.3640, 121.6268}} {
		for _, weight := range []float64{1, 2.5} {
			weights := make([]float64, n)
			for i := range weights {
				weights[i] = weight
			}
			got := total(weights, weight, 0.95)
			if math.Abs(got.expected-weight*float64(n)) > 1e-9 || math.Abs(got.low-weight*want[0]) > 1e-3 || math.Abs(got.high-weight*want[1]) > 1e-3 {
				t.Errorf("%d events of %v: %+v, want %v times %v", n, weight, got, weight, want)
			}
		}
	}
	if got := total(make([]float64, 3), 7, 0.95); got.low != 0 || math.Abs(got.high-7*3.6889) > 1e-3 {
		t.Errorf("nothing but zeros: %+v", got)
	}
}

// TestGammaQuantile compares with values of tables, and for large shapes with the normal distribution, which they approach.
func TestGammaQuantile(t *testing.T) {
	for _, c := range []struct{ shape, probability, want float64 }{
		{1, 0.5, math.Ln2}, {0.5, 0.95, 1.92073}, {2, 0.05, 0.355362}, {5, 0.975, 10.24159}, {50, 0.5, 49.66713},
	} {
		if got := gammaQuantile(c.shape, c.probability); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("shape %v below %v: %v, want %v", c.shape, c.probability, got, c.want)
		}
	}
	if got, want := gammaQuantile(1e6, 0.975), 1e6+1.959964*1e3+(1.959964*1.959964-1)/3; math.Abs(got-want) > 0.1 {
		t.Errorf("a million: %v, want %v", got, want)
	}
}

// TestShare compares with published examples of Wilson's bounds.
func TestShare(t *testing.T) {
	for _, c := range []struct{ successes, trials, low, high float64 }{
		{0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {1, 10, 0.0179, 0.4042}, {50, 100, 0.4038, 0.5962}, {81, 263, 0.2553, 0.3662},
	} {
		got := share(c.successes, c.trials, 0.95)
		if math.Abs(got.low-c.low) > 1e-4 || math.Abs(got.high-c.high) > 1e-4 || got.expected != c.successes/c.trials {
			t.Errorf("%v of %v: %+v, want %v to %v", c.successes, c.trials, got, c.low, c.high)
		}
	}
}

// TestIntervalsHoldTheTruth: of a thousand samples of a known stream, at least nine hundred intervals contain the true value, less a
// margin for chance.
func TestIntervalsHoldTheTruth(t *testing.T) {
	const every, trials = 20, 1_000
	random := rand.New(rand.NewPCG(5, 6))
	for _, expected := range []float64{2, 30, 400} { // Requests that win, in a sample.
		containing := 0
		for range trials {
			var weights []float64
			truth := expected * every * 2.5 // Wins: 1 to 4 each.
			// Requests come at random, one in so many is sampled: a thinned Poisson process.
			for range poisson(random, expected) {
				weights = append(weights, float64(1+random.IntN(4)))
			}
			if x := total(weights, 4, 0.9).scaled(every); x.low <= truth && truth <= x.high {
				containing++
			}
		}
		if containing < trials*88/100 {
			t.Errorf("%v expected: %d of %d intervals contain the true value", expected, containing, trials)
		}
		if expected > 100 && containing > trials*97/100 {
			t.Errorf("%v expected: %d of %d intervals contain the true value; they are too wide", expected, containing, trials)
		}
	}
}

func poisson(random *rand.Rand, mean float64) int {
	n := 0
	for at := random.ExpFloat64(); at < mean; at += random.ExpFloat64() {
		n++
	}
	return n
}
