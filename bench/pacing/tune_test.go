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
		for _, kp := range []float64{5, 20, 60} {
			for _, ki := range []float64{0, 10, 40} {
				for _, kd := range []float64{0, 0.5} {
					if kd > 0 && kp != 20 {
						continue
					}
					policy.PIDGains = policy.Gains{Proportional: kp, Integral: ki, Gradient: kd}
					run(fmt.Sprint("pid-bid ", kp, " ", ki, " ", kd), "pid-bid")
					run(fmt.Sprint("pid-thr ", kp, " ", ki, " ", kd), "pid-throttle")
				}
			}
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
