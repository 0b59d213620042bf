package shard

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/market"
)

// createCampaign adds a campaign with its bids. Repeated with the same id it changes nothing and answers alike.
func (m *Machine) createCampaign(x *command.CreateCampaign) command.Result {
	c := &campaign{Campaign: x.Campaign}
	if old := m.byID[c.ID]; old != nil {
		if old.Marketplace != c.Marketplace || old.VendorID != c.VendorID {
			return refused(command.AlreadyExists, 0)
		}
		return command.Result{FirstOrdinal: old.firstBid}
	}
	if c.ID.IsZero() || !isID(c.VendorID) || len(c.ExternalID) > textMax ||
		ids.ShardOf(c.ID) != ids.ShardOf(ids.AccountOf(c.Marketplace, c.VendorID)) {
		return refused(command.Invalid, 0)
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

	m.state.lastCampaign++
	c.Ordinal, c.Group, c.wallet, c.Campaign.Wallet = m.state.lastCampaign, m.group, w, w.ID
	c.budget = ledger.Budget{Amount: c.Budget, Period: periodNumber(&m.tenant(c.Marketplace).periods, c.Period)}
	c.firstBid = m.state.lastBid + 1
	if m.wallets[w.ID] == nil {
		m.keepWallet(w)
	}
	ordinal := appendU32(nil, c.Ordinal)
	m.put(keyCampaignID(nil, c.ID), ordinal)
	m.put(appendNewest(appendU16([]byte{tableNewest}, c.Marketplace), &c.Campaign), []byte{})
	m.put(appendNewest(keyOfVendor(nil, tableVendorNewest, c.Marketplace, c.VendorID), &c.Campaign), []byte{})
	if c.ExternalID != "" {
		m.put(external, ordinal)
	}
	m.admit(c)
	m.soil(c)
	for i := range x.Bids {
		m.addBid(c, &x.Bids[i])
	}
	m.keepCampaign(c)
	return command.Result{FirstOrdinal: c.firstBid}
}

// admit adds a campaign to memory and to the auctions. REQUIRES: its ordinal is the next one; its wallet is set.
func (m *Machine) admit(c *campaign) {
	m.campaigns = append(m.campaigns, c)
	m.byID[c.ID] = c
	c.wallet.campaigns = append(c.wallet.campaigns, c)
	c.slot = m.feed.PutCampaign(&c.Campaign)
	m.changed = true
	m.show(c)
}

func (m *Machine) keepCampaign(c *campaign) {
	m.put(keyCampaign(nil, c.Ordinal), appendCampaign(nil, c))
}

// newBids checks the bids of a new campaign.
func (m *Machine) newBids(bids []market.Bid) (why command.Refusal, index int) {
	if len(bids) > BidsMax {
		return command.TooMany, BidsMax
	}
	within := make(map[ids.UUID]bool, len(bids))
	for i := range bids {
		b := &bids[i]
		if b.ID.IsZero() || b.Deleted {
			return command.Invalid, i
		}
		if _, taken := m.get(keyBidID(nil, b.ID)); taken || within[b.ID] {
			return command.AlreadyExists, i
		}
		within[b.ID] = true
	}
	return command.Done, 0
}

// addBid gives a bid the next ordinal and stores it. REQUIRES: its id is new.
func (m *Machine) addBid(c *campaign, b *market.Bid) {
	m.state.lastBid++
	b.Ordinal = m.state.lastBid
	c.bids++
	key := appendU32(appendU32(nil, c.Ordinal), b.Ordinal)
	m.put(keyBidID(nil, b.ID), key)
	m.put(keyBid(nil, c.Ordinal, b.Ordinal), command.AppendBid(nil, b))
	m.feed.PutBid(&c.Campaign, b)
	m.changed = true
}

// putBids adds bids to a campaign or replaces what may change of existing ones, all or nothing.
func (m *Machine) putBids(p *command.PutBids) command.Result {
	c := m.campaignOf(p.Marketplace, p.Campaign)
	if c == nil {
		return refused(command.NotFound, 0)
	}
	if c.Status == market.Terminated {
		return refused(command.WrongState, 0)
	}
	first, why, index := m.checkBids(c, p.Bids)
	if why != command.Done {
		return refused(why, index)
	}
	before := c.bids
	for i := range p.Bids {
		b := &p.Bids[i]
		if old, found := m.bidOf(c, b.ID); found {
			m.replaceBid(c, old, b)
		} else {
			m.addBid(c, b)
		}
	}
	if c.bids != before {
		m.keepCampaign(c)
	}
	return command.Result{FirstOrdinal: first}
}

// checkBids checks what PutBids will do and returns the ordinal of the first new bid, or, when none is new, that of the
// first: so a repeat of a command that only adds answers alike.
func (m *Machine) checkBids(c *campaign, bids []market.Bid) (first uint32, why command.Refusal, index int) {
	within := make(map[ids.UUID]bool, len(bids))
	alive, fresh := int(c.bids), false
	for i := range bids {
		b := &bids[i]
		if b.ID.IsZero() || within[b.ID] {
			return 0, command.Invalid, i
		}
		within[b.ID] = true
		old, found := m.bidOf(c, b.ID)
		switch {
		case found && old.Deleted && !b.Deleted, !found && b.Deleted:
			return 0, command.NotFound, i
		case found && !old.Deleted && b.Deleted:
			alive--
		case !found:
			if _, taken := m.get(keyBidID(nil, b.ID)); taken {
				return 0, command.AlreadyExists, i // A bid of another campaign.
			}
			alive++
			if !fresh {
				first, fresh = m.state.lastBid+1, true
			}
		}
		if i == 0 && found {
			first = old.Ordinal
		}
		if alive > BidsMax {
			return 0, command.TooMany, i
		}
	}
	return first, command.Done, 0
}

// bidOf returns a bid of a campaign by id.
func (m *Machine) bidOf(c *campaign, id ids.UUID) (b market.Bid, found bool) {
	at, found := m.get(keyBidID(nil, id))
	if !found || binary.BigEndian.Uint32(at) != c.Ordinal {
		return market.Bid{}, false
	}
	stored, found := m.get(keyBid(nil, c.Ordinal, binary.BigEndian.Uint32(at[4:])))
	if !found {
		return market.Bid{}, false
	}
	return mustBid(stored), true
}

// replaceBid changes what may change of a bid; target, ordinal and creation stay. A tombstone stays as it is.
func (m *Machine) replaceBid(c *campaign, old market.Bid, b *market.Bid) {
	if old.Deleted {
		return
	}
	old.Amount, old.Active, old.Deleted = b.Amount, b.Active, b.Deleted
	old.Location, old.Triggers, old.UpdatedMillis = b.Location, b.Triggers, b.UpdatedMillis
	if old.Deleted {
		c.bids--
	}
	m.put(keyBid(nil, c.Ordinal, old.Ordinal), command.AppendBid(nil, &old))
	m.feed.PutBid(&c.Campaign, &old)
	m.changed = true
}

// patchCampaign changes a campaign. Terminated is final; terminating again is a repeat and changes nothing.
func (m *Machine) patchCampaign(p *command.PatchCampaign) command.Result {
	c := m.campaignOf(p.Marketplace, p.Campaign)
	if c == nil {
		return refused(command.NotFound, 0)
	}
	if c.Status == market.Terminated {
		if p.Status != nil && *p.Status == market.Terminated {
			return command.Result{}
		}
		return refused(command.WrongState, 0)
	}
	assign(&c.Name, p.Name)
	assign(&c.Active, p.Active)
	assign(&c.StartMillis, p.StartMillis)
	assign(&c.EndMillis, p.EndMillis)
	assign(&c.TargetROASMilli, p.TargetROASMilli)
	assign(&c.Status, p.Status)
	assign(&c.StatusUpdatedBy, p.StatusUpdatedBy)
	assign(&c.Price, p.Price)
	assign(&c.Budget, p.Budget)
	if p.Document != nil {
		c.Document = p.Document
	}
	if p.Period != nil && *p.Period != c.Period {
		m.rebase(c, *p.Period)
	}
	c.budget.Amount = c.Budget
	c.UpdatedMillis = m.state.now
	m.soil(c)
	m.keepCampaign(c)
	c.slot = m.feed.PutCampaign(&c.Campaign)
	m.changed = true
	m.show(c)
	return command.Result{}
}

func assign[T any](dst, src *T) {
	if src != nil {
		*dst = *src
	}
}

// rebase changes the length of a budget. What was spent in the old period counts as spent in the new one, and a total
// budget counts all that was ever spent: a change of the period never gives money twice.
func (m *Machine) rebase(c *campaign, kind market.Period) {
	c.Period = kind
	c.budget.Period = periodNumber(&m.tenant(c.Marketplace).periods, kind)
	if kind == market.Total {
		c.budget.Spent = c.budget.SpentTotal
	}
}
