package shard

import (
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/model"
)

// setFeature raises the feature level. REQUIRES: this binary knows the level; Apply has panicked otherwise.
func (m *Machine) setFeature(s *command.SetFeature) command.Result {
	before := m.state.level
	m.state.level = max(m.state.level, s.Level)
	if before < command.LevelPacing && m.state.level >= command.LevelPacing {
		m.listAllExclusive()
	}
	if before < command.LevelAttribution && m.state.level >= command.LevelAttribution {
		m.feedPaidByPurchases()
	}
	return command.Result{}
}

// feedPaidByPurchases shows campaigns to auctions that did not compete before LevelAttribution.
func (m *Machine) feedPaidByPurchases() {
	for _, c := range m.campaigns {
		if c.Charge == model.CPA {
			m.feedCampaign(c)
			m.publishBalances(c)
			m.changed = true
		}
	}
}

// journalBudget writes the budget of a campaign into the journal. It is called whenever something other than a charge
// has changed what is left of the budget, so that the journal alone proves that no charge
// exceeded its limit. A period that ends with nothing spent changes nothing and needs no line.
func (m *Machine) journalBudget(c *campaign) {
	m.journal(ledger.Line{
		Kind: ledger.BudgetInForce, Campaign: c.Ordinal, Bid: c.budget.Period, Key: c.ID, Wallet: c.Wallet,
		Price: c.budget.Amount, Amount: c.budget.Spent,
	})
	if c.budget.Carries() {
		m.journal(ledger.Line{
			Kind: ledger.BudgetCarried, Campaign: c.Ordinal, Bid: c.budget.Month(m.tenant(c.Marketplace).periods.Month), Key: c.ID, Wallet: c.Wallet,
			Price: c.budget.Carried, Amount: c.budget.Saved,
		})
	}
}

// journalBillingMode writes the billing mode of a marketplace into the journal.
func (m *Machine) journalBillingMode(marketplace uint16) {
	if !m.data() {
		return
	}
	l := ledger.Line{Kind: ledger.BillingMode, Bid: uint32(marketplace)}
	if m.tenant(marketplace).postPaid {
		l.Price = 1
	}
	m.journal(l)
}
