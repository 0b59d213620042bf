package virtual_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/gavel-ads/gavel/bench/pacing/policy"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	"github.com/gavel-ads/gavel/bench/pacing/virtual"
	controller "github.com/gavel-ads/gavel/shard/pacing"
)

// small returns a day of a small market with much demand, so that most budgets are spent, and with edits.
func small(change func(c *scenario.Config)) (*scenario.Day, *policy.Knowledge, *virtual.Rates) {
	c := scenario.Default(11, 30)
	c.Requests, c.Categories, c.EditShare, c.BudgetClicks = 12_000, 4, 0.3, 8
	if change != nil {
		change(&c)
	}
	d := scenario.New(&c)
	k := &policy.Knowledge{
		Day: d, Controller: controller.Defaults(),
		Auctions: make([]float64, 30), Multipliers: make([]float64, 30), Unpaced: make([]float64, 30),
	}
	truth := make([]float64, 30)
	for i := range d.Campaigns {
		truth[i], k.Multipliers[i], k.Unpaced[i] = d.Campaigns[i].ClickRate, 0.5, 3*float64(d.Campaigns[i].Budget)
	}
	for i := range d.Candidates {
		k.Auctions[d.Candidates[i].Campaign]++
	}
	return d, k, virtual.NewRates(d, truth)
}

func run(t *testing.T, d *scenario.Day, c *virtual.Config, rates *virtual.Rates, p policy.Policy) *virtual.Outcome {
	t.Helper()
	o, err := virtual.Run(context.Background(), d, c, rates, p)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// faults are one of each kind.
var faults = []virtual.Fault{
	{Kind: virtual.Partition, Node: 1, From: 9 * scenario.Hour, Length: 60_000},
	{Kind: virtual.Kill, Node: 2, From: 13 * scenario.Hour, Length: 600_000},
	{Kind: virtual.LeaderLoss, From: 18 * scenario.Hour, Length: 5_000},
}

// No policy bills more than a budget, with or without the hold, on a bad network, with faults and edits. What is
// billed is a part of what the clicks cost.
func TestNothingIsBilledAboveABudget(t *testing.T) {
	d, k, rates := small(nil)
	kinds := policy.Kinds()
	if testing.Short() {
		kinds = []policy.Kind{policy.Named(policy.Controller), policy.Named(policy.None), policy.Named("sgd")}
	}
	for _, kind := range kinds {
		for _, hold := range []bool{false, true} {
			c := &virtual.Config{Nodes: 3, LagMillis: 2_500, Loss: 0.2, Skew: 1, Hold: hold, Faults: faults}
			o := run(t, d, c, rates, kind.New(k))
			billed, clipped := int64(0), false
			for i := range o.Billed {
				if o.Billed[i] > o.Budget[i] || o.Billed[i] > o.Raw[i] {
					t.Errorf("%s, hold %v: campaign %d is billed %d of %d, for clicks worth %d", kind.Name, hold, i, o.Billed[i], o.Budget[i], o.Raw[i])
				}
				billed += o.Billed[i]
				clipped = clipped || o.Raw[i] > o.Billed[i]
			}
			if billed == 0 {
				t.Errorf("%s, hold %v: nothing was billed", kind.Name, hold)
			}
			if kind.Name == policy.None && !hold && !clipped {
				t.Error("no click came too late for its budget, so the test shows nothing")
			}
		}
	}
}

// The hold reduces what cannot be billed, most where many clicks come late.
func TestHoldReducesOverDelivery(t *testing.T) {
	d, k, rates := small(func(c *scenario.Config) {
		c.DelayMean, c.DelaySlowMean, c.EditShare = 120_000, 1_800_000, 0
		c.Requests, c.ClickRate, c.BudgetClicks = 40_000, 0.1, 60
	})
	var over [2]int64
	for i, hold := range []bool{false, true} {
		o := run(t, d, &virtual.Config{Nodes: 3, LagMillis: 1000, Hold: hold}, rates, policy.Named(policy.None).New(k))
		for c := range o.Raw {
			over[i] += o.Raw[c] - o.Billed[c]
		}
	}
	if over[1]*5 > over[0]*4 {
		t.Errorf("%d with the hold, %d without", over[1], over[0])
	}
}

// Equal arguments give equal outcomes; another network gives another one.
func TestDeterminism(t *testing.T) {
	d, k, rates := small(nil)
	outcome := func(lag int64) *virtual.Outcome {
		c := &virtual.Config{Nodes: 3, LagMillis: lag, Loss: 0.1, Hold: true, Faults: faults}
		return run(t, d, c, rates, policy.Named(policy.Controller).New(k))
	}
	one := outcome(1000)
	if !reflect.DeepEqual(one, outcome(1000)) {
		t.Error("the same arguments give another outcome")
	}
	if reflect.DeepEqual(one, outcome(9000)) {
		t.Error("the lag changes nothing")
	}
}

// expected returns the expected cost of all wins in some minutes.
func expected(o *virtual.Outcome, from, to int) (sum float64) {
	for i := range o.ExpectedIn {
		for minute := from; minute < to; minute++ {
			sum += o.ExpectedIn[i][minute]
		}
	}
	return sum
}

// A node sells nothing while it is dead, and, after the three seconds in which it may rely on old balances, while it
// is cut off or there is no leader. Then it sells again.
func TestFaultsStopSales(t *testing.T) {
	d, k, rates := small(func(c *scenario.Config) { c.EditShare = 0 })
	for _, kind := range []virtual.FaultKind{virtual.Partition, virtual.Kill, virtual.LeaderLoss} {
		c := &virtual.Config{Nodes: 1, Unlimited: true, Faults: []virtual.Fault{{Kind: kind, From: 10 * scenario.Hour, Length: scenario.Hour}}}
		o := run(t, d, c, rates, policy.Named(policy.None).New(k))
		if sold := expected(o, 601, 660); sold != 0 {
			t.Errorf("fault %d: sold %g", kind, sold)
		}
		if expected(o, 540, 600) == 0 || expected(o, 661, 720) == 0 {
			t.Errorf("fault %d: nothing was sold before or after it", kind)
		}
		if kind != virtual.Kill {
			billed := [2]int64{}
			for i := range o.BilledAt {
				billed[0] += o.BilledAt[i][601]
				billed[1] += o.BilledAt[i][659]
			}
			if billed[0] != billed[1] {
				t.Errorf("fault %d: %d was billed", kind, billed[1]-billed[0])
			}
		}
	}
}

// Lost reports are repaired by later ones: in the end the spend is about the same.
func TestLossIsRepaired(t *testing.T) {
	d, k, rates := small(nil)
	var billed [2]float64
	for i, loss := range []float64{0, 0.5} {
		o := run(t, d, &virtual.Config{Nodes: 3, LagMillis: 1000, Loss: loss, Hold: true}, rates, policy.Named(policy.Controller).New(k))
		for _, b := range o.Billed {
			billed[i] += float64(b)
		}
	}
	if billed[0] == billed[1] || billed[1] < 0.97*billed[0] || billed[1] > 1.03*billed[0] {
		t.Errorf("billed %g without loss, %g with", billed[0], billed[1])
	}
}

func TestCancellation(t *testing.T) {
	d, k, rates := small(nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := virtual.Run(ctx, d, &virtual.Config{Nodes: 1}, rates, policy.Named(policy.None).New(k)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []virtual.Config{{}, {Nodes: 1, LagMillis: -1}, {Nodes: 1, Loss: 1}, {Nodes: 1000}} {
		if c.Validate() == nil {
			t.Errorf("%+v is valid", c)
		}
	}
	if c := (virtual.Config{Nodes: 4, LagMillis: 1000}); c.Validate() != nil {
		t.Error(c.Validate())
	}
}
