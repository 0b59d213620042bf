package pacing

import (
	"math/bits"

	"github.com/gavel-ads/gavel/shard/money"
)

// ReturnBid returns the bid for a click that meets a target return on ad spend if predictions hold: purchases of a
// click x value of a purchase / target, rounded down, at most ceiling (the campaign's own bid amount). purchaseRate is
// in units of 1/2^32, targetMilli in thousandths. Without a target (0) it is the ceiling. It uses integers only.
func ReturnBid(purchaseRate uint32, value, ceiling money.Micros, targetMilli uint32) money.Micros {
	if targetMilli == 0 || ceiling <= 0 {
		return max(ceiling, 0)
	}
	hi, lo := bits.Mul64(uint64(max(value, 0)), uint64(purchaseRate)*1000) // Below 2^62 x 2^42.
	hi, lo = hi>>32, hi<<32|lo>>32
	if hi >= uint64(targetMilli) {
		return ceiling
	}
	bid, _ := bits.Div64(hi, lo, uint64(targetMilli))
	return money.Micros(min(bid, uint64(ceiling)))
}
