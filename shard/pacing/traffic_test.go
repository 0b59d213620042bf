package pacing

import (
	"math"
	"math/rand/v2"
	"testing"
)

// week learns a week in which hour h of the day has auctions(h), on all days alike.
func week(t *Traffic, auctions func(hour int) uint64) {
	for hour := range HoursOfWeek {
		t.Learn(hour, auctions(hour%24), 60)
	}
}

func TestLearnedWeightsShrinkToUniform(t *testing.T) {
	double := func(hour int) uint64 { return map[bool]uint64{true: 150, false: 50}[hour < 12] }
	var traffic Traffic
	week(&traffic, double)
	if traffic.Seen != 16_800 {
		t.Fatalf("%d auctions seen, want 168 x 100", traffic.Seen)
	}
	w := traffic.Weights(nil, MarketPrior)
	// 16,800 observed of weight 1.5 and 20,000 uniform ones.
	want := (16_800*1.5 + 20_000) / 36_800
	if got := float64(w.Hours[3]) / WeightOne; math.Abs(got-want) > 1e-5 {
		t.Errorf("weight %v, want %v", got, want)
	}
	if got := float64(w.Level) / 256; math.Abs(got-100) > 0.01 {
		t.Errorf("%v auctions in an average hour, want 100", got)
	}

	var format Traffic // A format that saw hardly anything has the marketplace's curve.
	week(&format, func(int) uint64 { return 1 })
	fw := format.Weights(&w, FormatPrior)
	want = (168 + 2_000*want) / 2_168
	if got := float64(fw.Hours[3]) / WeightOne; math.Abs(got-want) > 1e-5 {
		t.Errorf("a format's weight is %v, want %v", got, want)
	}
}

// The first day is uniform; from the second on, unknown days of the week look like the known ones.
func TestLearnedWeightsOfTheFirstDays(t *testing.T) {
	var traffic Traffic
	for hour := range 23 {
		traffic.Learn(24+hour, uint64(1_000_000*hour), 60)
	}
	if w := traffic.Weights(nil, MarketPrior); w != UniformWeights() {
		t.Error("before a whole day was seen, the weights are not uniform")
	}
	traffic.Learn(24+23, 23_000_000, 60)
	w := traffic.Weights(nil, MarketPrior)
	for day := range 7 {
		for hour := range 24 {
			got, want := float64(w.Hours[24*day+hour])/WeightOne, float64(hour)/11.5
			if math.Abs(got-want) > 0.001 {
				t.Fatalf("day %d hour %d: weight %v, want %v", day, hour, got, want)
			}
		}
	}
	parent := UniformWeights()
	parent.Level = 77
	if w := (&Traffic{}).Weights(&parent, FormatPrior); w != parent {
		t.Error("what saw nothing does not have its parent's weights")
	}
	var silent Traffic
	week(&silent, func(int) uint64 { return 0 })
	if w := silent.Weights(&parent, FormatPrior); w != parent {
		t.Error("what saw only zeros does not have its parent's weights")
	}
}

func TestLearnAveragesWeeks(t *testing.T) {
	var traffic Traffic
	rates := []float64{}
	for _, auctions := range []uint64{100, 200, 300, 400, 400} {
		traffic.Learn(0, auctions, 60)
		rates = append(rates, float64(traffic.Hours[0].Rate)/256)
	}
	for i, want := range []float64{100, 150, 200, 260, 302} { // A mean of three weeks, then 0.3 for the newest.
		if math.Abs(rates[i]-want) > 0.1 {
			t.Errorf("after week %d the mean is %v, want %v", i+1, rates[i], want)
		}
	}
	var long Traffic
	long.Learn(2, 240, 120) // An hour that the clock was set back in.
	if got := long.Hours[2].Rate >> 8; got != 120 {
		t.Errorf("240 auctions in 120 minutes are %d an hour", got)
	}
}

// Learn and Weights neither overflow nor panic, and keep the mean weight at 1, whatever they are given.
func TestLearnIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var traffic Traffic
		for range r.IntN(400) {
			traffic.Learn(r.IntN(200)-16, r.Uint64()>>r.UintN(64), r.Uint32()>>r.UintN(32))
		}
		var parent Weights
		for i := range parent.Hours {
			parent.Hours[i] = r.Uint32()
		}
		traffic.Weights(&parent, r.Uint64()>>r.UintN(64))
		w := traffic.Weights(nil, MarketPrior)
		mean := 0.0
		for _, h := range w.Hours {
			mean += float64(h) / WeightOne / HoursOfWeek
		}
		if math.Abs(mean-1) > 0.001 {
			t.Fatalf("the mean weight is %v", mean)
		}
	}
	full := Traffic{Seen: math.MaxUint64}
	for range 3 {
		week(&full, func(int) uint64 { return math.MaxUint64 })
	}
	if w := full.Weights(nil, math.MaxUint64); w.Hours[0] != WeightOne {
		t.Errorf("equal hours have the weight %d", w.Hours[0])
	}
}
