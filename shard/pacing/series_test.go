package pacing

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The bound of the controller's arithmetic is 1e-4; the series are much closer.
func TestSeriesAreClose(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for y := -3.0; y < 3; y += 1e-4 {
		if got, want := exp(y), math.Exp(y); math.Abs(got-want) > 4e-7*want {
			t.Fatalf("exp(%v) = %v, want %v", y, got, want)
		}
	}
	for range 1_000_000 {
		a, b := math.Exp(400*r.Float64()-200), math.Exp(400*r.Float64()-200)
		if r.IntN(2) == 0 {
			b = a * (0.5 + r.Float64())
		}
		if got, want := lnRatio(a, b), math.Log(a)-math.Log(b); math.Abs(got-want) > 2e-6 {
			t.Fatalf("ln(%v/%v) = %v, want %v", a, b, got, want)
		}
	}
	for _, a := range []float64{0, math.Inf(1), math.NaN(), math.SmallestNonzeroFloat64, 1} {
		for _, b := range []float64{0, math.Inf(1), math.NaN(), math.SmallestNonzeroFloat64, 1} {
			if got := lnRatio(a, b); math.IsNaN(got) || math.IsInf(got, 0) {
				t.Errorf("ln(%v/%v) = %v, want a finite number", a, b, got)
			}
		}
	}
}
