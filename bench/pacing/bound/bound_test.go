package bound_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/bench/pacing/bound"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
)

// tiny returns a market that is small enough to try every assignment.
func tiny(r *rand.Rand) *scenario.Day {
	d := &scenario.Day{Slots: 1 + r.IntN(2)}
	for i := range 3 {
		bid := 1_000_000 + r.Int64N(1_000_000)
		d.Campaigns = append(d.Campaigns, scenario.Campaign{Bid: bid, Budget: 100_000 + r.Int64N(900_000), EndMillis: scenario.DayMillis})
		d.Offers = append(d.Offers, scenario.Offer{Campaign: int32(i), Bid: bid})
	}
	for request := range 4 {
		d.Requests = append(d.Requests, scenario.Request{Millis: int64(request), First: uint32(len(d.Candidates))})
		for i := range d.Campaigns {
			if r.IntN(4) > 0 {
				d.Candidates = append(d.Candidates, scenario.Candidate{Campaign: int32(i), Offer: int32(i), Click: 0.1 + 0.4*r.Float32()})
			}
		}
		if r.IntN(4) == 0 {
			d.External = append(d.External, scenario.External{Request: int32(request), Bid: 1_500_000, Click: 0.2})
		}
	}
	return d
}

// best tries every assignment of the requests from one on and returns the best liquid welfare.
func best(d *scenario.Day, request int, values []float64, external float64) float64 {
	if request == len(d.Requests) {
		for i, v := range values {
			external += min(v, float64(d.Campaigns[i].Budget))
		}
		return external
	}
	most := 0.
	var fill func(slot int, used map[int32]bool, external float64)
	fill = func(slot int, used map[int32]bool, external float64) {
		if slot == d.Slots {
			most = max(most, best(d, request+1, values, external))
			return
		}
		fill(slot+1, used, external) // An empty slot.
		for _, c := range d.Of(request) {
			if used[c.Campaign] {
				continue
			}
			value := d.Value(&c, scenario.Visibility(slot))
			values[c.Campaign] += value
			used[c.Campaign] = true
			fill(slot+1, used, external)
			delete(used, c.Campaign)
			values[c.Campaign] -= value
		}
		for i, x := range d.External {
			if key := int32(-1 - i); x.Request == int32(request) && !used[key] {
				used[key] = true
				fill(slot+1, used, external+float64(x.Bid)*float64(x.Click)*scenario.Visibility(slot))
				delete(used, key)
			}
		}
	}
	fill(0, map[int32]bool{}, external)
	return most
}

// The bound is above the best assignment of tiny markets, which brute force finds, and more steps do not loosen it.
func TestBoundIsAboveEveryAssignment(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	ratio := 0.
	const markets = 60
	for range markets {
		d := tiny(r)
		optimum := best(d, 0, make([]float64, len(d.Campaigns)), 0)
		limit, err := bound.LiquidWelfare(context.Background(), d, bound.Steps)
		if err != nil {
			t.Fatal(err)
		}
		if limit < optimum*(1-1e-9) {
			t.Errorf("the bound %g is below the optimum %g", limit, optimum)
		}
		if few, _ := bound.LiquidWelfare(context.Background(), d, 3); few < limit-1e-6 {
			t.Errorf("3 steps give %g, all %g", few, limit)
		}
		ratio += optimum / limit / markets
	}
	if ratio < 0.9 { // It would be 1 if impressions could be divided.
		t.Errorf("on average the optimum is only %.3f of the bound", ratio)
	}
}

func TestCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := bound.LiquidWelfare(ctx, tiny(rand.New(rand.NewPCG(1, 2))), 10); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
