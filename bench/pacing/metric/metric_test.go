package metric_test

import (
	"math"
	"testing"

	"github.com/gavel-ads/gavel/bench/pacing/metric"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	"github.com/gavel-ads/gavel/bench/pacing/virtual"
)

const minutes = 24 * 60

// fixture returns a day with one request a minute, a campaign with a budget of 1000 that would spend 2000, and one
// that would spend 1200 of 1000, which is not constrained; and an outcome in which the first spends 900 in equal parts
// in the first twelve hours, and 100 more clicks come for which nothing is billed.
func fixture() (*metric.Day, *virtual.Outcome) {
	day := &scenario.Day{Slots: 1}
	for i := range 2 {
		day.Campaigns = append(day.Campaigns, scenario.Campaign{Bid: 10, Budget: 1000})
		day.Offers = append(day.Offers, scenario.Offer{Campaign: int32(i), Bid: 10})
	}
	for minute := range minutes {
		day.Requests = append(day.Requests, scenario.Request{Millis: int64(minute) * 60_000})
	}
	o := &virtual.Outcome{
		Budget: []int64{1000, 1000}, Billed: []int64{900, 500}, Raw: []int64{1000, 500}, Clicks: []int64{100, 50},
		Charged: []int64{90, 50}, Value: []float64{3600, 400}, Wins: []int64{1, 1}, Minutes: minutes + 1, External: 100,
	}
	for range 2 {
		o.BilledAt = append(o.BilledAt, make([]int64, minutes+1))
		o.ExpectedIn = append(o.ExpectedIn, make([]float64, minutes))
		o.Multiplier = append(o.Multiplier, make([]float32, minutes+1))
		o.Pass = append(o.Pass, make([]float32, minutes+1))
	}
	for minute := range minutes + 1 {
		o.BilledAt[0][minute] = min(900, int64(minute)*900/720)
		o.Multiplier[0][minute] = float32(minute % 2)
		if minute < 720 {
			o.ExpectedIn[0][minute] = 1000. / 720
		}
	}
	unlimited := &virtual.Outcome{Billed: []int64{2000, 1200}}
	return metric.NewDay(day, unlimited, 2000), o
}

// Every metric against a value that was computed by hand.
func TestMetrics(t *testing.T) {
	d, o := fixture()
	want := map[string]float64{
		"utilisation":  0.9,
		"overDelivery": 100. * 100 / 1400,
		"overspend":    0,
		"early":        0,  // 900 is less than 95 % of 1000.
		"life":         24, // Never.
		"quickspend":   0,  // 90 % is reached at 12:00, not before.
		// At noon 0.9 is billed and half of the traffic is over.
		"ks":       0.4,
		"ksMedium": 0.4, // 1000/(10/2) = 200 clicks.
		// In each slot the plan is 1000/slots; half of the slots have twice that and half have nothing.
		"volatility":     minutes,
		"valuePerMoney":  4,
		"clicksPerMoney": 100 / (900. / 1e6),
		"ecpc":           9e-6,
		"welfare":        (1000. + 400 + 100) / 2000,
		"revenue":        1400. / 2000,
		"error15":        1,
		"error1":         1,
	}
	for _, m := range metric.All() {
		got := m.Value(d, o)
		expected, ok := want[m.Key]
		if !ok {
			if !math.IsNaN(got) {
				t.Errorf("%s is %g, want none", m.Key, got)
			}
			continue
		}
		if math.Abs(got-expected) > 1e-6*max(1, math.Abs(expected)) {
			t.Errorf("%s is %g, want %g", m.Key, got, expected)
		}
	}
	if len(d.Constrained) != 1 || d.Constrained[0] != 0 {
		t.Errorf("constrained: %v", d.Constrained)
	}
}

// A campaign that has spent everything by 10:00 is early, and lives ten hours.
func TestEarly(t *testing.T) {
	d, o := fixture()
	for minute := range o.BilledAt[0] {
		o.BilledAt[0][minute] = min(1000, int64(minute)*1000/600)
	}
	o.Billed[0], o.Billed[1] = 1100, 400 // 100 above the budget, which the ledger would not allow.
	for _, m := range metric.All() {
		switch m.Key {
		case "early", "quickspend":
			if got := m.Value(d, o); got != 100 {
				t.Errorf("%s is %g", m.Key, got)
			}
		case "life":
			if got := m.Value(d, o); got != 9.5 {
				t.Errorf("life is %g", got)
			}
		case "overspend":
			if got := m.Value(d, o); got != 100 {
				t.Errorf("overspend is %g", got)
			}
		}
	}
}

// The confidence intervals are those of Student's t, and differences are paired by seed.
func TestInterval(t *testing.T) {
	i := metric.Mean([]float64{1, 2, 3, 4, math.NaN()})
	// The deviation is sqrt(5/3), its error half of that, and the quantile of three degrees of freedom 3.182.
	if want := 3.182 * math.Sqrt(5./3/4); i.Mean != 2.5 || i.Count != 4 || math.Abs(i.Half-want) > 1e-12 {
		t.Errorf("%+v, want 2.5 plus or minus %g", i, want)
	}
	p := metric.Paired([]float64{1, 10, 100}, []float64{2, 11, 101})
	if p.Mean != 1 || p.Half != 0 || p.Count != 3 {
		t.Errorf("%+v", p)
	}
	if one := metric.Mean([]float64{7}); one.Mean != 7 || one.Half != 0 {
		t.Errorf("%+v", one)
	}
	if none := metric.Mean(nil); !math.IsNaN(none.Mean) || none.Count != 0 {
		t.Errorf("%+v", none)
	}
	many := make([]float64, 1001)
	many[0] = 1
	if i := metric.Mean(many); math.Abs(i.Half*math.Sqrt(1001)/math.Sqrt(1./1001)-1.962) > 0.002 {
		t.Errorf("the quantile of 1,000 degrees of freedom is %g", i.Half*math.Sqrt(1001)/math.Sqrt(1./1001))
	}
}

// Spend that is 1.5 times the plan for twenty minutes after an event and then as planned has recovered after twenty.
func TestRecovery(t *testing.T) {
	d, o := fixture()
	for minute := range minutes {
		o.ExpectedIn[0][minute] = 1000. / minutes
		o.BilledAt[0][minute] = int64(minute) * 1000 / minutes
		if minute >= 600 && minute < 620 {
			o.ExpectedIn[0][minute] *= 1.5
		}
	}
	r := d.RecoveryOf(o, []int64{10 * scenario.Hour})
	if got := r.Minutes(); got != 20 {
		t.Errorf("recovered after %g minutes", got)
	}
	if got := r.Worst(); math.Abs(got-1.5) > 0.02 {
		t.Errorf("worst %g", got)
	}
	if none := d.RecoveryOf(o, nil); !math.IsNaN(none.Worst()) || !math.IsNaN(none.Minutes()) {
		t.Error("no event has a recovery")
	}
}
