package pacing_test

import (
	"math"
	"testing"

	"github.com/gavel-ads/gavel/shard/pacing"
)

func TestWord(t *testing.T) {
	for _, test := range []struct {
		pass, multiplier float64
		want             uint64
	}{
		{1, 1, pacing.Open},
		{2, 7, pacing.Open},
		{1, 0.5, pacing.Always<<32 | 1<<30},
		{0.5, 0.05, 1<<31<<32 | 107374182},
		{0, 1, pacing.Unshaded},
		{1, 0, pacing.Stopped},
		{1, 1e-12, pacing.Stopped},
		{math.NaN(), math.NaN(), pacing.Stopped},
		{-1, math.Inf(1), pacing.Unshaded},
	} {
		if got := pacing.Word(test.pass, test.multiplier); got != test.want {
			t.Errorf("Word(%v, %v) = %x, want %x", test.pass, test.multiplier, got, test.want)
		}
	}
	for _, want := range [][2]float64{{1, 1}, {0.25, 0.05}, {1, 0.3}} {
		pass, multiplier := pacing.Split(pacing.Word(want[0], want[1]))
		if math.Abs(pass-want[0]) > 1e-9 || math.Abs(multiplier-want[1]) > 1e-9 {
			t.Errorf("%v comes back as %v, %v", want, pass, multiplier)
		}
	}
}
