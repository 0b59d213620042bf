package pacer

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// A decision is replicated when auctions would see a difference that matters.
func TestChangesThatMatter(t *testing.T) {
	half := pacing.Word(1, 0.5)
	for name, x := range map[string]struct {
		word    uint64
		hold    int64
		price   int64
		next    uint64
		newHold money.Micros
		matters bool
	}{
		"nothing":                    {half, 1000, 10, half, 1000, false},
		"half a percent":             {half, 1000, 10, pacing.Word(1, 0.5025), 1000, false},
		"two percent":                {half, 1000, 10, pacing.Word(1, 0.51), 1000, true},
		"two percent of the time":    {pacing.Word(0.5, 0.05), 0, 10, pacing.Word(0.49, 0.05), 0, true},
		"stops":                      {half, 1000, 10, pacing.Stopped, 1000, true},
		"starts again":               {pacing.Stopped, 1000, 10, half, 1000, true},
		"not paced any more":         {pacing.Word(1, 0.999), 1000, 10, pacing.Open, 1000, true},
		"4 % of the hold":            {half, 1000, 10, half, 1040, false},
		"6 % of the hold":            {half, 1000, 10, half, 1060, true},
		"less than an ad":            {half, 1000, 100, half, 1060, false},
		"the first ad":               {pacing.Open, 0, 100, pacing.Open, 101, true},
		"the hold is not needed now": {half, 1000, 10, half, 0, true},
	} {
		var b market.Balances
		b.Pacing.Store(x.word)
		b.Hold.Store(x.hold)
		c := controlled{settings: settings{balances: &b}, price: x.price, decision: pacing.Decision{Word: x.next, Hold: x.newHold}}
		if size := c.changeOf(); size > 0 != x.matters {
			t.Errorf("%s: %v", name, size)
		}
	}
}

// Memories are replicated in time, not all at once, and the largest changes first.
func TestMemoriesAreSpread(t *testing.T) {
	var b market.Balances
	due := map[int]int{}
	campaigns := make([]controlled, 300)
	for second := range 120 {
		for i := range campaigns {
			c := &campaigns[i]
			c.balances, c.moved = &b, true
			if at := int64(1_000_000+second) * 1000; c.due(uint32(i+1), at) {
				c.remembered = at
				due[second]++
			}
		}
	}
	total := 0
	for second, n := range due {
		if total += n; n > 15 {
			t.Errorf("%d memories in second %d", n, second)
		}
	}
	if total < 3*300 || total > 4*300 {
		t.Errorf("%d memories of 300 campaigns in 2 minutes", total)
	}
	var all []change
	for n := range uint32(changesMax + 10) {
		all = append(all, change{n + 1, float64(n)})
	}
	if got := largest(all); len(got) != changesMax || got[0].ordinal != 11 || got[changesMax-1].ordinal != changesMax+10 {
		t.Errorf("%d changes from campaign %d on", len(got), got[0].ordinal)
	}
}
