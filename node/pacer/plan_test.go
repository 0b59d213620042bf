package pacer

import (
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

func at(zone *time.Location, text string) int64 {
	t, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
	if err != nil {
		panic(err)
	}
	return t.UnixMilli()
}

// planOf returns the plan of a campaign.
func planOf(c *calendar, s *settings, now int64) (p pacing.Plan) {
	c.fill(&p, s, now)
	return p
}

// Plans have the bounds of the local day, week and month, on days of 23 and 25 hours too, cut by the campaign's dates.
func TestPlansFollowTheCalendar(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for _, x := range []struct {
		now, start, end, from, to string
		period                    model.Period
		hours                     int
	}{
		{"2026-11-23 13:00", "", "", "2026-11-23 00:00", "2026-11-24 00:00", model.Daily, 24},
		{"2026-03-29 13:00", "", "", "2026-03-29 00:00", "2026-03-30 00:00", model.Daily, 23},
		{"2026-10-25 01:00", "", "", "2026-10-25 00:00", "2026-10-26 00:00", model.Daily, 25},
		{"2026-10-25 23:59", "", "", "2026-10-19 00:00", "2026-10-26 00:00", model.Weekly, 7*24 + 1},
		{"2026-12-31 23:59", "", "", "2026-12-01 00:00", "2027-01-01 00:00", model.Monthly, 31 * 24},
		{"2026-02-01 00:00", "", "", "2026-02-01 00:00", "2026-03-01 00:00", model.Monthly, 28 * 24},
		{"2026-11-23 13:00", "2026-11-23 06:00", "2026-11-23 18:00", "2026-11-23 06:00", "2026-11-23 18:00", model.Daily, 12},
	} {
		now := time.UnixMilli(at(berlin, x.now))
		var b market.Balances
		b.BudgetLeft.Store(70)
		b.WalletBalance.Store(1)
		s := settings{balances: &b, period: x.period, budget: 100, active: true}
		if x.start != "" {
			s.start, s.end = at(berlin, x.start), at(berlin, x.end)
		}
		c := newCalendar(cluster.PeriodsAt(1, now, berlin), berlin, now)
		p := planOf(&c, &s, now.UnixMilli())
		if p.StartMillis != at(berlin, x.from) || p.EndMillis != at(berlin, x.to) || p.EndMillis-p.StartMillis != int64(x.hours)*3_600_000 {
			t.Errorf("%s: from %s to %s", x.now, time.UnixMilli(p.StartMillis).In(berlin), time.UnixMilli(p.EndMillis).In(berlin))
		}
		if p.Mode != pacing.Even || p.Budget != 100 || p.Spent != 30 || p.Paused || p.WalletEmpty {
			t.Errorf("%s: %+v", x.now, p)
		}
		if (p.DayEndMillis == 0) != (x.period == model.Daily) {
			t.Errorf("%s: the day of %+v", x.now, p)
		}
	}
}

// A campaign is paused while anything but its money keeps it from competing.
func TestPlansArePaused(t *testing.T) {
	now := time.Date(2026, 11, 23, 13, 0, 0, 0, time.UTC) // A Monday.
	c := newCalendar(cluster.PeriodsAt(1, now, time.UTC), time.UTC, now)
	var b market.Balances
	schedule := make([]uint16, model.ScheduleHours)
	for i := range schedule {
		schedule[i] = model.ScheduleOne
	}
	rests := append([]uint16(nil), schedule...)
	rests[13] = 0
	for name, x := range map[string]struct {
		settings
		paused bool
	}{
		"active":           {settings{active: true}, false},
		"switched off":     {settings{}, true},
		"not yet":          {settings{active: true, start: now.UnixMilli() + 1}, true},
		"over":             {settings{active: true, end: now.UnixMilli()}, true},
		"in its schedule":  {settings{active: true, scheduled: hoursOf(schedule) != allHours, hours: hoursOf(schedule)}, false},
		"out of its hours": {settings{active: true, scheduled: true, hours: hoursOf(rests)}, true},
	} {
		x.balances = &b
		p := planOf(&c, &x.settings, now.UnixMilli())
		if p.Paused != x.paused || p.Mode != pacing.Unlimited || !p.WalletEmpty {
			t.Errorf("%s: %+v", name, p)
		}
	}
	total := settings{balances: &b, active: true, budget: 5, period: model.Total}
	if p := planOf(&c, &total, now.UnixMilli()); p.Mode != pacing.Fast || p.Spent != 5 {
		t.Errorf("a total budget: %+v", p)
	}
}

// A total budget is spread over the campaign's dates if it says so, and at most twice the share of a day in a day.
func TestEvenTotalsArePlanned(t *testing.T) {
	now := time.UnixMilli(at(time.UTC, "2026-11-23 13:00"))
	c := newCalendar(cluster.PeriodsAt(1, now, time.UTC), time.UTC, now)
	var b market.Balances
	b.BudgetLeft.Store(30)
	s := settings{balances: &b, active: true, budget: 100, period: model.Total, even: true, start: now.UnixMilli() - 5}
	if p := planOf(&c, &s, now.UnixMilli()); p.Mode != pacing.Fast {
		t.Errorf("without an end: %+v", p)
	}
	s.end = now.UnixMilli() + 5
	p := planOf(&c, &s, now.UnixMilli())
	if p.Mode != pacing.Even || p.Period != 0 || p.StartMillis != s.start || p.EndMillis != s.end || p.Spent != 70 || p.DayEndMillis != c.day.end {
		t.Errorf("%+v", p)
	}
}

// A leader that takes over in the middle of a day knows what the day may spend on top of its budget.
func TestCarryOverSurvivesALeader(t *testing.T) {
	now := time.UnixMilli(at(time.UTC, "2026-11-23 13:00"))
	c := newCalendar(cluster.PeriodsAt(1, now, time.UTC), time.UTC, now)
	var b market.Balances
	b.BudgetLeft.Store(40)
	for name, x := range map[string]struct {
		memory       pacing.Memory
		carry, spent money.Micros
	}{
		"of the same day":    {pacing.Memory{AtMillis: now.UnixMilli() - 1, Period: c.Day, Cap: 160}, 60, 120},
		"of the day before":  {pacing.Memory{AtMillis: now.UnixMilli() - 1, Period: c.Day - 1, Cap: 160}, 0, 60},
		"without any":        {pacing.Memory{AtMillis: now.UnixMilli() - 1, Period: c.Day, Cap: 100}, 0, 60},
		"of a larger budget": {pacing.Memory{AtMillis: now.UnixMilli() - 1, Period: c.Day, Cap: 500}, 100, 160},
	} {
		s := steered{memories: map[uint32]pacing.Memory{1: x.memory}}
		s.put(1, &settings{balances: &b, active: true, budget: 100})
		p := planOf(&c, &s.campaigns[0].settings, now.UnixMilli())
		if p.Carry != x.carry || p.Spent != x.spent {
			t.Errorf("a memory %s: carries %d over and has spent %d", name, p.Carry, p.Spent)
		}
	}
}

// What a day may spend on top of its budget is part of the plan, and what is left of both is exact.
func TestPlansCarryOver(t *testing.T) {
	now := time.UnixMilli(at(time.UTC, "2026-11-23 13:00"))
	c := newCalendar(cluster.PeriodsAt(1, now, time.UTC), time.UTC, now)
	var b market.Balances
	s := settings{balances: &b, active: true, budget: 100}
	for _, x := range []struct {
		day         uint32
		left, carry int64
	}{
		{1, 160, 60}, {1, 130, 60}, {1, 40, 60}, {2, 100, 0}, {2, 70, 0}, {3, 40, 0}, // The 31st day of a month adds 0.4.
		{4, 90, 0}, {4, 180, 80}, // A setting that came later than the day.
	} {
		c.Day = x.day
		b.BudgetLeft.Store(x.left)
		p := planOf(&c, &s, now.UnixMilli())
		if int64(p.Carry) != x.carry || int64(p.Budget+p.Carry-p.Spent) != x.left || p.Spent < 0 {
			t.Errorf("%+v: %+v", x, p)
		}
	}
}

// A tick that sees what is left of an edited budget before the new settings plans wrongly once, and not until midnight.
func TestPlanOfAnEdit(t *testing.T) {
	now := time.UnixMilli(at(time.UTC, "2026-11-23 13:00"))
	c := newCalendar(cluster.PeriodsAt(1, now, time.UTC), time.UTC, now)
	var b market.Balances
	s := settings{balances: &b, active: true, budget: 100}
	for i, x := range []struct{ budget, left, carry int64 }{
		{100, 100, 0}, {100, 60, 0}, {100, 160, 60}, {200, 160, 0}, {200, 150, 0}, // Raised by 100.
		{200, 140, 0}, {120, 60, 0}, // Lowered by 80.
	} {
		s.budget = money.Micros(x.budget)
		b.BudgetLeft.Store(x.left)
		if p := planOf(&c, &s, now.UnixMilli()); int64(p.Carry) != x.carry || int64(p.Budget+p.Carry-p.Spent) != x.left {
			t.Errorf("tick %d: %+v: %+v", i, x, p)
		}
	}
}
