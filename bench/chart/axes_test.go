package chart_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gavel-ads/gavel/bench/chart"
)

func TestFromZero(t *testing.T) {
	for _, c := range []struct {
		most  float64
		ticks []float64
	}{
		{0, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{-3, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{math.NaN(), []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{math.Inf(1), []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{60, []float64{0, 10, 20, 30, 40, 50, 60}},
		{61, []float64{0, 20, 40, 60, 80}},
		{7_300, []float64{0, 2_000, 4_000, 6_000, 8_000}},
	} {
		a := chart.FromZero("", c.most)
		same := slices.EqualFunc(a.Ticks, c.ticks, func(x, y float64) bool { return math.Abs(x-y) < 1e-9*max(1, y) })
		if !same || a.Max != a.Ticks[len(a.Ticks)-1] || a.Min != 0 || a.Log {
			t.Errorf("up to %g: %+v, want the lines %v", c.most, a, c.ticks)
		}
	}
}

func TestDecades(t *testing.T) {
	for _, c := range []struct{ least, most, from, to float64 }{
		{0.25, 8, 0.1, 10}, {1, 1, 1, 10}, {3, 3, 1, 10}, {0.01, 1_000, 0.01, 1_000},
	} {
		a := chart.Decades("", c.least, c.most)
		if math.Abs(a.Min/c.from-1) > 1e-9 || math.Abs(a.Max/c.to-1) > 1e-9 || !a.Log || a.Ticks[0] != a.Min || a.Ticks[len(a.Ticks)-1] != a.Max {
			t.Errorf("%g to %g: %+v, want %g to %g", c.least, c.most, a, c.from, c.to)
		}
	}
}
