package campaign

import (
	"testing"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/money"
)

// TestBudgetIsRoundedOneWay: what is left is rounded down, and what is used is the rest.
func TestBudgetIsRoundedOneWay(t *testing.T) {
	for _, row := range []struct {
		budget, spent money.Micros
		left, used    int64
	}{
		{10_000_000, 0, 1000, 0},
		{10_000_000, 1, 999, 1},           // Something was used.
		{10_000_000, 4_000, 999, 1},       // Less than half a minor unit.
		{10_000_000, 9_999_999, 0, 1000},  // What is left cannot be shown.
		{10_000_000, 10_000_000, 0, 1000}, // All.
		{10_000_000, 12_345_678, 0, 1235}, // The budget was lowered.
	} {
		c := store.CampaignState{}
		c.Budget, c.Money.Amount, c.Money.Spent = row.budget, row.budget, row.spent
		if b := budgetOf(&c, 2); b.Amount != 1000 || b.AmountRemaining != row.left || b.AmountUsed != row.used {
			t.Errorf("%d of %d: %+v, want %d left and %d used", row.spent, row.budget, b, row.left, row.used)
		}
	}
}
