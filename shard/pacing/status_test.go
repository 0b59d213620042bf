package pacing

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/money"
)

// The advice follows from the means: bids at half cost a quarter, and every second auction skipped is half of that.
func TestAdvise(t *testing.T) {
	const half = Unshaded / 2
	for _, test := range []struct {
		name          string
		budget, spent money.Micros
		d             Decision
		want          Advice
	}{
		{"half bids", 100e6, 100e6, Decision{Status: LimitedByBudget, Multiplier: half}, Advice{400e6, 300e6, 600e6}},
		{
			"half bids in half of the auctions", 100e6, 100e6,
			Decision{Status: LimitedByBudget, Multiplier: half, Skip: 1 << 31},
			Advice{800e6, 700e6, 1400e6},
		},
		{
			"no more than ten times", 100e6, 50e6,
			Decision{Status: LimitedByBudget, Multiplier: Unshaded / 20},
			Advice{1000e6, 450e6, 9000e6},
		},
		{"full bids", 100e6, 90e6, Decision{Status: LimitedByBid, Multiplier: Unshaded}, Advice{SuggestedBudget: 100e6}},
		{"nothing counted", 100e6, 0, Decision{Status: LimitedByBudget}, Advice{SuggestedBudget: 100e6}},
		{"an empty wallet", 100e6, 0, Decision{Status: LimitedByWallet, Multiplier: half}, Advice{SuggestedBudget: 100e6}},
		{"amounts out of range", -5, -5, Decision{Status: LimitedByBudget, Multiplier: half}, Advice{}},
	} {
		got := Advise(test.budget, test.spent, test.d)
		near := func(a, b money.Micros) bool { return max(a-b, b-a) <= 1+max(a, b)/1e6 }
		want := test.want
		if !near(got.SuggestedBudget, want.SuggestedBudget) || !near(got.LostSpend, want.LostSpend) ||
			!near(got.LostValue, want.LostValue) {
			t.Errorf("%s: %+v, want %+v", test.name, got, want)
		}
	}
}

// The suggested budget is what full bids would have spent.
func TestAdviceInAMarket(t *testing.T) {
	for _, demand := range []float64{2, 5} {
		p := Defaults()
		plan := Plan{Mode: Even, Budget: 1e9, EndMillis: dayMillis}
		var s State
		var d Decision
		served := Served{}
		for now := int64(0); now < dayMillis*3/4; now += 1000 {
			d = s.Tick(now, &plan, served, Uniform(), &p)
			pass, multiplier := Split(d.Word)
			cost := money.Micros(demand * 1e9 / 86400 * pass * multiplier * multiplier)
			served = Served{Expected: cost, Wins: 10, Auctions: 100}
			plan.Spent = min(plan.Spent+served.Expected, plan.Budget)
		}
		if d.Status != LimitedByBudget {
			t.Errorf("at %v times the budget the status is %v", demand, d.Status)
		}
		got := float64(Advise(plan.Budget, plan.Spent, d).SuggestedBudget)
		if want := demand * 1e9; got < 0.93*want || got > 1.07*want {
			t.Errorf("the suggested budget is %.0f, full bids would spend %.0f", got, want)
		}
	}
}

func TestStatuses(t *testing.T) {
	p := Defaults()
	base := Plan{Mode: Even, Budget: 1e9, EndMillis: dayMillis}
	for _, test := range []struct {
		name   string
		change func(*Plan, *State)
		want   Status
	}{
		{"new", func(*Plan, *State) {}, OnPlan},
		{"without budget", func(p *Plan, _ *State) { p.Mode = Unlimited }, NotPaced},
		{"fast", func(p *Plan, _ *State) { p.Mode = Fast }, NotPaced},
		{"fast and spent", func(p *Plan, _ *State) { p.Mode, p.Spent = Fast, 1e9 }, LimitedByBudget},
		{"spent", func(p *Plan, _ *State) { p.Spent = 2e9 }, LimitedByBudget},
		{"empty wallet", func(p *Plan, _ *State) { p.WalletEmpty = true }, LimitedByWallet},
		{"full bids", func(_ *Plan, s *State) { s.aggressiveness, s.counted, s.multiplier = 1, 1e6, 0.99 }, LimitedByBid},
		{"held by the return", func(p *Plan, s *State) { p.Ceiling, s.aggressiveness = Unshaded/2, 1 }, LimitedByReturn},
		{"held more by the budget", func(p *Plan, s *State) {
			p.Ceiling, s.aggressiveness, s.counted, s.multiplier = Unshaded/2, 0.3, 1e6, 0.3
		}, LimitedByBudget},
		{"a return that holds nothing back", func(p *Plan, s *State) { p.Ceiling, s.aggressiveness = Unshaded, 0.9 }, OnPlan},
		{"held by the return without budget", func(p *Plan, _ *State) { p.Mode, p.Ceiling = Unlimited, Unshaded/2 }, LimitedByReturn},
		{"half bids", func(_ *Plan, s *State) { s.counted, s.multiplier = 1e6, 0.5 }, LimitedByBudget},
		{"slightly less than full bids", func(_ *Plan, s *State) { s.counted, s.multiplier = 1e6, 0.9 }, OnPlan},
		{"every second auction", func(_ *Plan, s *State) { s.counted, s.multiplier, s.skip = 1e6, 1, 0.5 }, LimitedByBudget},
	} {
		plan := base
		var s State
		s.Tick(1000, &plan, Served{}, Uniform(), &p)
		test.change(&plan, &s)
		if d := s.Tick(2000, &plan, Served{}, Uniform(), &p); d.Status != test.want {
			t.Errorf("%s: %v, want %v", test.name, d.Status, test.want)
		}
	}
	for s := range Status(Statuses) {
		if s.String() == "unknown" || s.String() == "" {
			t.Errorf("status %d has no word", s)
		}
	}
	if Status(Statuses).String() != "unknown" {
		t.Error("an unknown status has a word")
	}
}
