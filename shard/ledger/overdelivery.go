package ledger

import "github.com/gavel-ads/gavel/shard/money"

// The constants of promise P7, over-delivery.
const (
	// overdeliveryPart of a budget may be open ads that were expected to cost less than they do.
	overdeliveryPart = 100
	// overdeliverySeconds is how long a node may win without knowing what the others won: then its balances are stale.
	overdeliverySeconds = 3
)

// OverdeliveryBound returns the most that a campaign may deliver in one budget period without being paid (promise P7):
// 1 % of its budget, one price, and what it wins in the 3 s until a node that is cut off stops, by its win rate in micros
// per second. Without a budget there is only the wallet to exceed, so the limit takes the place of the budget: what the
// wallet had at the beginning of the period. All arguments are at least 0.
func OverdeliveryBound(limit, price, winsPerSecond money.Micros) money.Micros {
	wins, ok := money.Mul(winsPerSecond, overdeliverySeconds)
	if !ok {
		return money.MaxMicros
	}
	for _, part := range [...]money.Micros{limit / overdeliveryPart, price} {
		if wins, ok = money.Add(wins, part); !ok {
			return money.MaxMicros
		}
	}
	return wins
}
