package shard

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/shard/event"
)

// The prediction is (C + m*p) / (I + m) with m = 2.7/p, computed here with floating point.
func TestRatePredictsWithItsParentAsPrior(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		impressions, clicks := rng.IntN(1<<rng.IntN(20)+1), rng.IntN(1<<rng.IntN(12)+1)
		clicks = min(clicks, impressions)
		parent := uint32(rateMin + rng.Uint64N(rateMax-rateMin))
		if rng.IntN(2) == 0 {
			parent = ratePrior
		}
		r := rate{impressions: uint64(impressions) * rateOne, clicks: uint64(clicks) * rateOne}
		p := float64(parent) / (1 << 32)
		want := min((float64(clicks)+2.7)/(float64(impressions)+2.7/p), 0.5)
		if got := float64(r.predict(parent)) / (1 << 32); math.Abs(got-want) > 1e-4*want+1e-9 {
			t.Fatalf("%d clicks of %d impressions below %.6f: %.9f, want %.9f", clicks, impressions, p, got, want)
		}
	}
}

func TestRate(t *testing.T) {
	var r rate
	if got := r.predict(ratePrior); got < ratePrior-100 || got > ratePrior+100 {
		t.Errorf("nothing seen: %d, want the parent's %d", got, uint32(ratePrior))
	}
	for range 50 {
		r.count(event.Click, 7)
	}
	if got := r.predict(ratePrior); got < 1<<30 || got > rateMax {
		t.Errorf("50 clicks and no impression: %d", got)
	}
	for range 100_000 {
		r.count(event.Impression, 7)
	}
	if got := float64(r.predict(ratePrior)) / (1 << 32); math.Abs(got-52.7/100_090) > 1e-6 {
		t.Errorf("50 clicks of 100,000 impressions: %g", got)
	}
	before := r
	r.decay(3)
	if r != before {
		t.Error("a day that has passed changed something")
	}
	r.decay(7 + 14)
	if half := float64(r.impressions) / float64(before.impressions); math.Abs(half-0.5) > 1e-3 {
		t.Errorf("after 14 days %g are left", half)
	}
	r.decay(math.MaxUint32)
	if r.impressions != 0 || r.clicks != 0 || r.day != math.MaxUint32 {
		t.Errorf("long after: %+v", r)
	}
}
