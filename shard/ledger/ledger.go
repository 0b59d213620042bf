// Package ledger accounts for every micro-unit: wallets and ledger accounts, budgets per period, charges clipped to both,
// transfers, and the append-only, hash-chained journal of all of it.
package ledger

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// Wallet is a place for money: prepaid money of a vendor account, or, without a vendor, a ledger account of the marketplace,
// which no campaign spends and which gets its money by transfers alone.
//
// INVARIANT: Balance = Deposited + Transferred - Spent, and each of the three is the sum of its lines in the journal. What
// all accounts together hold is what was deposited less what was charged, and less what is on its way between two groups.
type Wallet struct {
	ID            ids.UUID
	Marketplace   uint16
	VendorID      string // Empty: a ledger account.
	Name          string
	Default       bool
	Balance       money.Micros
	Deposited     money.Micros // Sum of adjustments.
	Spent         money.Micros // Sum of charges.
	CreatedMillis int64
	Transferred   money.Micros // What came by transfers less what went.
	Currency      string       // Of a ledger account; empty: the marketplace's.
	Emptied       uint32       // How often the balance fell to zero or below while that stopped campaigns.
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
