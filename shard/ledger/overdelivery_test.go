package ledger

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/money"
)

func TestOverdeliveryBound(t *testing.T) {
	for _, x := range []struct{ limit, price, rate, want money.Micros }{
		{0, 0, 0, 0},
		{1_000, 7, 0, 17},
		{1_000, 7, 20, 77},
		{money.MaxMicros, money.MaxMicros, 1, money.MaxMicros},
		{0, 0, money.MaxMicros, money.MaxMicros},
	} {
		if got := OverdeliveryBound(x.limit, x.price, x.rate); got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
	}
}

// What cannot be charged is counted in the period and in all periods, and never leaves the range of amounts.
func TestOverdeliver(t *testing.T) {
	var b Budget
	for _, x := range []struct{ amount, counted, total money.Micros }{
		{5, 5, 5}, {7, 7, 12}, {money.MaxMicros, money.MaxMicros - 12, money.MaxMicros}, {1, 0, money.MaxMicros},
	} {
		if got := b.Overdeliver(x.amount); got != x.counted || b.OverdeliveredTotal != x.total || b.Overdelivered != x.total {
			t.Errorf("%+v: counted %d, %+v", x, got, b)
		}
	}
	if b.Roll(1); b.Overdelivered != 0 || b.OverdeliveredTotal != money.MaxMicros {
		t.Errorf("in a new period: %+v", b)
	}
}
