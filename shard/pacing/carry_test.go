package pacing

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/money"
)

func TestCarryOver(t *testing.T) {
	for _, test := range []struct {
		name                    string
		budget, unspent, billed money.Micros
		want                    money.Micros
	}{
		{"nothing was left", 100, 0, 500, 0},
		{"a part of a day", 100, 30, 470, 30},
		{"at most twice the budget in a day", 100, 250, 50, 100},
		{"at most 30.4 budgets in a month", 100, 80, 2_900, 40},
		{"a month of 31 days that spent everything", 100, 0, 3_000, 0},
		{"the month is used up", 100, 50, 3_040, 0},
		{"spent more than the budget", 100, -20, 500, 0},
		{"out of range", -1, 50, -1, 0},
		{"the largest budget", money.MaxMicros, money.MaxMicros, 0, 0},
	} {
		if got := CarryOver(test.budget, test.unspent, test.billed); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}
