package learn

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/shard/money"
)

// The rate is unbiased while purchases are still to come: with the delays of Chapelle (35 % within 20 minutes on average,
// 15 % within 8 hours, the rest within 6 days) it is within 7 % of the truth from the third day on, when without the
// correction it would be 40 % too low. On the first two days it is within 15 %.
func TestYoungClicksAreCorrected(t *testing.T) {
	const perDay, rate = 20_000, 0.05
	random := rand.New(rand.NewPCG(11, 12))
	bought := map[uint32]int{}
	var p Purchases
	prior := NewPrior(PriorPurchase)
	for day := uint32(1); day <= 40; day++ {
		p.Decay(day)
		for range perDay {
			p.Click(day)
			if random.Float64() >= rate {
				continue
			}
			mean := 6 * 24.0 // Hours.
			switch u := random.Float64(); {
			case u < 0.35:
				mean = 1.0 / 3
			case u < 0.5:
				mean = 8
			}
			bought[day+uint32((random.Float64()*24+random.ExpFloat64()*mean)/24)]++
		}
		for range bought[day] {
			p.Add(day, false, 1e6)
		}
		p.Settle()
		got := float64(p.Rate(&prior)) / (1 << 32)
		bound := 0.07
		if day < 3 {
			bound = 0.15
		}
		if math.Abs(got/rate-1) > bound {
			t.Errorf("day %d: the rate is %.4f, want %.4f", day, got, rate)
		}
	}
}

// What is new is not part of what is read until it is settled, at the latest when the day ends.
func TestWhatIsNewIsSettled(t *testing.T) {
	var p Purchases
	for range 3 {
		p.Click(5)
	}
	p.Add(5, false, 30)
	p.Add(5, true, 12)
	if p.Bought != (Bought{}) || p.New != (Bought{3 * One, One, 42}) {
		t.Fatalf("three clicks, a purchase and a further item of it are %+v", p)
	}
	settled := p
	settled.Settle()
	if settled.Bought != (Bought{3 * One / 2, One, 42}) || settled.Pending != 3*One/2 || settled.New != (Bought{}) {
		t.Errorf("settled they are %+v", settled)
	}
	settled.Decay(6)
	if p.Decay(6); p != settled {
		t.Errorf("a day later %+v, and %+v when it was settled before", p, settled)
	}
	if p.Decay(4); p != settled {
		t.Error("a day that has passed changed something")
	}
}

// Day by day gives the same as at once, and at last nothing is left.
func TestPurchasesDecayInSteps(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 5 {
		start := Purchases{Bought: Bought{random.Uint64N(1 << 40), random.Uint64N(1 << 40), random.Uint64N(ValueMax)}, Pending: random.Uint64N(1 << 40)}
		steps := start
		for day := uint32(0); day <= 1_500; day++ {
			once := start
			once.Decay(day)
			if steps.Decay(day); steps != once {
				t.Fatalf("day %d: %+v in steps, %+v at once", day, steps, once)
			}
		}
		if steps != (Purchases{Day: 1_500}) {
			t.Fatalf("after 1,500 days %+v is left", steps)
		}
	}
}

func TestWorth(t *testing.T) {
	for _, test := range []struct {
		name   string
		bought Bought
		price  money.Micros
		want   money.Micros
	}{
		{"nothing known", Bought{}, 0, 0},
		{"the price before anything was bought", Bought{}, 40e6, 40e6},
		{"two purchases of 100 weigh as much as the price", Bought{Purchases: 2 * One, Value: 200e6}, 40e6, 70e6},
		{"no price", Bought{Purchases: 2 * One, Value: 200e6}, 0, 100e6},
		{"a further item whose purchase is forgotten", Bought{Value: 5}, 0, 0},
		{"the largest numbers", Bought{Purchases: 1, Value: 1 << 62}, money.MaxMicros, money.MaxMicros},
		{"the largest price", Bought{}, money.MaxMicros, money.MaxMicros},
	} {
		if got := test.bought.Worth(test.price); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
	// A value that is not bounded by its type saturates.
	p := Purchases{New: Bought{Value: ValueMax}}
	if p.Add(0, true, money.MaxMicros); p.New.Value != ValueMax {
		t.Errorf("the value is %d", p.New.Value)
	}
	if p.Settle(); p.Value != ValueMax {
		t.Errorf("the settled value is %d", p.Value)
	}
}

func TestPurchaseRate(t *testing.T) {
	prior := NewPrior(PriorPurchase)
	var none Bought
	if none.Rate(&prior) != PriorPurchase {
		t.Error("without clicks it is not the prior")
	}
	some := Bought{Clicks: 1_000 * One, Purchases: 20 * One}
	if got, want := float64(some.Rate(&prior))/(1<<32), 22.7/1_027; math.Abs(got-want) > 1e-6 {
		t.Errorf("20 purchases of 1,000 clicks: %.6f, want %.6f", got, want)
	}
	many := Bought{Clicks: One, Purchases: 1_000 * One}
	if got := many.Rate(&prior); got != RateMax {
		t.Errorf("more purchases than clicks: %d", got)
	}
}
