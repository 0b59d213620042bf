package pacing

import (
	"math"
	"testing"

	"github.com/gavel-ads/gavel/shard/money"
)

// A campaign whose full bids would spend ten times its budget spends it in proportion to the traffic, and nearly all of it.
func TestTickSpendsBudgetOverDay(t *testing.T) {
	const budget, day = 10_000_000, 24 * 3600 * 1000
	curve, params := Uniform(), Defaults()
	plan := Plan{Budget: budget, EndMillis: day, Mode: Even}
	var s State
	var served Served
	for now := int64(1000); now <= day; now += 1000 {
		d := s.Tick(now, &plan, served, curve, &params)
		pass, multiplier := Split(d.Word)
		cost := money.Micros(10.0 * budget / 86400 * pass * multiplier * multiplier)
		cost = min(cost, plan.Budget-plan.Spent)
		served = Served{Expected: cost, Wins: 1, Auctions: 20}
		plan.Spent += cost // Each win is clicked at once.

		if now%(6*3600*1000) == 0 && now < day {
			planned := float64(now) / day * budget
			if math.Abs(float64(plan.Spent)-planned) > 0.04*budget {
				t.Errorf("after %d h %v is billed, planned are %.0f", now/3_600_000, plan.Spent, planned)
			}
		}
	}
	if plan.Spent < 0.98*budget {
		t.Errorf("billed %v of %v", plan.Spent, money.Micros(budget))
	}
}
