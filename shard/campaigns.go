package shard

import (
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// createCampaign adds a campaign with its bids. When the id is taken by a campaign of the same vendor, the command is a
// repeat: it changes nothing and gets the first answer.
func (m *Machine) createCampaign(x *command.CreateCampaign) command.Result {
	c := &campaign{Campaign: x.Campaign}
	if old := m.byID[c.ID]; old != nil {
		if old.Marketplace != c.Marketplace || old.VendorID != c.VendorID {
			return refused(command.AlreadyExists, 0)
		}
		m.repeated = true
		return command.Result{FirstOrdinal: old.firstBid}
	}
	if c.ID.IsZero() || !isID(c.VendorID) || len(c.ExternalID) > textMax ||
		ids.ShardOf(c.ID) != ids.ShardOf(ids.AccountOf(c.Marketplace, c.VendorID)) {
		return refused(command.Invalid, 0)
	}
	if !m.deletionOf(c.Marketplace, c.VendorID).IsZero() {
		return refused(command.VendorDeleted, 0)
	}
	if m.breaksBudget(&c.Campaign) {
		return refused(command.NeedsTotal, 0)
	}
	external := keyExternalID(nil, c.Marketplace, c.Format, c.ExternalID)
	if c.ExternalID != "" {
		if _, taken := m.get(external); taken {
			return refused(command.AlreadyExists, 0)
		}
	}
	w, why := m.walletFor(c.Marketplace, c.VendorID, c.Campaign.Wallet)
	if why != command.Done {
		return refused(why, 0)
	}
	if why, index := m.newBids(x.Bids); why != command.Done {
		return refused(why, index)
	}

	if index, found := m.firstRival(&c.Campaign, x.Bids); found {
		return refused(command.AlreadyExists, index)
	}

	m.state.lastCampaign++
	c.Ordinal, c.Group, c.wallet, c.Campaign.Wallet = m.state.lastCampaign, m.group, w, w.ID
	c.budget = m.newBudget(&c.Campaign)
	m.beginPeriod(&c.budget)
	c.firstBid = m.state.lastBid + 1
	if m.wallets[w.ID] == nil {
		m.saveWallet(w)
	}
	ordinal := appendU32(nil, c.Ordinal)
	m.put(keyCampaignID(nil, c.ID), ordinal)
	m.put(appendNewest(appendU16([]byte{tableNewest}, c.Marketplace), &c.Campaign), []byte{})
	m.put(appendNewest(keyOfVendor(nil, tableVendorNewest, c.Marketplace, c.VendorID), &c.Campaign), []byte{})
	if c.ExternalID != "" {
		m.put(external, ordinal)
	}
	m.addCampaign(c)
	m.markDirty(c)
	m.journalBudget(c)
	for i := range x.Bids {
		m.addBid(c, &x.Bids[i])
	}
	m.storeCampaign(c)
	return command.Result{FirstOrdinal: c.firstBid}
}

// addCampaign adds a campaign to memory and to the auctions. REQUIRES: its ordinal is the next one, and its wallet is
// set.
func (m *Machine) addCampaign(c *campaign) {
	m.campaigns = append(m.campaigns, c)
	m.byID[c.ID] = c
	c.wallet.campaigns = append(c.wallet.campaigns, c)
	m.feedCampaign(c)
	m.changed = true
	m.publishBalances(c)
	m.publishPace(c)
	m.addOverdelivered(c.budget.OverdeliveredTotal)
}

// feedCampaign shows a campaign to auctions. Before LevelAttribution no touch is stored, so no purchase is charged: a
// campaign that is paid by purchases would win for free, and is shown as inactive.
func (m *Machine) feedCampaign(c *campaign) {
	shown := &c.Campaign
	if m.state.level < command.LevelAttribution && c.Charge == model.CPA {
		inactive := c.Campaign
		inactive.Active = false
		shown = &inactive
	}
	c.balances = m.feed.PutCampaign(shown)
}

func (m *Machine) storeCampaign(c *campaign) {
	m.put(keyCampaign(nil, c.Ordinal), appendCampaign(nil, c))
}

// patchCampaign changes a campaign. It refuses the command as Conflict when the members named in its Expectation have
// other values than the proposer read. Terminated is final: terminating a campaign again is a repeat and changes
// nothing, and any other patch is refused as WrongState.
func (m *Machine) patchCampaign(p *command.PatchCampaign) command.Result {
	c := m.campaignOf(p.Marketplace, p.Campaign)
	if c == nil {
		return refused(command.NotFound, 0)
	}
	if c.Status == model.Terminated {
		if p.Status != nil && *p.Status == model.Terminated {
			m.repeated = true
			return command.Result{}
		}
		return refused(command.WrongState, 0)
	}
	if p.Expect != command.ExpectCampaign(&c.Campaign, p.Expect.Members) {
		return refused(command.Conflict, 0)
	}
	if why := m.allowed(c, p); why != command.Done {
		return refused(why, 0)
	}
	if m.patchMakesRivals(c, p) || m.externalIDTaken(c, p) {
		return refused(command.AlreadyExists, 0)
	}
	before, wallet, target := c.budget, c.wallet, c.TargetROASMilli
	if p.Wallet != nil {
		if why := m.changeWallet(c, *p.Wallet); why != command.Done {
			return refused(why, 0)
		}
	}
	if p.Period != nil && *p.Period != c.Period {
		m.changePeriod(c, *p.Period)
	}
	if p.ExternalID != nil {
		m.moveExternalID(c, *p.ExternalID)
	}
	p.Change(&c.Campaign)
	c.Campaign.Wallet = c.wallet.ID // The command may name the default wallet by the zero id.
	c.budget.Amount = c.Budget
	c.UpdatedMillis = m.state.now
	m.markDirty(c)
	if c.budget != before || c.wallet != wallet {
		m.journalBudget(c)
	}
	m.storeCampaign(c)
	m.publishBalances(c) // Before the settings; package pacer relies on it.
	m.feedCampaign(c)
	if c.TargetROASMilli != target && c.Type == model.Autobidding {
		for _, b := range m.bidsOf(c) { // Their base bids follow the target.
			m.feed.PutBid(&c.Campaign, &b)
		}
	}
	m.changed = true
	if c.Status == model.Terminated {
		m.dropPace(c)
	}
	return command.Result{}
}

// externalIDTaken reports whether a patch names an external id that another campaign of the group has, or one that is too
// long for a key.
func (m *Machine) externalIDTaken(c *campaign, p *command.PatchCampaign) bool {
	if p.ExternalID == nil || *p.ExternalID == "" || *p.ExternalID == c.ExternalID {
		return false
	}
	if len(*p.ExternalID) > textMax {
		return true
	}
	_, taken := m.get(keyExternalID(nil, c.Marketplace, c.Format, *p.ExternalID))
	return taken
}

// moveExternalID lets another external id, or none, lead to a campaign. REQUIRES: the id is not taken.
func (m *Machine) moveExternalID(c *campaign, id string) {
	if c.ExternalID != "" {
		m.put(keyExternalID(nil, c.Marketplace, c.Format, c.ExternalID), nil)
	}
	if id != "" {
		m.put(keyExternalID(nil, c.Marketplace, c.Format, id), appendU32(nil, c.Ordinal))
	}
}

// allowed checks the rules of campaigns that protect money. A campaign that breaks one already, from a lower feature
// level, may change everything else.
func (m *Machine) allowed(c *campaign, p *command.PatchCampaign) command.Refusal {
	if p.Active != nil && *p.Active && !m.deletionOf(c.Marketplace, c.VendorID).IsZero() {
		return command.VendorDeleted
	}
	if p.Budget == nil && p.Period == nil {
		return command.Done
	}
	after := c.Campaign
	p.Change(&after)
	if m.breaksBudget(&after) {
		return command.NeedsTotal
	}
	return command.Done
}

// changeWallet makes another wallet of the vendor pay for a campaign. Past charges stay with the old wallet.
func (m *Machine) changeWallet(c *campaign, id ids.UUID) command.Refusal {
	w, why := m.walletFor(c.Marketplace, c.VendorID, id)
	if why != command.Done || w == c.wallet {
		return why
	}
	if m.wallets[w.ID] == nil {
		m.saveWallet(w)
	}
	at := slices.Index(c.wallet.campaigns, c)
	c.wallet.campaigns = slices.Delete(c.wallet.campaigns, at, at+1)
	w.campaigns = append(w.campaigns, c)
	c.wallet.hold.subtract(c.pace.hold)
	w.hold.add(c.pace.hold)
	m.markHoldDirty(c.wallet)
	m.markHoldDirty(w)
	c.wallet, c.Campaign.Wallet = w, w.ID
	return command.Done
}

// changePeriod changes the length of a budget period. What was spent in the old period counts as spent in the new one,
// and a total budget counts everything that was ever spent, so a change of the period never makes a budget available
// twice.
func (m *Machine) changePeriod(c *campaign, kind model.Period) {
	c.Period = kind
	fresh := m.newBudget(&c.Campaign)
	c.budget.Period, c.budget.Carryover = fresh.Period, fresh.Carryover
	if kind == model.Total {
		c.budget.Spent, c.budget.Overdelivered = c.budget.SpentTotal, c.budget.OverdeliveredTotal
	}
}
