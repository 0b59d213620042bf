// Package ledger accounts for every micro-unit: wallets and ledger accounts, budgets per period, charges that are
// limited by both, transfers, and the append-only, hash-chained journal of all of these.
package ledger

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// Wallet is an account: a wallet of a vendor or, without a vendor, a ledger account of the marketplace. No campaign is
// charged to a ledger account, and it receives money by transfers only.
//
// INVARIANT: Balance = Deposited + Transferred - Spent, and each of the three is the sum of its lines in the journal.
// The sum of all balances is the sum of deposits less the charges and less the amounts in transit between two groups.
type Wallet struct {
	ID            ids.UUID
	Marketplace   uint16
	VendorID      string // Empty for a ledger account.
	Name          string
	Default       bool
	Balance       money.Micros
	Deposited     money.Micros // Sum of adjustments.
	Spent         money.Micros // Sum of charges less what was reversed of them.
	CreatedMillis int64
	Transferred   money.Micros // Sum of incoming transfers less the sum of outgoing ones.
	Currency      string       // Of a ledger account; empty: the currency of the marketplace.
	EmptiedCount  uint32       // How often the balance fell to zero or below and thereby stopped campaigns.
}

// Budget is the budget of one campaign and what was spent of it. INVARIANT: billed overspend is 0, that is, a charge
// never raises Spent above the Cap in force when it is applied. Lowering Amount below Spent stops charges and changes
// no past charge.
type Budget struct {
	Amount     money.Micros // Per period; 0: no budget, limited by the wallet only.
	Period     uint32       // Number of the current period (command.Periods); 0 for a total budget.
	Spent      money.Micros // In the current period.
	SpentTotal money.Micros // In all periods. INVARIANT: the sum of the campaign's charges in the journal less the reversals.
	// Overdelivered is what interactions would have cost that were not charged, or not in full, because budget or wallet
	// had nothing left: ads that were served for nothing (promise P7, over-delivery). It counts from command.LevelPacing on.
	Overdelivered      money.Micros // In the current period.
	OverdeliveredTotal money.Micros // In all periods.
	Carryover
	// FirstLine is the first line that the journal may have of the current period; 0 while it is not known, for periods
	// that began before command.LevelReturns.
	FirstLine uint64
}

// Left returns how much may still be charged in this period. ok is false when the campaign has no budget.
func (b *Budget) Left() (left money.Micros, ok bool) {
	if b.Amount == 0 {
		return 0, false
	}
	return max(0, b.Cap()-b.Spent), true
}
