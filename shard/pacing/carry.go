package pacing

import "github.com/gavel-ads/gavel/shard/money"

// CarryOver returns what a daily budget may spend today beyond itself, where the campaign carries unspent amounts over:
// what was left unspent on earlier days of the month, at most once the budget, and so much that the month's total stays
// within 30.4 budgets. unspent is the sum over the earlier days of budget less billed, billed what was billed on them.
// Amounts below 0 count as 0. It uses integers only.
func CarryOver(budget, unspent, billed money.Micros) money.Micros {
	budget, billed = max(budget, 0), max(billed, 0)
	month, ok := money.Mul(budget, 304)
	if !ok {
		month = money.MaxMicros
	}
	return max(min(unspent, budget, month/10-billed-budget), 0)
}
