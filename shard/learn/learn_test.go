package learn

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The prediction is (C + m*p) / (I + m) with m = 2.7/p, computed here with floating point.
func TestRatePredictsWithItsParentAsPrior(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		impressions, clicks := rng.IntN(1<<rng.IntN(20)+1), rng.IntN(1<<rng.IntN(12)+1)
		clicks = min(clicks, impressions)
		parent := uint32(RateMin + rng.Uint64N(RateMax-RateMin))
		if rng.IntN(2) == 0 {
			parent = PriorRate
		}
		prior := NewPrior(parent)
		p := float64(parent) / (1 << 32)
		want := min((float64(clicks)+2.7)/(float64(impressions)+2.7/p), 0.5)
		c := Counts{Impressions: uint64(impressions) * One, Clicks: uint64(clicks) * One}
		if got := float64(c.Predict(&prior)) / (1 << 32); math.Abs(got-want) > 1e-4*want+1e-9 {
			t.Fatalf("%d clicks of %d impressions below %.6f: %.9f, want %.9f", clicks, impressions, p, got, want)
		}
	}
}

func TestRate(t *testing.T) {
	var r Rate
	prior := NewPrior(PriorRate)
	if got := r.Predict(&prior); got != PriorRate {
		t.Errorf("nothing seen: %d, want the prior %d", got, uint32(PriorRate))
	}
	for range 50 {
		r.Click(7)
	}
	if got := r.Predict(&prior); got < 1<<30 || got > RateMax {
		t.Errorf("50 clicks and no impression: %d", got)
	}
	for range 100_000 {
		r.Impression(7, One)
	}
	if got := float64(r.Predict(&prior)) / (1 << 32); math.Abs(got-52.7/100_090) > 1e-6 {
		t.Errorf("50 clicks of 100,000 impressions: %g", got)
	}
	before := r
	r.Decay(3)
	if r != before {
		t.Error("a day that has passed changed something")
	}
	r.Decay(7 + 14)
	if half := float64(r.Impressions) / float64(before.Impressions); math.Abs(half-0.5) > 1e-3 {
		t.Errorf("after 14 days %g are left", half)
	}
	r.Decay(math.MaxUint32)
	if r != (Rate{Day: math.MaxUint32}) {
		t.Errorf("long after: %+v", r)
	}
}

// The day on which a count is read does not change what it is later.
func TestDecayInStepsIsDecayAtOnce(t *testing.T) {
	for _, count := range []uint64{1, One, 1_000 * One, math.MaxUint64} {
		once, steps := Rate{Counts: Counts{count, count / 3}}, Rate{Counts: Counts{count, count / 3}}
		for day := range uint32(1_000) {
			once := once
			steps.Decay(day)
			if once.Decay(day); once != steps {
				t.Fatalf("%d on day %d: %+v in steps, %+v at once", count, day, steps, once)
			}
		}
		if steps.Counts != (Counts{}) {
			t.Errorf("after 1,000 days %+v are left", steps)
		}
	}
}

func TestVisibility(t *testing.T) {
	want := 1.0
	for rank := uint8(1); rank <= 40; rank++ {
		switch rank {
		case 1:
		case 2, 3:
			want -= 0.2
		default:
			want *= 0.9
		}
		if got := float64(Visibility(rank)) / One; math.Abs(got-want) > 1e-3 {
			t.Errorf("rank %d: %.4f, want %.4f", rank, got, want)
		}
	}
}

func TestDelay(t *testing.T) {
	var d Delay
	if d.Millis() != 60_000 {
		t.Errorf("before the first click: %d ms", d.Millis())
	}
	for range 2_000 {
		d.Add(20)
	}
	if got := d.Millis(); got < 19_990 || got > 21_000 {
		t.Errorf("after 2,000 clicks of 20 s: %d ms", got)
	}
	before := d.Millis()
	d.Add(math.MaxUint32)
	if got := d.Millis() - before; got < 6_000 || got > 8_000 {
		t.Errorf("a report that is years late moves the mean by %d ms", got)
	}
	for range 10_000 {
		d.Add(0)
	}
	if got := d.Millis(); got > 50 {
		t.Errorf("after 10,000 clicks at once: %d ms", got)
	}
}

// The factor is compared with floating point.
func TestFactor(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200_000 {
		rate, parent := uint32(RateMin+rng.Uint64N(RateMax-RateMin))>>rng.IntN(16), uint32(RateMin+rng.Uint64N(RateMax-RateMin))>>rng.IntN(16)
		rate, parent = max(rate, RateMin), max(parent, RateMin)
		exponent := uint16(rng.IntN(ExponentOne + 1))
		want := math.Pow(float64(rate)/float64(parent), float64(exponent)/ExponentOne)
		want = min(max(want, 0.25), 4)
		if got := float64(Factor(rate, parent, exponent)) / One; math.Abs(got-want) > 1e-4*want+2.0/One {
			t.Fatalf("(%d/%d)^%d: %.6f, want %.6f", rate, parent, exponent, got, want)
		}
	}
	for _, rate := range []uint32{RateMin, PriorRate, RateMax} {
		if Factor(rate, PriorRate, 0) != One || Factor(rate, rate, ExponentOne) != One {
			t.Errorf("rate %d: exponent 0 and equal rates must give 1", rate)
		}
	}
	if got := Scale(3, FactorMin); got != 1 {
		t.Errorf("a quarter of 3 is %d, want 1, because a quality of 0 could not win", got)
	}
}

// A higher rate never has a lower factor.
func TestFactorIsMonotonic(t *testing.T) {
	last := uint64(0)
	for rate := uint32(PriorRate / 5); rate < PriorRate*5; rate += 997 {
		got := Factor(rate, PriorRate, 600)
		if got < last {
			t.Fatalf("rate %d has factor %d, a lower rate %d", rate, got, last)
		}
		last = got
	}
}
