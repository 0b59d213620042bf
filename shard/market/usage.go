package market

import "encoding/binary"

// Usage counts the campaigns, bids and products of a marketplace, or the campaigns and bids of one vendor. Terminated
// campaigns and their bids are not counted, because they do not slow down auctions. Products belong to the marketplace,
// so a vendor has none.
type Usage struct{ Campaigns, Bids, Products int }

// usage keeps the counts up to date as the market is fed, so that a query takes two look-ups, whatever the size of the
// market.
type usage struct {
	ofMarketplace map[uint16]*Usage
	ofVendor      map[uint32]*Usage // By the vendor's row.
	bids          []int32           // By campaign row.
}

// Usage returns the counts of a marketplace, and those of one of its vendors.
func (m *Market) Usage(marketplace uint16, vendorID string) (whole, own Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()

	if u := m.usage.ofMarketplace[marketplace]; u != nil {
		whole = *u
	}
	row := m.vendors[string(append(binary.BigEndian.AppendUint16(nil, marketplace), vendorID...))]
	if u := m.usage.ofVendor[row]; u != nil {
		own = *u
	}
	return whole, own
}

func (u *usage) marketplace(ordinal uint16) *Usage { return entryOf(&u.ofMarketplace, ordinal) }

func (u *usage) vendor(row uint32) *Usage { return entryOf(&u.ofVendor, row) }

func entryOf[K comparable](all *map[K]*Usage, key K) *Usage {
	if *all == nil {
		*all = map[K]*Usage{}
	}
	x := (*all)[key]
	if x == nil {
		x = new(Usage)
		(*all)[key] = x
	}
	return x
}

// countCampaign updates the counts for a campaign whose flags change.
func (m *Market) countCampaign(i uint32, row *CampaignRow, before, after CampaignFlags) {
	by := 0
	switch {
	case before&CampaignCounted == 0 && after&CampaignCounted != 0:
		by = 1
	case before&CampaignCounted != 0 && after&CampaignCounted == 0:
		by = -1
	}
	if by == 0 {
		return
	}
	for _, u := range []*Usage{m.usage.marketplace(row.Marketplace), m.usage.vendor(row.Vendor)} {
		u.Campaigns += by
		u.Bids += by * int(m.usage.bidsOf(i))
	}
}

// countBid updates the counts for a bid that is added (by is 1) or removed (-1).
func (m *Market) countBid(campaign uint32, by int32) {
	row := m.campaigns.at(campaign)
	m.usage.grow(campaign)
	m.usage.bids[campaign] += by
	if row.Flags&CampaignCounted != 0 {
		m.usage.marketplace(row.Marketplace).Bids += int(by)
		m.usage.vendor(row.Vendor).Bids += int(by)
	}
}

// countProduct updates the counts for a product whose flags change.
func (m *Market) countProduct(marketplace uint16, before, after ProductFlags) {
	switch {
	case before&ProductKnown == 0 && after&ProductKnown != 0:
		m.usage.marketplace(marketplace).Products++
	case before&ProductKnown != 0 && after&ProductKnown == 0:
		m.usage.marketplace(marketplace).Products--
	}
}

func (u *usage) bidsOf(campaign uint32) int32 {
	if int64(campaign) >= int64(len(u.bids)) {
		return 0
	}
	return u.bids[campaign]
}

func (u *usage) grow(campaign uint32) {
	if need := int(campaign) + 1 - len(u.bids); need > 0 {
		u.bids = append(u.bids, make([]int32, need)...)
	}
}
