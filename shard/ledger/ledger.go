// Package ledger accounts for every micro-unit: wallets, budgets per period, charges clipped to both, and the
// append-only, hash-chained journal of charges.
package ledger

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// Wallet is prepaid money of one vendor account.
type Wallet struct {
	ID            ids.UUID
	Marketplace   uint16
	VendorID      string
	Name          string
	Default       bool
	Balance       money.Micros
	Deposited     money.Micros // Sum of adjustments. INVARIANT: Balance = Deposited - Spent.
	Spent         money.Micros // Sum of charges.
	CreatedMillis int64
}

// Budget is the spending of one campaign. INVARIANT: billed overspend is 0: a charge never lifts Spent above the amount
// that was in force when it was applied. Lowering the amount below Spent stops charging and changes no past charge.
type Budget struct {
	Amount     money.Micros // Per period; 0: no budget, limited by the wallet only.
	Period     uint32       // Number of the current period (command.Periods); 0 for a total budget.
	Spent      money.Micros // In the current period.
	SpentTotal money.Micros // Ever. INVARIANT: the sum of the campaign's journal lines.
}

// Left is what may still be charged in this period; ok is false when the campaign has no budget of its own.
func (b *Budget) Left() (left money.Micros, ok bool) {
	if b.Amount == 0 {
		return 0, false
	}
	return max(0, b.Amount-b.Spent), true
}
