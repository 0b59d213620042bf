package pacing // float: the leader computes this; its results are replicated as integers.

import "github.com/gavel-ads/gavel/shard/money"

// Status says what bounds the spend of a campaign, for people.
type Status uint8

// The statuses. Their numbers are part of replicated records.
const (
	NotPaced        Status = iota // No budget, or one that is spent as fast as possible.
	OnPlan                        // The campaign spends its budget, and would not spend much more.
	LimitedByBudget               // The campaign would spend more if its budget were larger.
	LimitedByBid                  // The campaign competes with its full bids and still spends less than its budget.
	LimitedByWallet               // The wallet is empty.
	LimitedByReturn               // The target return lowers the bids more than the budget does.
	Statuses        = 6
)

// String returns the word of the interface.
func (s Status) String() string {
	names := [Statuses]string{"not-paced", "on-plan", "limited-by-budget", "limited-by-bid", "limited-by-wallet", "limited-by-return"}
	if s >= Statuses {
		return "unknown"
	}
	return names[s] //nolint:gosec // In range, by the comparison above.
}

// AdviceMax is the largest factor by which Advise extrapolates what was spent: beyond it the answer would be a guess.
const AdviceMax = 10

// Advice is what a larger budget would have brought, estimated from what pacing held back. It is meant for people.
type Advice struct {
	// SuggestedBudget is the budget of a period with which pacing would not have to hold back: budget x demand, where
	// demand is 1 / (multiplier^2 x (1 - skip)), at most AdviceMax, because spend grows with the square of the factor
	// of the bids.
	SuggestedBudget money.Micros
	// LostSpend is what the campaign could have spent beyond what it spent in this period: spent x (demand - 1).
	LostSpend money.Micros
	// LostValue estimates the worth of the lost clicks at the advertiser's own bids: LostSpend / mean multiplier,
	// because a click that was lost to shading is worth its full bid and would have cost about the paced share of it.
	LostValue money.Micros
}

// Advise returns the advice for a period in which spent was billed of budget under the means of a Decision. It is the
// budget and 0 for a campaign that is not limited by its budget.
func Advise(budget, spent money.Micros, d Decision) Advice {
	a := Advice{SuggestedBudget: max(budget, 0)}
	if d.Status != LimitedByBudget || d.Multiplier == 0 {
		return a
	}
	multiplier := float64(d.Multiplier) / Unshaded
	demand := 1 / (multiplier * multiplier * max(1-float64(d.Skip)/Always, 1e-9))
	demand = clamp(demand, 1, AdviceMax)
	lost := amount(spent) * (demand - 1)
	return Advice{
		SuggestedBudget: micros(amount(budget) * demand),
		LostSpend:       micros(lost), LostValue: micros(lost / multiplier),
	}
}
