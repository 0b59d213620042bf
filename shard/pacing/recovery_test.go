package pacing

import (
	"math"
	"testing"

	"github.com/gavel-ads/gavel/shard/money"
)

const noon = dayMillis / 2

// recovery runs a campaign without chance under the traffic of a curve that it expects to be uniform, changes something at
// noon, and returns after how many seconds the spend of an auction stays within 10 % of what is free over the time that
// remains.
func recovery(wins float64, traffic func(now int64) float64, change func(plan *Plan, demand *float64, s *State)) (seconds int64) {
	p := Defaults()
	w := UniformWeights()
	w.Level = 1000 * 3600 << 8
	curve := NewCurve(&w, UTC, nil, 0, dayMillis)
	plan := Plan{Mode: Even, Budget: 1e10, EndMillis: dayMillis}
	var s State
	var served Served
	demand, won := 6.0, 0.0 // Full bids would spend six budgets; wins are those of each second at the planned pace.
	for now := int64(0); now < noon+6*hourMillis; now += 1000 {
		if now == noon {
			change(&plan, &demand, &s)
		}
		d := s.Tick(now, &plan, served, curve, &p)
		pass, multiplier := Split(d.Word)
		rate := demand * 1e10 / 86400 * traffic(now) * pass * multiplier * multiplier
		won += wins * rate / (1e10 / 86400)
		whole := math.Floor(won)
		won -= whole
		served = Served{Expected: money.Micros(rate), Wins: uint64(whole), Auctions: uint64(1000 * traffic(now))}
		plan.Spent += served.Expected
		free := float64(plan.Budget-plan.Spent) - float64(d.Hold)
		planned := free / ((1-p.FastFinish)*86400 - float64(now)/1000) * traffic(now)
		if now >= noon && math.Abs(rate/planned-1) > 0.1 {
			seconds = (now-noon)/1000 + 1
		}
	}
	return seconds
}

// After a change a campaign is back within 10 % of its plan in about three loop times: three minutes for one that wins
// often, hours for one with ten wins an hour, which needs them to see that anything changed. An edit of the budget acts
// at once.
func TestRecovery(t *testing.T) {
	double := func(plan *Plan, _ *float64, _ *State) { plan.Budget *= 2 }
	halve := func(plan *Plan, _ *float64, _ *State) { plan.Budget = plan.Spent + (plan.Budget-plan.Spent)/2 }
	bid := func(_ *Plan, demand *float64, _ *State) { *demand *= 4 }
	rivals := func(_ *Plan, demand *float64, _ *State) { *demand /= 4 }
	lost := func(_ *Plan, _ *float64, s *State) { *s = State{} }
	leader := func(_ *Plan, _ *float64, s *State) { *s = Restore(s.Memory()) }
	for _, test := range []struct {
		name   string
		wins   float64 // A second, on plan.
		change func(*Plan, *float64, *State)
		within int64 // Seconds.
	}{
		{"a doubled budget", 1, double, 10},
		{"half of what is left", 1, halve, 10},
		{"a doubled bid", 1, bid, 240},
		{"rivals that bid twice as much", 1, rivals, 300},
		{"a leader without memory", 1, lost, 900},
		{"a new leader", 1, leader, 0},
		{"half of what is left, ten wins an hour", 10.0 / 3600, halve, 60},
		{"a doubled bid, ten wins an hour", 10.0 / 3600, bid, 4 * 3600},
		{"rivals that bid twice as much, ten wins an hour", 10.0 / 3600, rivals, 5 * 3600},
	} {
		seconds := recovery(test.wins, func(int64) float64 { return 1 }, test.change)
		t.Logf("%s: %d s", test.name, seconds)
		if seconds > test.within {
			t.Errorf("%s: back within 10 %% of the plan after %d s, want %d", test.name, seconds, test.within)
		}
	}
}

// After an hour of five times the traffic, that ends at noon, a campaign goes on as planned for what is left.
func TestRecoveryAfterASurge(t *testing.T) {
	surge := func(now int64) float64 {
		if now >= noon-hourMillis && now < noon {
			return 5
		}
		return 1
	}
	seconds := recovery(1, surge, func(*Plan, *float64, *State) {})
	t.Logf("back within 10 %% of the plan %d s after the surge", seconds)
	if seconds > 900 {
		t.Errorf("back within 10 %% of the plan %d s after the surge, want 900", seconds)
	}
}

// An even budget of 20 minutes follows its plan as one of a day does: its controller forgets traffic and makes up distances in
// proportion to its time. Nothing is known of the traffic, which is five times as much after 8 minutes.
func TestEvenBudgetOfAShortTime(t *testing.T) {
	const minutes = 60_000
	p := Defaults()
	plan := Plan{Mode: Even, Budget: 1e10, EndMillis: 20 * minutes}
	var s State
	var served Served
	furthest := 0.0
	for now := int64(0); now < plan.EndMillis; now += 1000 {
		traffic := 1.0
		if now >= 8*minutes {
			traffic = 5
		}
		d := s.Tick(now, &plan, served, Uniform(), &p)
		pass, multiplier := Split(d.Word)
		rate := 3 * 1e10 / 1200 * traffic * pass * multiplier * multiplier // Full bids would spend three budgets without the change.
		served = Served{Expected: money.Micros(rate), Wins: 10, Auctions: uint64(1000 * traffic)}
		plan.Spent += served.Expected
		furthest = max(furthest, math.Abs(float64(plan.Spent)/1e10-float64(now+1000)/float64(plan.EndMillis)))
	}
	t.Logf("at most %.3f of the budget from the plan; %.3f spent", furthest, float64(plan.Spent)/1e10)
	if furthest > 0.09 || plan.Spent < 0.95*1e10 || plan.Spent > plan.Budget {
		t.Errorf("%.3f of the budget from the plan, want 0.09; spent %v of %v", furthest, plan.Spent, plan.Budget)
	}
}
