package report

import (
	"math"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/market"
)

// Lift is how much more the first of two groups of users does than the second: those who see a campaign than those held out,
// or those whose auctions were changed than those compared with them.
type Lift struct {
	Percent *float64 `json:"percent" doc:"(first group / second group - 1) x 100, with two decimals. The first group are the users who see the campaign, or whose auctions were changed. Null when the second group has nothing."`
	From    *float64 `json:"from" doc:"Lower end of the 95 % confidence interval, in percent. Null when fewer than 30 users of a group have bought, or have what is compared."`
	To      *float64 `json:"to" doc:"Upper end of the 95 % confidence interval, in percent. Null when fewer than 30 users of a group have bought, or have what is compared."`
}

// buyersMin is how many buyers each group needs for an interval: with fewer, the logarithm of a mean is not close enough
// to a normal distribution.
const buyersMin = 30

// z is the quantile of the normal distribution for 95 % on both sides.
const z = 1.959963984540054

// liftOf compares two means per user. The interval is that of the logarithm of their ratio, whose variance is, by the
// delta method, the sum of the squared relative standard errors of the means: Katz et al. 1978 for shares of buyers, and
// Deng, Knoblich and Lu 2018 (Applying the Delta Method in Metric Analytics) for amounts. The groups are independent,
// because a user is in one of them, and users are the unit of the draw, so several purchases of one do not count as
// independent.
func liftOf(shown, held mean, enough bool) (l Lift) {
	if held.value <= 0 {
		return l
	}
	ratio := shown.value / held.value
	l.Percent = percentOf(ratio)
	if !enough || ratio <= 0 {
		return l
	}
	margin := z * math.Sqrt(shown.relativeVariance()+held.relativeVariance())
	l.From, l.To = percentOf(ratio*math.Exp(-margin)), percentOf(ratio*math.Exp(margin))
	return l
}

func percentOf(ratio float64) *float64 { return new(math.Round((ratio-1)*1e4) / 1e2) }

// mean is a mean over users and the variance of one user's value.
type mean struct {
	users    float64
	value    float64
	variance float64
}

// relativeVariance is the squared relative standard error of the mean. REQUIRES: the mean is positive.
func (m mean) relativeVariance() float64 { return m.variance / m.users / (m.value * m.value) }

// buyersMean is the share of users who bought.
func buyersMean(a *store.ArmSum) mean {
	if a.Users == 0 {
		return mean{}
	}
	share := float64(a.Buyers) / float64(a.Users)
	return mean{float64(a.Users), share, share * (1 - share)}
}

// amountMean is the amount per user.
func amountMean(a *store.ArmSum) mean {
	if a.Users < 2 {
		return mean{}
	}
	n := float64(a.Users)
	value := a.Amount / n
	return mean{n, value, max(0, a.Squares/n-value*value) * n / (n - 1)}
}

// The conclusions of a comparison.
const (
	noHoldout    = "The campaign has no holdout, so nothing can be compared. Set holdoutPercent of the campaign."
	tooFew       = "The sample is too small for a conclusion: each group needs at least 30 users who bought. Wait, choose more days, or raise holdoutPercent."
	notDifferent = "The difference can be chance: the 95 % confidence interval of the share of buyers contains 0."
	more         = "Users who see the campaign buy more often than those held out; chance explains so large a difference in fewer than 5 % of cases."
	fewer        = "Users who see the campaign buy less often than those held out; chance explains so large a difference in fewer than 5 % of cases."
)

// conclusionOf says in a sentence what a comparison shows.
func conclusionOf(x *store.Incrementality, buyers Lift) string {
	switch {
	case x.Percent == 0:
		return noHoldout
	case !enoughBuyers(x) || buyers.From == nil:
		return tooFew
	case *buyers.From > 0:
		return more
	case *buyers.To < 0:
		return fewer
	}
	return notDifferent
}

func enoughBuyers(x *store.Incrementality) bool {
	return min(x.Arms[market.Shown].Buyers, x.Arms[market.HeldOut].Buyers) >= buyersMin
}
