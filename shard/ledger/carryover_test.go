package ledger

import (
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/shard/money"
)

// TestDaysCarryOverWhatEarlierOnesLeft follows a budget of 100 a day over a few days.
func TestDaysCarryOverWhatEarlierOnesLeft(t *testing.T) {
	b := Budget{Amount: 100, Period: 1, Carryover: Carryover{Days: 1}}
	for _, day := range []struct {
		spent, limit money.Micros
		month        bool // The next day is in the same month.
		amount       money.Micros
		why          string
	}{
		{spent: 40, limit: 100, month: true, amount: 100, why: "nothing is left of earlier days on the first"},
		{spent: 100, limit: 160, month: true, amount: 100, why: "60 are left"},
		{spent: 150, limit: 160, month: true, amount: 100, why: "they are still left when only the day's own budget was spent"},
		{spent: 0, limit: 110, month: true, amount: 100, why: "50 of them were spent"},
		{spent: 0, limit: 200, month: true, amount: 100, why: "110 are left, at most 100 are carried over"},
		{spent: 0, limit: 200, month: true, amount: 100, why: "210 are left"},
		{spent: 200, limit: 200, month: true, amount: 100, why: "310 are left"},
		{spent: 200, limit: 200, month: true, amount: 50, why: "210 are left"},
		{spent: 20, limit: 100, month: true, amount: 50, why: "what is carried over is never more than the lowered budget"},
		{spent: 0, limit: 100, month: false, amount: 50, why: "more than 50 are left"},
		{spent: 0, limit: 50, month: true, amount: 50, why: "a month begins with nothing"},
	} {
		if got := b.Cap(); got != day.limit {
			t.Fatalf("day %d: the limit is %d, want %d: %s", b.Period, got, day.limit, day.why)
		}
		if left, ok := b.Left(); !ok || left != day.limit {
			t.Fatalf("day %d: %d are left", b.Period, left)
		}
		b.Spent = day.spent
		b.Amount = day.amount
		if !b.RollOver(b.Period+1, day.month) || b.RollOver(b.Period, true) || b.Spent != 0 {
			t.Fatalf("day %d did not begin once: %+v", b.Period, b)
		}
	}
	if b.Roll(b.Period + 1); b.Carries() || b.Cap() != b.Amount {
		t.Errorf("a budget that is not carried over any more: %+v", b)
	}
}

// TestMonthsAreBounded spends random amounts, often all there is, over months of 31 days: a day never spends more than
// twice the budget, a month never more than 30.4 times.
func TestMonthsAreBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	most := money.Micros(0)
	for month := range 2_000 {
		b := Budget{Amount: 1_000, Period: 1, Carryover: Carryover{Days: 1}}
		total, granted := money.Micros(0), money.Micros(0)
		for day := uint32(1); day <= 31; day++ {
			limit := b.Cap()
			if limit > 2*b.Amount {
				t.Fatalf("month %d, day %d: limit %d", month, day, limit)
			}
			if granted += 1_000; day == 31 {
				granted -= 600
			}
			b.Spent = limit
			if random.IntN(4) == 0 {
				b.Spent = money.Micros(random.Int64N(int64(limit) + 1))
			}
			if total += b.Spent; total > granted {
				t.Fatalf("month %d spent %d of %d until day %d", month, total, granted, day)
			}
			b.RollOver(day+1, true)
		}
		most = max(most, total)
	}
	if most != 30_400 {
		t.Errorf("no month spent 30.4 budgets, but %d", most)
	}
}
