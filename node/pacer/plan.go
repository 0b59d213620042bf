package pacer

import (
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// calendar has the bounds of a marketplace's current budget periods. They follow from the numbers that the state machine
// counts by, not from the clock: at midnight a leader may tick before the command that begins the new day.
type calendar struct {
	command.Periods
	zone             *time.Location
	day, week, month span
	hour             int // The local hour of the week, from Monday 0:00.
}

// span is a time from start to end in Unix milliseconds.
type span struct{ start, end int64 }

func newCalendar(p command.Periods, zone *time.Location, now time.Time) calendar {
	c := calendar{Periods: p, zone: zone}
	zoneOf := offsets(zone)
	noon := func(day uint32) int64 { // A moment of a local day in every zone and on days of 23 and 25 hours.
		return time.Date(1970, 1, 1+int(day), 12, 0, 0, 0, zone).UnixMilli()
	}
	of := func(s pacing.Span, millis int64) span {
		start, end := pacing.Bounds(s, zoneOf, millis)
		return span{start, end}
	}
	c.day = of(pacing.Day, noon(p.Day))
	c.week = of(pacing.Week, noon(p.Week*7-3)) // The Monday of the week; see command.Periods.
	year, month := (p.Month-1)/12, (p.Month-1)%12+1
	c.month = of(pacing.Month, time.Date(int(year), time.Month(month), 2, 12, 0, 0, 0, zone).UnixMilli())
	local := now.In(zone)
	c.hour = (int(local.Weekday())+6)%7*24 + local.Hour()
	return c
}

// offsets returns the offsets of a zone from UTC.
func offsets(zone *time.Location) pacing.Zone {
	return func(utcSeconds int64) int64 {
		_, seconds := time.Unix(utcSeconds, 0).In(zone).Zone()
		return int64(seconds)
	}
}

// fill sets an empty plan to the current budget period of a campaign, cut by its own start and end. It fills instead of
// returning, because a copy of a plan that was just written costs as much as a tenth of a tick.
func (c *calendar) fill(p *pacing.Plan, s *settings, now int64) {
	p.WalletEmpty = s.balances.WalletBalance.Load() <= 0
	p.Paused = !s.active || now < s.start || s.end != 0 && now >= s.end || s.rests(c.hour)
	if s.budget == 0 {
		return // Mode is pacing.Unlimited.
	}
	left := money.Micros(s.balances.BudgetLeft.Load())
	p.Budget = s.budget
	p.Carry = s.carry.of(s, c.Day, left)
	p.Spent = max(0, s.budget+p.Carry-left)
	var of span
	switch s.period {
	case model.Daily:
		p.Mode, p.Period, of = pacing.Even, c.Day, c.day
	case model.Weekly:
		p.Mode, p.Period, of = pacing.Even, c.Week, c.week
	case model.Monthly:
		p.Mode, p.Period, of = pacing.Even, c.Month, c.month
	default:
		if !s.even || s.end == 0 {
			p.Mode = pacing.Fast
			return
		}
		p.Mode, of = pacing.Even, span{s.start, s.end}
	}
	p.StartMillis, p.EndMillis = max(of.start, s.start), of.end
	if s.end != 0 {
		p.EndMillis = min(p.EndMillis, s.end)
	}
	if s.period != model.Daily {
		p.DayStartMillis, p.DayEndMillis = c.day.start, c.day.end
	}
}

// carry is what a daily budget has on top of its amount, because earlier days left it (ledger.Carryover). Auctions, and
// so this package, know only what is left of both together: what exceeds the amount when a day begins is carried over.
// A leader that takes over later finds it in the memory of the controller.
//
// What is left and the settings come on two ways: a tick may see what is left of an edited budget with the settings from before
// the edit, and take the difference for a carry-over. So the tick after the one that took an amount takes it again when the
// budget is another one. The other way round cannot be: the state machine shows what is left first.
type carry struct {
	day    uint32
	amount money.Micros
	taken  money.Micros // The budget with which the amount was taken, until the next tick; then 0.
}

// carryOf returns what a campaign carried over when a memory was taken. When the budget was edited since, a part of it
// counts as spent, or of what was spent as left; the sum stays exact.
func carryOf(m pacing.Memory, s *settings) carry {
	if s.period != model.Daily {
		return carry{}
	}
	return carry{day: m.Period, amount: min(max(0, m.Cap-s.budget), s.budget)}
}

// of returns what a daily budget of which so much is left carries over to a day.
func (x *carry) of(s *settings, day uint32, left money.Micros) money.Micros {
	edited := x.taken != 0 && x.taken != s.budget
	switch {
	case s.period != model.Daily:
		*x = carry{}
	case edited || x.day != day || left > s.budget+x.amount:
		*x = carry{day, max(0, left-s.budget), s.budget}
	default:
		x.taken = 0
	}
	return x.amount
}

// rests reports whether the campaign's schedule has no bids in an hour of the week.
func (s *settings) rests(hour int) bool { return s.scheduled && !s.hours.has(hour) }
