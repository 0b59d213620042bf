package report

import (
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/market"
)

// The example of a ratio of shares: 200 of 1,000 against 100 of 1,000 is +100 %, by Katz's formula from 59.95 to 150.08.
func TestLiftOfShares(t *testing.T) {
	l := liftOf(buyersMean(&store.ArmSum{Users: 1_000, Buyers: 200}), buyersMean(&store.ArmSum{Users: 1_000, Buyers: 100}), true)
	if *l.Percent != 100 || *l.From != 59.95 || *l.To != 150.08 {
		t.Errorf("lift %v from %v to %v", *l.Percent, *l.From, *l.To)
	}
}

// In 95 of 100 simulated experiments the interval contains the true lift, for amounts as well as for shares.
func TestIntervalsCoverTheTruth(t *testing.T) {
	const experiments, users = 2_000, 1_000
	random := rand.New(rand.NewPCG(1, 2))
	arm := func(share float64) (a store.ArmSum) {
		for range users {
			a.Users++
			if random.Float64() < share {
				amount := 1_000 + random.ExpFloat64()*4_000
				a.Buyers++
				a.Amount += amount
				a.Squares += amount * amount
			}
		}
		return a
	}
	buyers, amounts := 0, 0
	for range experiments {
		shown, held := arm(0.12), arm(0.10) // A lift of 20 %.
		if l := liftOf(buyersMean(&shown), buyersMean(&held), true); *l.From <= 20 && 20 <= *l.To {
			buyers++
		}
		if l := liftOf(amountMean(&shown), amountMean(&held), true); *l.From <= 20 && 20 <= *l.To {
			amounts++
		}
	}
	for what, n := range map[string]int{"buyers": buyers, "amounts": amounts} {
		if share := float64(n) / experiments; share < 0.935 || share > 0.965 {
			t.Errorf("%.3f of the intervals of %s contain the lift, not 0.95", share, what)
		}
	}
}

func TestConclusions(t *testing.T) {
	for want, x := range map[string][2]int64{
		tooFew: {29, 400}, notDifferent: {105, 100}, more: {200, 100}, fewer: {100, 200},
	} {
		s := store.Incrementality{Percent: 10}
		s.Arms[market.Shown], s.Arms[market.HeldOut] = store.ArmSum{Users: 1_000, Buyers: x[0]}, store.ArmSum{Users: 1_000, Buyers: x[1]}
		a := incrementalityOf(&s, 2)
		if a.Conclusion != want || (a.BuyersLift.From == nil) != (want == tooFew) {
			t.Errorf("%v: %q, %+v", x, a.Conclusion, a.BuyersLift)
		}
	}
	if a := incrementalityOf(&store.Incrementality{}, 2); a.Conclusion != noHoldout || a.BuyersLift.Percent != nil {
		t.Errorf("without a holdout: %+v", a)
	}
}
