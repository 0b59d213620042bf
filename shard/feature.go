package shard

import (
	"maps"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ledger"
)

// setFeature raises the feature level. REQUIRES: this binary knows the level; Apply has panicked otherwise.
func (m *Machine) setFeature(s *command.SetFeature) command.Result {
	before := m.state.level
	if s.Level <= before {
		return command.Result{}
	}
	m.state.level = s.Level
	if before < command.LevelBudgetLines {
		m.journalLimits()
	}
	return command.Result{}
}

// journalLimits writes the billing modes and budgets in force. From here on the journal alone proves that no charge
// exceeded its limit.
func (m *Machine) journalLimits() {
	for _, marketplace := range slices.Sorted(maps.Keys(m.marketplaces)) {
		if m.marketplaces[marketplace].postPaid {
			m.journalBillingMode(marketplace)
		}
	}
	for _, c := range m.campaigns {
		m.journalBudget(c)
	}
}

// journalBudget writes the budget of a campaign into the journal. It is called whenever something other than a charge
// has changed what is left of the budget. A period that ends with nothing spent changes nothing and needs no line.
func (m *Machine) journalBudget(c *campaign) {
	if m.state.level < command.LevelBudgetLines {
		return
	}
	m.journal(ledger.Line{
		Kind: ledger.BudgetInForce, Campaign: c.Ordinal, Bid: c.budget.Period, Key: c.ID, Wallet: c.Wallet,
		Price: c.budget.Amount, Amount: c.budget.Spent,
	})
}

// journalBillingMode writes the billing mode of a marketplace into the journal.
func (m *Machine) journalBillingMode(marketplace uint16) {
	if m.state.level < command.LevelBudgetLines || !m.data() {
		return
	}
	l := ledger.Line{Kind: ledger.BillingMode, Bid: uint32(marketplace)}
	if m.tenant(marketplace).postPaid {
		l.Price = 1
	}
	m.journal(l)
}
