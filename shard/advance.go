package shard

import (
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/model"
)

// advance applies what the passing of time changes: it starts budget periods and drops dedup keys, request ids, staged
// uploads and attempts that are too old.
func (m *Machine) advance(a *command.Advance) command.Result {
	for _, p := range a.Periods {
		m.roll(p)
	}
	m.purge()
	m.purgeTouches()
	m.purgeEvents()
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
	sameMonth, newDay := now.Month == t.periods.Month, now.Day != t.periods.Day
	t.periods, t.periodsKnown = now, true
	m.put(keyPeriods(nil, p.Marketplace), command.AppendPeriods(nil, now))
	if !m.data() {
		return
	}
	if newDay {
		m.rollClickRates(p.Marketplace)
		m.rollPurchases(p.Marketplace)
	}
	for _, c := range m.campaigns {
		if c.Marketplace == p.Marketplace {
			m.rollBudget(c, &now, sameMonth)
		}
	}
	m.feed.PutPeriods(m.group, &now)
}

// rollBudget starts a campaign's next budget period if it has been reached. A period that ends with nothing spent needs
// no line in the journal, unless what is carried over changes or is counted anew.
func (m *Machine) rollBudget(c *campaign, now *command.Periods, sameMonth bool) {
	var rolled bool
	before := c.budget
	if c.Period == model.Daily && m.tenant(c.Marketplace).carriesOver {
		rolled = c.budget.RollOver(now.Day, sameMonth)
	} else {
		rolled = c.budget.Roll(periodNumber(now, c.Period))
	}
	if !rolled {
		return
	}
	m.beginPeriod(&c.budget)
	m.markDirty(c)
	m.publishBalances(c)
	anew := c.budget.Days <= 1 && (before.Carries() || c.budget.Carries())
	if before.Spent != 0 || anew || before.Cap() != c.budget.Cap() || before.Carried != c.budget.Carried {
		m.journalBudget(c)
	}
}

// beginPeriod records where the journal is when a budget period begins.
func (m *Machine) beginPeriod(b *ledger.Budget) {
	if m.state.level >= command.LevelReturns {
		b.FirstLine = m.state.lastLine + 1
	}
}

// newBudget returns the budget of a new campaign, or of one whose period changes.
func (m *Machine) newBudget(c *model.Campaign) ledger.Budget {
	t := m.tenant(c.Marketplace)
	b := ledger.Budget{Amount: c.Budget, Period: periodNumber(&t.periods, c.Period)}
	if c.Period == model.Daily && t.carriesOver {
		b.Days = 1
	}
	return b
}

// periodNumber returns the number of the current period of a kind. A total budget has a single period, number 0.
func periodNumber(p *command.Periods, kind model.Period) uint32 {
	switch kind {
	case model.Daily:
		return p.Day
	case model.Weekly:
		return p.Week
	case model.Monthly:
		return p.Month
	default:
		return 0
	}
}
