package policy

import (
	"math"
	"testing"

	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	controller "github.com/gavel-ads/gavel/shard/pacing"
)

// knowledge returns a day of one campaign with a budget of 1000 and the same traffic in every hour.
func knowledge() *Knowledge {
	d := &scenario.Day{Campaigns: []scenario.Campaign{{Bid: 10, Budget: 1000, EndMillis: scenario.DayMillis}}}
	for hour := range d.Forecast {
		d.Forecast[hour] = 1
	}
	return &Knowledge{
		Day: d, Unpaced: []float64{4000}, Auctions: []float64{100}, Multipliers: []float64{0.25}, Controller: controller.Defaults(),
	}
}

// at returns what the leader knows at a time when an amount was spent.
func at(millis, spent int64) *Seen {
	return &Seen{Millis: millis, Budget: []int64{1000}, Spent: []int64{spent}, Expected: []int64{spent}, Wins: []int64{0}, DelaySeconds: 60}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-6*max(1, math.Abs(want))) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

func TestPlan(t *testing.T) {
	forecast := [24]uint32{0: 1, 1: 3, 23: 4}
	p := newPlan(&forecast, 0)
	near(t, "after half an hour", p.at(scenario.Hour/2), 1./16)
	near(t, "after one and a half", p.at(3*scenario.Hour/2), 1./8+3./16)
	near(t, "at the end", p.at(scenario.DayMillis), 1)
	p = newPlan(&forecast, 2)
	near(t, "with an empty end", p.at(2*scenario.Hour), 1)
}

// The static policies write their words once.
func TestStatic(t *testing.T) {
	k := knowledge()
	for _, c := range []struct {
		kind             string
		pass, multiplier float64
	}{{"none", 1, 1}, {"static-throttle", 0.25, 1}, {"hindsight", 1, 0.25}} {
		words, p := []uint64{7}, Named(c.kind).New(k)
		p.Tick(at(0, 0), words)
		pass, multiplier := controller.Split(words[0])
		near(t, c.kind+": probability", pass, c.pass)
		near(t, c.kind+": factor", multiplier, c.multiplier)
		words[0] = 7
		p.Tick(at(1000, 0), words)
		if words[0] != 7 {
			t.Error(c.kind, "wrote another word")
		}
	}
}

// The pass-through rate starts at 10 % and changes by a tenth each minute, up while spend is not above the plan.
func TestPassThrough(t *testing.T) {
	words, p := []uint64{0}, newPassThrough(knowledge())
	want := 0.1
	for _, step := range []struct {
		millis, spent int64
		factor        float64
	}{
		{0, 0, 1.1},
		{1000, 500, 1},
		{60_000, 0, 1.1},
		{120_000, 500, 0.9},
		{11 * scenario.Hour, 500, 1.1}, // Half of the 22 hours of the plan.
		{11 * scenario.Hour, 501, 0.9},
	} {
		p.Tick(at(step.millis, step.spent), words)
		want *= step.factor
		pass, multiplier := controller.Split(words[0])
		near(t, "probability", pass, want)
		near(t, "factor", multiplier, 1)
	}
}

// The PID controller's first step is the sum of its three terms, and it never leaves its range.
func TestPID(t *testing.T) {
	words, p := []uint64{0}, newPID(knowledge(), shade, gains{2, 3, 0.5})
	p.Tick(at(12*scenario.Hour, 400), words) // 0.1 of the budget behind the plan.
	_, multiplier := controller.Split(words[0])
	const hours = 1. / 60
	near(t, "factor", multiplier, math.Min(1, 0.3*math.Exp(2*0.1+3*0.1*hours+0.5*0.1/hours)))
	p = newPID(knowledge(), shade, gains{2, 3, 0})
	p.Tick(at(12*scenario.Hour, 400), words)
	_, multiplier = controller.Split(words[0])
	near(t, "factor without the gradient", multiplier, 0.3*math.Exp(2*0.1+3*0.1*hours))
	for i := range int64(1000) {
		p.Tick(at(i*60_000, 1000), words)
	}
	_, multiplier = controller.Split(words[0])
	if multiplier < math.Exp(pidLeast)*0.999 || multiplier > 0.3 {
		t.Errorf("factor %g after a long time above the plan", multiplier)
	}
}

// The price of the budget rises after an auction that cost more than the target per auction, and falls after one that was lost.
func TestGradient(t *testing.T) {
	for name, p := range map[string]Policy{"sgd": newGradient(knowledge()), "mirror": newMirror(knowledge())} {
		words := []uint64{0}
		p.Tick(at(0, 0), words)
		_, start := controller.Split(words[0])
		near(t, name+": first factor", start, 0.3)
		observe := p.(Observer)
		_, won := controller.Split(observe.Observe(0, 20)) // The target is 10.
		if !(won < start) {
			t.Errorf("%s: the factor is %g after a dear win", name, won)
		}
		_, same := controller.Split(observe.Observe(0, 10))
		near(t, name+": factor after a win at the target", same, won)
		_, lost := controller.Split(observe.Observe(0, 0))
		if !(lost > won) {
			t.Errorf("%s: the factor is %g after a loss", name, lost)
		}
	}
	_, factor := controller.Split(newGradient(knowledge()).(Observer).Observe(0, 20))
	near(t, "additive step", factor, 1/(1/0.3+3./10)) // 3/sqrt(100) times the excess of one target.
}

// Smart Pacing raises layers from the best down and lowers them from the worst up, by just what is missing.
func TestLayers(t *testing.T) {
	pass, cost := [layerCount]float64{1, 0.5, 0.01}, [layerCount]float64{10, 20, 0}
	adjust(&pass, &cost, 40) // 10 more.
	near(t, "second layer", pass[1], 0.75)
	if pass[2] != 0.01 {
		t.Errorf("third layer %g", pass[2])
	}
	pass, cost = [layerCount]float64{1, 0.5}, [layerCount]float64{10, 20}
	adjust(&pass, &cost, 15) // 15 less.
	near(t, "second layer", pass[1], 0.125)
	near(t, "first layer", pass[0], 1)
	adjust(&pass, &cost, 0)
	near(t, "first layer, nothing wanted", pass[0], layerTrial)
}

// The layers are the octiles of the quality relative to the campaign's mean.
func TestLayerEdges(t *testing.T) {
	k := knowledge()
	for i := range 8000 {
		k.Day.Candidates = append(k.Day.Candidates, scenario.Candidate{Quality: uint32(i + 1)})
	}
	l := newLayers(k).(*layers)
	for quality, layer := range map[uint32]int{8000: 0, 7100: 0, 6900: 1, 4100: 3, 3900: 4, 10: 7} {
		if got := l.layer(&scenario.Candidate{Quality: quality}); got != layer {
			t.Errorf("quality %d is in layer %d, want %d", quality, got, layer)
		}
	}
}

// The simulator's controller is that of shard/pacing, with the traffic of the campaign's format; and its memory survives the
// loss of the leader.
func TestController(t *testing.T) {
	k := knowledge()
	p := newController(k).(*gavel)
	words := []uint64{0}
	s := at(0, 0)
	for second := range int64(7200) {
		s.Millis, s.Auctions = second*1000, [2]int64{second, 0}
		s.Expected[0], s.Spent[0], s.Wins[0] = second/40, second/50, second/40
		p.Tick(s, words)
	}
	_, slow := controller.Split(words[0])
	if !(slow < 0.29) || p.Holds()[0] <= 0 { // Twice the plan: 1000/86,400 a second.
		t.Errorf("factor %g, hold %d", slow, p.Holds()[0])
	}
	p.Restart()
	s.Millis += 1000
	p.Tick(s, words)
	if _, again := controller.Split(words[0]); math.Abs(again-slow) > 0.02*slow {
		t.Errorf("factor %g after a restart, %g before", again, slow)
	}
}
