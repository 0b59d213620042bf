package report

import (
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
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

// In 95 of 100 simulated experiments the interval of a ratio of sums contains the true lift, although the number of users in
// the groups is chance and is not known.
func TestIntervalsOfTotalsCoverTheTruth(t *testing.T) {
	const experiments, users = 2_000, 4_000
	random := rand.New(rand.NewPCG(3, 4))
	contained := 0
	for range experiments {
		var sums [2]store.UserSum
		for range users {
			arm := random.IntN(10) // A tenth of the users is treated, and a tenth compared.
			if arm > 1 || random.Float64() > 0.3 {
				continue
			}
			amount := 1_000 + random.ExpFloat64()*4_000
			if arm == 0 {
				amount *= 1.2
			}
			sums[arm].Users++
			sums[arm].Total += amount
			sums[arm].Squares += amount * amount
		}
		if l := liftOfTotals(sums[0], sums[1]); l.From != nil && *l.From <= 20 && 20 <= *l.To {
			contained++
		}
	}
	if share := float64(contained) / experiments; share < 0.935 || share > 0.965 {
		t.Errorf("%.3f of the intervals contain the lift, not 0.95", share)
	}
}

func TestConclusionsOfExperiments(t *testing.T) {
	sum := func(users int64, each float64) store.UserSum {
		return store.UserSum{Users: users, Total: float64(users) * each, Squares: float64(users) * each * each}
	}
	for want, x := range map[string][2]store.UserSum{
		tooFewBuyers: {sum(29, 100), sum(400, 100)}, canBeChance: {sum(105, 100), sum(100, 100)}, treatedMore: {sum(200, 100), sum(100, 100)},
		treatedLess: {sum(100, 100), sum(200, 100)},
	} {
		s := store.Experiment{Experiment: model.Experiment{Percent: 10}}
		s.Arms[market.HeldOut].Amount, s.Arms[market.Shown].Amount = x[0], x[1]
		r := experimentReportOf(&s, 2)
		if r.Conclusion != want || (r.AmountLift.From == nil) != (want == tooFewBuyers) || len(r.Groups) != 2 {
			t.Errorf("%v: %q, %+v", x, r.Conclusion, r.AmountLift)
		}
	}
	if r := experimentReportOf(&store.Experiment{}, 2); r.Conclusion != noExperiment || len(r.Groups) != 0 {
		t.Errorf("without an experiment: %+v", r)
	}
}
