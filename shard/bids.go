package shard

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// newBids checks the bids of a new campaign and returns the reason and index of the first that is refused.
func (m *Machine) newBids(bids []model.Bid) (why command.Refusal, index int) {
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
func (m *Machine) addBid(c *campaign, b *model.Bid) {
	m.state.lastBid++
	b.Ordinal = m.state.lastBid
	c.bids++
	key := appendU32(appendU32(nil, c.Ordinal), b.Ordinal)
	m.put(keyBidID(nil, b.ID), key)
	m.put(keyBid(nil, c.Ordinal, b.Ordinal), command.AppendBid(nil, b))
	m.listExclusive(c, b)
	m.feed.PutBid(&c.Campaign, b)
	m.changed = true
}

// putBids adds bids to a campaign or replaces the changeable members of existing bids, all or nothing.
func (m *Machine) putBids(p *command.PutBids) command.Result {
	c := m.campaignOf(p.Marketplace, p.Campaign)
	if c == nil {
		return refused(command.NotFound, 0)
	}
	if c.Status == model.Terminated {
		return refused(command.WrongState, 0)
	}
	first, why, index := m.checkBids(c, p.Bids)
	if why != command.Done {
		return refused(why, index)
	}
	m.repeated = true // Unless a bid is new.
	before := c.bids
	for i := range p.Bids {
		b := &p.Bids[i]
		if old, found := m.bidOf(c, b.ID); found {
			m.replaceBid(c, old, b)
		} else {
			m.addBid(c, b)
			m.repeated = false
		}
	}
	if c.bids != before {
		m.storeCampaign(c)
	}
	return command.Result{FirstOrdinal: first}
}

// checkBids checks a PutBids before anything is changed. It returns the ordinal of the first new bid, or, when no bid
// is new, the ordinal of the first bid, so that a repeat of a command that only adds bids gets the same answer.
func (m *Machine) checkBids(c *campaign, bids []model.Bid) (first uint32, why command.Refusal, index int) {
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
			if m.isExclusiveBid(&c.Campaign, b) && m.hasRival(&c.Campaign, b.Target) {
				return 0, command.AlreadyExists, i
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
func (m *Machine) bidOf(c *campaign, id ids.UUID) (b model.Bid, found bool) {
	at, found := m.get(keyBidID(nil, id))
	if !found || binary.BigEndian.Uint32(at) != c.Ordinal {
		return model.Bid{}, false
	}
	stored, found := m.get(keyBid(nil, c.Ordinal, binary.BigEndian.Uint32(at[4:])))
	if !found {
		return model.Bid{}, false
	}
	return mustBid(stored), true
}

// replaceBid replaces the changeable members of a bid; target, ordinal and creation time stay. A deleted bid is not
// changed.
func (m *Machine) replaceBid(c *campaign, old model.Bid, b *model.Bid) {
	if old.Deleted {
		return
	}
	old.Amount, old.Active, old.Deleted = b.Amount, b.Active, b.Deleted
	old.Location, old.Triggers, old.UpdatedMillis = b.Location, b.Triggers, b.UpdatedMillis
	m.storeBid(c, &old)
}

// storeBid stores a bid that was changed or deleted.
func (m *Machine) storeBid(c *campaign, b *model.Bid) {
	if b.Deleted {
		c.bids--
		m.listExclusive(c, b)
	}
	m.put(keyBid(nil, c.Ordinal, b.Ordinal), command.AppendBid(nil, b))
	m.feed.PutBid(&c.Campaign, b)
	m.changed = true
}

// patchBid changes the named members of a bid. All other members keep their current value, even when the proposer has
// seen an older one.
func (m *Machine) patchBid(p *command.PatchBid) command.Result {
	c := m.campaignOf(p.Marketplace, p.Campaign)
	if c == nil {
		return refused(command.NotFound, 0)
	}
	if c.Status == model.Terminated {
		return refused(command.WrongState, 0)
	}
	b, found := m.bidOf(c, p.Bid)
	if !found || b.Deleted {
		return refused(command.NotFound, 0)
	}
	p.Change(&b)
	b.UpdatedMillis = m.state.now
	m.storeBid(c, &b)
	if b.Deleted {
		m.storeCampaign(c)
	}
	return command.Result{}
}
