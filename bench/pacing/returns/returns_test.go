package returns

import (
	"flag"
	"fmt"
	"math"
	"reflect"
	"testing"
)

var seeds = flag.Int("seeds", 0, "measure so many seeds of 400 campaigns, and print the table of bench/results")

// small is a run that takes a second.
func small(bids Bids) Config {
	c := Default()
	c.Campaigns, c.Categories, c.Requests, c.Days, c.Bids = 40, 3, 20_000, 20, bids
	return c
}

func TestRunDependsOnItsConfigurationOnly(t *testing.T) {
	c := small(Steered)
	c.Days = 4
	first, second := Run(&c), Run(&c)
	if !reflect.DeepEqual(first, second) {
		t.Error("two runs differ")
	}
	c.Seed++
	if reflect.DeepEqual(first, Run(&c)) {
		t.Error("another seed changes nothing")
	}
}

// Of the campaigns that sell something, more keep their target when they are steered than with full bids.
func TestSteeringKeepsTargets(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	full, steered := small(FullBids), small(Steered)
	full.Sure, steered.Sure = true, true
	before, after := Summarise(Run(&full), nil), Summarise(Run(&steered), nil)
	if before.Campaigns < 20 || after.Campaigns < 20 || after.Kept < before.Kept+0.1 {
		t.Errorf("with full bids %.2f of %d campaigns keep their target, steered %.2f of %d", before.Kept, before.Campaigns, after.Kept,
			after.Campaigns)
	}
}

func TestSummary(t *testing.T) {
	of := func(ratio, factor float64) Result {
		return Result{Clicks: 1, Spend: 1e6, Value: ratio * 4e6, target: 4, ceilings: factor, base: 1, ticks: 1}
	}
	all := []Result{of(0.5, 0.2), of(0.95, 0.5), of(1.2, 0.5), of(2, 1), {target: 4}}
	got := Summarise(all, nil)
	want := Summary{Campaigns: 4, Kept: 0.75, Within: 0.5, KeptValue: 4.15 / 4.65, WithinValue: 2.95 / 4.65, Return: 4.65 / 4, Value: 18.6}
	for _, x := range [][2]float64{
		{float64(got.Campaigns), float64(want.Campaigns)},
		{got.Kept, want.Kept},
		{got.Within, want.Within},
		{got.KeptValue, want.KeptValue},
		{got.WithinValue, want.WithinValue},
		{got.Return, want.Return},
		{got.Value, want.Value},
	} {
		if math.Abs(x[0]-x[1]) > 1e-9 {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
	if none := Summarise(nil, nil); none != (Summary{}) {
		t.Errorf("of no campaign: %+v", none)
	}
}

// TestMeasure prints the table of bench/results/2026-11-23-target-return.md with -seeds 3 -v.
func TestMeasure(t *testing.T) {
	if *seeds == 0 {
		t.Skip("measures only with -seeds")
	}
	sizes := []struct {
		name string
		most int
	}{{"all", math.MaxInt}, {"below 560 clicks", 560}, {"560 to 2,800", 2_800}, {"more", math.MaxInt}}
	for _, row := range []struct {
		bids Bids
		sure bool
	}{{Steered, false}, {LearnedBase, false}, {PriorBase, false}, {FullBids, false}, {Steered, true}} {
		var all []Result
		for seed := range *seeds {
			c := Default()
			c.Seed, c.Bids, c.Sure = uint64(seed+1), row.bids, row.sure
			all = append(all, Run(&c)...)
		}
		least := 0
		for i, size := range sizes {
			s := Summarise(all, func(r *Result) bool { return r.Clicks >= least && r.Clicks < size.most })
			if i > 0 {
				least = size.most
			}
			fmt.Printf("| %v | %v | %s | %d | %.3f | %.3f | %.3f | %.3f | %.3f | %.0f |\n", row.bids, row.sure, size.name, s.Campaigns, s.Kept, s.KeptValue,
				s.Within, s.WithinValue, s.Return, s.Value)
		}
	}
}
