package market

import (
	"math"

	"github.com/gavel-ads/gavel/shard/ids"
)

// Supposed campaigns stand in a group that no raft group has, all of them under one id, one after the other.
const (
	supposedGroup   = ids.Group(300)
	supposedOrdinal = 1
)

// SupposedID is the id of the campaign of a Supposition, in the winners of auctions on its view.
var SupposedID = ids.UUID{6: 0x70, 8: 0x80, 15: 1}

// Supposition is a market that is not: the present one with a campaign more, perhaps in the place of another.
type Supposition struct {
	// Campaign runs in the view whatever its dates, status and switch say, and has money without end. Its id, group and
	// ordinal do not matter.
	Campaign Campaign
	Bids     []Bid
	Without  *Campaign // Does not run in the view; nil: all others do.
}

// Suppose returns the view of a market in which a supposition holds, for auctions that have no effect. Nobody else sees
// it, and what is published later knows nothing of it, but for what is never forgotten anyway: texts that the bids mention
// stay interned, and their products count as having had a bid.
//
// The supposition is fed like anything else, frozen into a view and taken back under one lock. Feeders wait for that:
// a few microseconds for each bid.
func (m *Market) Suppose(s *Supposition) *View {
	m.mu.Lock()
	defer m.mu.Unlock()

	c := s.Campaign
	c.ID, c.Group, c.Ordinal = SupposedID, supposedGroup, supposedOrdinal
	c.Active, c.Status, c.StartMillis, c.EndMillis = true, Approved, 0, 0
	c.Caps = nil // They count what users met, and this one nobody met.
	slot := m.putCampaign(&c)
	slot.Left.Store(math.MaxInt64)
	slot.Wallet.Store(math.MaxInt64)
	for i := range s.Bids {
		b := s.Bids[i]
		b.Ordinal = uint32(i) + 1 //nolint:gosec // at most 5,000.
		m.putBid(&c, &b)
	}
	var without uint32
	if s.Without != nil {
		without = m.campaignOf(s.Without)
	}
	saved := *m.campaigns.at(without)
	if without != 0 {
		m.campaigns.edit(without, m.edition).Flags &^= CampaignActive
	}
	if m.treeDirty {
		m.rebuildWalk()
	}
	v := m.build()
	m.edition++

	if without != 0 {
		*m.campaigns.edit(without, m.edition) = saved
	}
	for i := range s.Bids {
		m.putBid(&c, &Bid{Ordinal: uint32(i) + 1, Target: s.Bids[i].Target, Creative: s.Bids[i].Creative, Deleted: true}) //nolint:gosec // as above.
	}
	c.Active = false
	m.putCampaign(&c)
	m.dirty = true // The published view shares nothing with v that is still written.
	return v
}
