package store

import (
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/attribution"
	"github.com/gavel-ads/gavel/shard/model"
)

// TouchDaysDefault is for how many UTC days, the current one included, a marketplace keeps touches that has set nothing.
const TouchDaysDefault = attribution.WindowDaysMax

// touchDaysSpare is how many of these days no window may use: the day of the purchase, and the next one, on which the
// purchase may still be decided.
const touchDaysSpare = 2

// TouchDays returns for how many UTC days, the current one included, a marketplace keeps touches.
func TouchDays(m *model.Marketplace) int {
	if m.TouchDays == 0 {
		return TouchDaysDefault
	}
	return int(m.TouchDays)
}

// LeastTouchDays returns for how many days touches have to be kept, so that the longest window of some rules is not cut.
func LeastTouchDays(name model.Attribution) int {
	rules := attribution.RulesOf(name)
	return rules.LongestDays() + touchDaysSpare
}

// touchDays returns the days whose touches may be credited with a purchase, first and last. They are days that no group
// drops before the day after the purchase, so that the answer is the same when the decision is made after midnight. kept
// is TouchDays.
func touchDays(p *shard.OpenPurchase, longestDays, kept int) (from, to uint32) {
	last := max(p.OccurredMillis, 0) / dayMillis
	first := max(last-int64(longestDays), p.Name.OpenedMillis/dayMillis-int64(kept-touchDaysSpare), 0)
	return uint32(first), uint32(last) // Days fit 32 bits.
}
