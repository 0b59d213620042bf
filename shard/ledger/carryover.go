package ledger

import "github.com/gavel-ads/gavel/shard/money"

// Carryover is what a daily budget has left from earlier days of the same month, where the marketplace carries budgets
// over. It is zero for all other budgets.
//
// A day's limit is the Amount and, on top, what earlier days of the month left unspent, at most the Amount again. So a
// day never spends more than twice the Amount. A month never spends more than 30.4 times the Amount: it grants one
// Amount for each of its first 30 counted days and 0.4 for the 31st, and what is carried over was granted before.
type Carryover struct {
	Carried money.Micros // What this day may spend on top. Cap bounds it by the Amount, which may have been lowered.
	Saved   money.Micros // What the earlier days of the month left unspent, less what later ones spent on top.
	Days    uint8        // Counted days of the month with this one, from 1; 0: the budget is not carried over.
}

const (
	// daysInFull is the number of days of a month that grant the whole Amount. The day after them grants 0.4 of it.
	daysInFull = 30
	// daysMask holds the counted days in Month.
	daysMask = 31
)

// Month returns what a BudgetCarried line says of a month and the counted days in it. MonthDays is the reverse.
func (c Carryover) Month(month uint32) uint32 { return month<<5 | uint32(c.Days) }

// MonthDays returns the number of the month and the counted days of a BudgetCarried line.
func MonthDays(n uint32) (month uint32, days uint8) { return n >> 5, uint8(n & daysMask) }

// Carries reports whether the budget is carried over.
func (c Carryover) Carries() bool { return c.Days > 0 }

// Cap returns the most that may be charged in this period.
func (b *Budget) Cap() money.Micros { return b.granted() + min(b.Carried, b.Amount) }

// granted returns what this period adds to what may be charged.
func (b *Budget) granted() money.Micros {
	if b.Days > daysInFull {
		return b.Amount * 2 / 5 // MaxMicros bounds the product.
	}
	return b.Amount
}

// RollOver is Roll for a daily budget that is carried over. sameMonth says that the day which ends is in the month of
// the one that starts. Days between the two are not counted, because nothing could be spent on them. A budget that was
// not carried over before starts with nothing saved.
func (b *Budget) RollOver(day uint32, sameMonth bool) bool {
	next := Carryover{Days: 1}
	if sameMonth && b.Carries() {
		next.Saved = min(max(0, b.Saved+b.granted()-b.Spent), money.MaxMicros)
		next.Days = min(b.Days, daysInFull) + 1
	}
	next.Carried = min(next.Saved, b.Amount)
	if !b.Roll(day) {
		return false
	}
	b.Carryover = next
	return true
}
