package market

import (
	"math"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// The campaign of a WhatIf has a group number that no Raft group has. All of them use the same id and ordinal, one
// after the other.
const (
	whatIfGroup   = ids.Group(300)
	whatIfOrdinal = 1
)

// WhatIfCampaignID is the id of the campaign of a WhatIf in the winners of auctions on its view.
var WhatIfCampaignID = ids.UUID{6: 0x70, 8: 0x80, 15: 1}

// WhatIf describes a hypothetical market: the current one with one more campaign and, optionally, without another one.
type WhatIf struct {
	// Campaign competes in the view regardless of its dates, status and Active, and with unlimited balances. Its id, group
	// and ordinal are ignored.
	Campaign model.Campaign
	Bids     []model.Bid
	Excluded *model.Campaign // A campaign that does not compete in the view; nil: all others compete.
}

// WhatIfView returns the view of a hypothetical market, for auctions that have no effect. No other reader sees the
// view, and later publications do not contain the campaign. Two things remain: texts that the bids mention stay
// interned, and their products are marked as having had a bid.
//
// The campaign is fed like any other, frozen into a view and removed again under one lock. Feeders wait a few
// microseconds for each bid.
func (m *Market) WhatIfView(s *WhatIf) *View {
	m.mu.Lock()
	defer m.mu.Unlock()

	c := s.Campaign
	c.ID, c.Group, c.Ordinal = WhatIfCampaignID, whatIfGroup, whatIfOrdinal
	c.Active, c.Status, c.StartMillis, c.EndMillis = true, model.Approved, 0, 0
	c.Caps = nil // A hypothetical campaign has no exposures to count.
	balances := m.putCampaign(&c)
	balances.BudgetLeft.Store(math.MaxInt64)
	balances.WalletBalance.Store(math.MaxInt64)
	balances.Hold.Store(0)
	balances.WalletHold.Store(0)
	balances.Pacing.Store(pacing.Open)
	for i := range s.Bids {
		b := s.Bids[i]
		b.Ordinal = uint32(i) + 1 // At most 5,000.
		m.putBid(&c, &b)
	}
	var excluded uint32
	if s.Excluded != nil {
		excluded = m.campaignOf(s.Excluded)
	}
	saved := *m.campaigns.at(excluded)
	if excluded != 0 {
		m.campaigns.edit(excluded, m.edition).Flags &^= CampaignActive
	}
	if m.treeDirty {
		m.rebuildWalk()
	}
	v := m.build()
	m.edition++

	if excluded != 0 {
		*m.campaigns.edit(excluded, m.edition) = saved
	}
	for i := range s.Bids {
		m.putBid(&c, &model.Bid{Ordinal: uint32(i) + 1, Target: s.Bids[i].Target, Creative: s.Bids[i].Creative, Deleted: true}) // As above.
	}
	c.Active = false
	m.putCampaign(&c)
	m.dirty = true // The tables changed. A later view shares with v only memory that is not written any more.
	return v
}
