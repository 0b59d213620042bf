package pacing

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/gavel-ads/gavel/bench/pacing/metric"
	"github.com/gavel-ads/gavel/bench/pacing/policy"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	"github.com/gavel-ads/gavel/bench/pacing/virtual"
)

func TestTune(t *testing.T) {
	if os.Getenv("TUNE") == "" {
		t.Skip()
	}
	o := &Options{Virtual: virtual.Config{Nodes: 4, LagMillis: 1000}, Day: func(seed uint64, number int) (*scenario.Day, error) {
		c := scenario.Default(seed, 400)
		c.Number = number
		return scenario.New(&c), nil
	}}
	sums := map[string]map[string][]float64{}
	var order []string
	for seed := uint64(101); seed <= 105; seed++ {
		o.Seeds = []uint64{seed}
		c := &comparison{options: o, results: make([]seedResult, 1)}
		p, err := c.prepare(context.Background(), seed)
		if err != nil {
			t.Fatal(err)
		}
		run := func(name, kind string) {
			cfg := o.Virtual
			out, err := virtual.Run(context.Background(), p.day, &cfg, p.rates, policy.Named(kind).New(p.knowledge))
			if err != nil {
				t.Fatal(err)
			}
			if sums[name] == nil {
				sums[name] = map[string][]float64{}
				order = append(order, name)
			}
			for _, m := range metric.All() {
				sums[name][m.Key] = append(sums[name][m.Key], m.Value(p.measures, out))
			}
		}
		for _, g := range tuned() {
			policy.PIDGains = g
			run(fmt.Sprint("pid-bid ", g), "pid-bid")
			run(fmt.Sprint("pid-thr ", g), "pid-throttle")
		}
		for _, s := range []float64{0.1, 0.3, 1, 3} {
			policy.GradientStep, policy.MirrorStep = s, s
			run(fmt.Sprint("sgd ", s), "sgd")
			run(fmt.Sprint("mirror ", s), "mirror-descent")
		}
	}
	for _, name := range order {
		fmt.Printf("%-22s", name)
		for _, key := range []string{"utilisation", "overDelivery", "early", "ks", "ks10", "ksLarge", "error15", "valuePerMoney"} {
			fmt.Printf(" %s %.4f", key, metric.Mean(sums[name][key]).Mean)
		}
		fmt.Println()
	}
}

func tuned() (all []policy.Gains) {
	for _, g := range [][3]float64{{5, 0, 0}, {5, 10, 0}, {20, 0, 0}, {20, 10, 0}, {20, 10, 0.5}, {60, 10, 0}, {60, 40, 0}} {
		all = append(all, policy.Gains{Proportional: g[0], Integral: g[1], Gradient: g[2]})
	}
	return all
}

func TestLook(t *testing.T) {
	if os.Getenv("LOOK") == "" {
		t.Skip()
	}
	o := &Options{Virtual: virtual.Config{Nodes: 4, LagMillis: 1000, Hold: true}, Day: func(seed uint64, number int) (*scenario.Day, error) {
		c := scenario.Default(seed, 400)
		c.Number = number
		return scenario.New(&c), nil
	}}
	c := &comparison{options: o, results: make([]seedResult, 1)}
	p, err := c.prepare(context.Background(), 101)
	if err != nil {
		t.Fatal(err)
	}
	out, err := virtual.Run(context.Background(), p.day, &o.Virtual, p.rates, policy.Named("gavel").New(p.knowledge))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range p.measures.Constrained {
		cp := &p.day.Campaigns[i]
		if u := float64(out.Billed[i]) / float64(out.Budget[i]); u < 0.98 {
			fmt.Printf("%3d banner %v bid %.2f clicks %.0f B %.2f util %.3f unl/B %.2f missing %.2f mult 12h %.3f 18h %.3f 22h %.3f 23.5h %.3f pass %.2f billed22h %.3f\n", i, cp.Banner, float64(cp.Bid)/1e6, cp.Clicks(), float64(cp.Budget)/1e6, u, float64(p.measures.Unlimited[i])/float64(out.Budget[i]), float64(out.Budget[i]-out.Billed[i])/1e6, out.Multiplier[i][720], out.Multiplier[i][1080], out.Multiplier[i][1320], out.Multiplier[i][1410], out.Pass[i][1410], float64(out.BilledAt[i][1320])/float64(out.Budget[i]))
		}
	}
}
