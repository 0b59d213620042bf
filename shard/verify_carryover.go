package shard

import (
	"fmt"

	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

// carryChecks is what verifier remembers to check what budgets carry over.
type carryChecks struct {
	replaced ledger.Budget     // The budget that the last BudgetInForce line replaced.
	after    uint64            // The number of that line.
	months   map[uint32]uint32 // By campaign: the month of its last BudgetCarried line.
}

const daysOfMonthMax = 31

// verifyCarried checks what a budget carries over: at most what the days of the month before it have left, all that
// was spent on top subtracted. A day with nothing spent may have no line, so each day between two lines counts as one
// that left its whole amount. The bound is exact for the days that spent something.
func (a *verifier) verifyCarried(l *ledger.Line) error {
	b := a.budgets[l.Campaign]
	if a.carries.after+1 != l.Seq {
		return fmt.Errorf("line %d carries over a budget that the line before it does not say", l.Seq)
	}
	month, days := ledger.MonthDays(l.Bid)
	before, most, begun := a.carries.replaced, money.Micros(0), uint8(1)
	if known, found := a.carries.months[l.Campaign]; found && known == month && before.Carries() {
		most, begun = before.Saved, before.Days
		for day := before.Period; day < b.Period && begun <= daysOfMonthMax; day++ {
			most = min(money.MaxMicros, max(0, most+before.Amount-before.Spent))
			before.Spent = 0 // On the days between.
			begun++
		}
	}
	switch {
	case days < 1 || days > min(begun, daysOfMonthMax):
		return fmt.Errorf("line %d counts %d days of the month, at most %d have begun", l.Seq, days, begun)
	case l.Amount < 0 || l.Amount > most:
		return fmt.Errorf("line %d: earlier days left %d of the budget, at most %d can be left", l.Seq, l.Amount, most)
	case l.Price < 0 || l.Price > l.Amount:
		return fmt.Errorf("line %d carries over %d of %d that earlier days left", l.Seq, l.Price, l.Amount)
	}
	b.Carryover = ledger.Carryover{Carried: l.Price, Saved: l.Amount, Days: days}
	a.budgets[l.Campaign] = b
	a.carries.months[l.Campaign] = month
	return nil
}
