package campaign

import (
	"testing"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// TestPacingStates: the status in the words of the interface, the means of the period, and the advice that package
// pacing gives for them.
func TestPacingStates(t *testing.T) {
	of := func(status pacing.Status, m pacing.Memory) *command.Paced {
		return &command.Paced{Status: status, Memory: m}
	}
	half := pacing.Memory{Counted: 9, Skip: 1 << 31, Multiplier: 1 << 30}
	for name, x := range map[string]struct {
		paced *command.Paced
		want  PacingState
	}{
		"not paced":         {of(pacing.NotPaced, pacing.Memory{}), PacingState{"notPaced", 0, 1, 0, 1000}},
		"on plan":           {of(pacing.OnPlan, half), PacingState{"onPlan", 0.5, 0.5, 0, 1000}},
		"limited by budget": {of(pacing.LimitedByBudget, half), PacingState{"limitedByBudget", 0.5, 0.5, 2 * 7 * 200, 8000}},
		"at most ten times": {
			of(pacing.LimitedByBudget, pacing.Memory{Counted: 1, Multiplier: 1 << 29}),
			PacingState{"limitedByBudget", 0, 0.25, 4 * 9 * 200, 10_000},
		},
		"limited by bid":     {of(pacing.LimitedByBid, pacing.Memory{Counted: 1, Multiplier: 1 << 31}), PacingState{"limitedByBid", 0, 1, 0, 1000}},
		"limited by wallet":  {of(pacing.LimitedByWallet, half), PacingState{"limitedByWallet", 0.5, 0.5, 0, 1000}},
		"no auctions so far": {of(pacing.OnPlan, pacing.Memory{Skip: 5}), PacingState{"onPlan", 0, 1, 0, 1000}},
	} {
		c := store.CampaignState{
			Campaign: model.Campaign{Budget: 1000 * cent}, Money: ledger.Budget{Amount: 1000 * cent, Spent: 200 * cent}, Paced: x.paced,
		}
		if got := pacingStateOf(&c, 2); got == nil || *got != x.want {
			t.Errorf("%s: %+v, want %+v", name, got, x.want)
		}
	}
	if got := pacingStateOf(&store.CampaignState{}, 2); got != nil {
		t.Errorf("nothing was decided: %+v", got)
	}
}
