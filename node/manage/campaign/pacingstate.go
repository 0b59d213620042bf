package campaign

import (
	"math"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// PacingState is what pacing does with the budget of a campaign, as the leader of its group replicated it last. Shares
// and means are of the current budget period. It is an extension of the interface.
type PacingState struct {
	Status            string  `json:"status" enum:"notPaced,onPlan,limitedByBudget,limitedByBid,limitedByWallet,limitedByReturn" doc:"notPaced: no budget, or one that is spent as soon as possible. onPlan: the budget is spent, and hardly more could be. limitedByBudget: a larger budget would be spent too. limitedByBid: the full bids spend less than the budget. limitedByWallet: the wallet is empty. limitedByReturn: purchases bring less than the target return, which lowers the bids more than the budget does."`
	SkippedShare      float64 `json:"skippedShare" doc:"The share of auctions that pacing left out."`
	MeanMultiplier    float64 `json:"meanMultiplier" doc:"The mean factor by which pacing lowered bids; 1: not at all."`
	LostValueEstimate int64   `json:"lostValueEstimate" doc:"Minor units. An estimate of what the clicks that pacing held back were worth by the campaign's own bids; 0 unless status is limitedByBudget."`
	SuggestedBudget   int64   `json:"suggestedBudget" doc:"Minor units. An estimate of the budget of a period with which pacing would hold nothing back, at most ten times the present one."`
}

// pacingStates are the statuses as the interface writes them.
var pacingStates = [pacing.Statuses]string{
	pacing.NotPaced: "notPaced", pacing.OnPlan: "onPlan", pacing.LimitedByBudget: "limitedByBudget", pacing.LimitedByBid: "limitedByBid",
	pacing.LimitedByWallet: "limitedByWallet", pacing.LimitedByReturn: "limitedByReturn",
}

// pacingStateOf returns nil for a campaign about which the controller has not decided anything yet.
func pacingStateOf(c *store.CampaignState, exponent uint8) *PacingState {
	x := c.Paced
	if x == nil || x.Status >= pacing.Statuses {
		return nil
	}
	d := pacing.Decision{Status: x.Status, Multiplier: pacing.Unshaded}
	if x.Memory.Counted > 0 { // Otherwise there was no auction to take means of.
		d.Skip, d.Multiplier = x.Memory.Skip, x.Memory.Multiplier
	}
	advice := pacing.Advise(c.Budget, c.Money.Spent, d)
	return &PacingState{
		Status:            pacingStates[x.Status],
		SkippedShare:      fraction(d.Skip, pacing.Always),
		MeanMultiplier:    fraction(d.Multiplier, pacing.Unshaded),
		LostValueEstimate: money.Minor(advice.LostValue, exponent), SuggestedBudget: money.Minor(advice.SuggestedBudget, exponent),
	}
}

// fraction returns n of so many with four decimals, which is more than an estimate is good for.
func fraction(n uint32, of float64) float64 { return math.Round(float64(n)/of*10_000) / 10_000 }
