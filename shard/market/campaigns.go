package market

import (
	"math"
	"slices"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// PutCampaign adds or replaces a campaign and returns its balances, at an address that stays valid until the process
// ends.
func (m *Market) PutCampaign(c *model.Campaign) *Balances {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.putCampaign(c)
}

func (m *Market) putCampaign(c *model.Campaign) *Balances {
	i := m.campaign(c)
	row := CampaignRow{
		StartMillis: c.StartMillis,
		EndMillis:   c.EndMillis,
		Vendor:      m.vendor(c.Marketplace, c.VendorID),
		Ordinal:     c.Ordinal,
		Marketplace: c.Marketplace,
		Group:       uint16(c.Group),
		Shard:       uint8(ids.ShardOf(c.ID)),
		Charge:      c.Charge,
		Price:       c.Price,
	}
	if row.EndMillis == 0 {
		row.EndMillis = math.MaxInt64
	}
	if c.Active && c.Status != model.Terminated {
		row.Flags |= CampaignActive
	}
	if c.Status == model.Approved {
		row.Flags |= CampaignApproved
	}
	if c.Status != model.Terminated && c.Group != whatIfGroup {
		row.Flags |= CampaignCounted
	}
	if c.Type == model.Exclusive {
		row.Flags |= CampaignExclusive
		row.Price = model.FirstPrice
	}
	if c.HoldoutPercent > 0 {
		row.Flags |= CampaignHoldout
	}
	m.setTarget(i, c)
	if m.setTerms(i, c) {
		row.Flags |= CampaignHasTerms
	}
	if old := m.campaigns.at(i); *old != row {
		m.countCampaign(i, &row, old.Flags, row.Flags)
		*m.campaigns.edit(i, m.edition) = row
		m.dirty = true
	}
	return m.balancesAt(i)
}

// campaign returns the row of a campaign, adding one on its first mention.
func (m *Market) campaign(c *model.Campaign) uint32 {
	if i := m.campaignOf(c); i != 0 {
		return i
	}
	for len(m.byGroup) <= int(c.Group) {
		m.byGroup = append(m.byGroup, nil)
	}
	known := m.byGroup[c.Group]
	if need := int(c.Ordinal) + 1 - len(known); need > 0 {
		known = append(slices.Grow(known, need), make([]uint32, need)...)
		m.byGroup[c.Group] = known
	}
	i := m.campaigns.add()
	m.campaignTerms.add()
	if i%chunkRows == 0 {
		m.addBalances()
	}
	c.ID.AppendText(m.balances[i>>chunkBits].ids[i%chunkRows].text[:0])
	known[c.Ordinal] = i
	m.dirty = true
	return i
}

// campaignOf returns the row of a campaign, 0 if PutCampaign was never called for it.
func (m *Market) campaignOf(c *model.Campaign) uint32 {
	if int(c.Group) >= len(m.byGroup) || int64(c.Ordinal) >= int64(len(m.byGroup[c.Group])) {
		return 0
	}
	return m.byGroup[c.Group][c.Ordinal]
}

// dropCampaigns makes the group's campaigns inactive until PutCampaign is called for them again.
func (m *Market) dropCampaigns(g ids.Group) {
	if int(g) >= len(m.byGroup) {
		return
	}
	for _, i := range m.byGroup[g] {
		if i != 0 {
			row := m.campaigns.edit(i, m.edition)
			m.countCampaign(i, row, row.Flags, 0)
			row.Flags = 0
		}
	}
}
