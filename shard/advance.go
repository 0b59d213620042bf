package shard

import (
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/market"
)

// advance applies what the passing of time changes: it starts budget periods and drops dedup keys, request ids, staged
// uploads and attempts that are too old.
func (m *Machine) advance(a *command.Advance) command.Result {
	for _, p := range a.Periods {
		m.roll(p)
	}
	m.purge()
	m.advanceTurn(turnsOfTick)
	return command.Result{}
}

// roll starts the budget periods that a marketplace has reached. Period numbers only grow, so a proposer whose time
// zone data or clock is behind changes nothing.
func (m *Machine) roll(p command.Periods) {
	t := m.tenant(p.Marketplace)
	now := command.Periods{
		Marketplace: p.Marketplace,
		Day:         max(p.Day, t.periods.Day),
		Week:        max(p.Week, t.periods.Week),
		Month:       max(p.Month, t.periods.Month),
	}
	if t.periodsKnown && now == t.periods {
		return
	}
	newDay := now.Day != t.periods.Day
	t.periods, t.periodsKnown = now, true
	m.put(keyPeriods(nil, p.Marketplace), command.AppendPeriods(nil, now))
	if !m.data() {
		return
	}
	if newDay {
		m.rollClickRates(p.Marketplace)
	}
	for _, c := range m.campaigns {
		spent := c.budget.Spent
		if c.Marketplace != p.Marketplace || !c.budget.Roll(periodNumber(&now, c.Period)) {
			continue
		}
		m.markDirty(c)
		m.publishBalances(c)
		if spent != 0 {
			m.journalBudget(c)
		}
	}
}

// periodNumber returns the number of the current period of a kind. A total budget has a single period, number 0.
func periodNumber(p *command.Periods, kind market.Period) uint32 {
	switch kind {
	case market.Daily:
		return p.Day
	case market.Weekly:
		return p.Week
	case market.Monthly:
		return p.Month
	default:
		return 0
	}
}
