package fsck

import "math/big"

// carry is what a line says of a daily budget that is carried over within a month; zero for other budgets.
type carry struct {
	month uint32
	days  uint32 // Counted days of the month with this one, from 1.
	saved int64  // What earlier days left.
	onTop int64  // What this day may spend on top of the budget.
}

// carriedBudget is a budget that a line has replaced.
type carriedBudget struct {
	amount, spent *big.Int
	day           uint32
	carry         carry
}

const daysOfMonth = 31

// limit is the most that a campaign may spend in the period: the budget, or 0.4 of it on the 31st counted day of a
// month, and what is carried over, at most the budget again.
func (c *campaign) limit() *big.Int {
	limit := new(big.Int).Set(c.budget)
	if c.carry.days >= daysOfMonth {
		limit.Div(limit.Mul(limit, big.NewInt(2)), big.NewInt(5))
	}
	onTop := big.NewInt(c.carry.onTop)
	if onTop.Cmp(c.budget) > 0 {
		onTop = c.budget
	}
	return limit.Add(limit, onTop)
}

// followCarried checks a line that says what a budget carries over. Earlier days of the month can have left at most
// what their budgets were less what was spent; a day without a line spent nothing.
func (b *groupCheck) followCarried(place string, l *line) {
	c := b.campaigns[l.campaign]
	if c == nil || c.budgetLine == 0 || c.budgetLine+1 != l.seq || l.key != c.id {
		b.problem(place, "carries over a budget of campaign %d that the line before it does not set", l.campaign)
		return
	}
	now := carry{l.bid >> 5, l.bid & 31, l.amount, l.price} // The number of the month times 32, and the days.
	most, days := new(big.Int), uint32(1)
	if x := &c.before; x.carry.days > 0 && x.carry.month == now.month {
		most.SetInt64(x.carry.saved)
		days = x.carry.days
		spent := x.spent
		for day := x.day; day < c.number && days <= daysOfMonth; day++ {
			most.Sub(most.Add(most, x.amount), spent)
			if most.Sign() < 0 {
				most.SetInt64(0)
			}
			spent = new(big.Int)
			days++
		}
	}
	if now.days < 1 || now.days > min(days, daysOfMonth) {
		b.problem(place, "counts %d days of a month of which %d can have begun", now.days, days)
	}
	if now.saved < 0 || big.NewInt(now.saved).Cmp(most) > 0 || now.onTop < 0 || now.onTop > now.saved {
		b.problem(place, "OVERSPEND: carries over %d of %d, earlier days of the month left at most %s",
			now.onTop, now.saved, most)
	}
	c.carry = now
}
