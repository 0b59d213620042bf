package market

import (
	"math"
	"slices"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// PutBid adds or replaces a bid. It makes one pass over the bids of the same product or place. A bid of a banner or
// sponsored brand without a creative is ignored, because it cannot be shown anywhere. So is a bid of an unknown
// campaign.
func (m *Market) PutBid(c *model.Campaign, b *model.Bid) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.putBid(c, b)
}

func (m *Market) putBid(c *model.Campaign, b *model.Bid) {
	campaign := m.campaignOf(c)
	if campaign == 0 || c.Format != model.Listing && b.Creative == nil {
		return // The campaign is unknown (Feed requires PutCampaign first), or the bid has nothing to show.
	}
	product := m.blockOf(c, b)
	r := m.products.at(product)
	at := slices.IndexFunc(m.bids.at(r.block, r.Bids), func(x BidRow) bool {
		return x.Campaign == campaign && x.Ordinal == b.Ordinal
	})
	var old BidRow
	if at >= 0 {
		old = m.bids.at(r.block, r.Bids)[at]
	}
	if b.Deleted {
		if at >= 0 {
			m.removeBid(product, at)
		}
		return
	}
	row := BidRow{Amount: m.baseOf(campaign, product, b), Campaign: campaign, Ordinal: b.Ordinal}
	if c.Format == model.Listing {
		m.byBid.put(c.Group, b.Ordinal, product)
	}
	var before []uint32
	if c.Format == model.Listing {
		if at >= 0 {
			before = m.postings(c.Marketplace, old.Terms)
		}
		row.Terms = m.terms(c.Marketplace, product, b, old.Terms)
	} else {
		row.Terms = m.terms(c.Marketplace, NoProduct, b, old.Terms)
		row.Ad = m.setAd(old.Ad, campaign, c, b)
	}
	if at >= 0 {
		m.replaceBid(product, at, row)
	} else {
		m.appendBid(product, row)
	}
	if c.Format == model.Listing {
		m.updatePostings(product, before, m.postings(c.Marketplace, row.Terms))
	}
}

// blockOf returns the product row whose block holds a bid: the row of the targeted product, or that of the place.
func (m *Market) blockOf(c *model.Campaign, b *model.Bid) uint32 {
	if c.Format == model.Listing {
		return m.product(c.Marketplace, b.Target)
	}
	return m.placeRow(c.Marketplace, c.Format, b.Creative.Place)
}

// terms packs the flags of a bid and stores its predicate (location and triggers) if the flags alone do not express it.
func (m *Market) terms(marketplace uint16, target uint32, b *model.Bid, old Terms) Terms {
	flags := TriggerNone
	if b.Active {
		flags |= BidActive
	}
	list := append(m.words[:0], m.location(marketplace, b.Location))
	for _, t := range b.Triggers {
		if !t.Kind.IsNegative() {
			flags &^= TriggerNone
		}
		value := m.triggerValue(marketplace, &t)
		switch {
		case t.Kind == model.TriggerProduct && value == target:
			flags |= TriggerOwn
		case t.Kind == model.TriggerCategories && value == target:
			flags |= TriggerOwnCategories
		default:
			list = append(list, uint32(t.Kind), value)
		}
	}
	m.words = list
	if len(list) == 1 && list[0] == 0 {
		list = nil
	}
	ref := Terms(m.predicates.replace(uint32(old&predicateMask), list))
	if ref > predicateMask {
		panic("market: more than 2^28 words of bid predicates") // BOUND: 1 GiB of locations and triggers.
	}
	return flags | ref
}

// triggerValue returns the row of the product, category or keyword that a trigger compares with.
func (m *Market) triggerValue(marketplace uint16, t *model.Trigger) uint32 {
	switch {
	case t.Kind == model.TriggerCategory:
		return m.category(marketplace, t.Value)
	case t.Kind.IsKeyword():
		return m.keyword(marketplace, t.Kind, t.Value)
	}
	return m.product(marketplace, t.Value)
}

// appendBid adds a row to a product's block: at its free end, or in a larger copy of the block.
func (m *Market) appendBid(product uint32, row BidRow) {
	r := m.products.edit(product, m.edition)
	if r.freeRows == 0 {
		free := min(r.Bids/2+1, math.MaxUint16)
		block := m.bids.add(r.Bids + free)
		copy(m.bids.at(block, r.Bids), m.bids.at(r.block, r.Bids))
		r.block, r.freeRows = block, uint16(free)
	}
	r.Bids++
	r.freeRows--
	m.bids.at(r.block, r.Bids)[r.Bids-1] = row
	m.countBid(row.Campaign, 1)
	m.bids.live++
	m.dirty = true
	if m.isExclusive(row.Campaign) {
		r.Flags |= ProductExclusive
	}
	if r.Bids == 1 {
		r.Campaign = row.Campaign
		m.markHadBid(product, r)
		m.addToCategories(product)
	}
}

// markHadBid marks a product that got its first bid in the table, where look-ups read the mark.
func (m *Market) markHadBid(product uint32, r *ProductRow) {
	if r.Flags&productHadBid == 0 {
		r.Flags |= productHadBid
		m.products.table.markHadBid(m.hashOfProduct(product), product)
	}
}

// replaceBid changes one row of a block, in a copy of the block if a published view has it.
func (m *Market) replaceBid(product uint32, at int, row BidRow) {
	r := m.products.at(product)
	if m.bids.at(r.block, r.Bids)[at] == row {
		return
	}
	r = m.products.edit(product, m.edition)
	m.ownBlock(r)
	m.bids.at(r.block, r.Bids)[at] = row
	m.dirty = true
}

// removeBid removes one row from a block; the last row moves into its position.
func (m *Market) removeBid(product uint32, at int) {
	r := m.products.edit(product, m.edition)
	m.ownBlock(r)
	rows := m.bids.at(r.block, r.Bids)
	if rows[at].Ad == 0 {
		m.updatePostings(product, m.postings(r.Marketplace, rows[at].Terms), nil)
	}
	m.dropPredicate(rows[at])
	m.countBid(rows[at].Campaign, -1)
	m.dropAd(rows[at].Ad)
	removed := rows[at].Campaign
	delete(m.autobids.ceilings, autobidKey{removed, rows[at].Ordinal})
	rows[at] = rows[len(rows)-1]
	r.Campaign = rows[0].Campaign
	r.Bids--
	r.freeRows += min(1, math.MaxUint16-r.freeRows)
	m.bids.live--
	m.dirty = true
	if r.Flags&ProductExclusive != 0 && m.isExclusive(removed) {
		m.markExclusive(r)
	}
	if r.Bids == 0 {
		r.Campaign, r.block, r.freeRows = 0, 0, 0
		m.removeFromCategories(product)
	}
}

func (m *Market) isExclusive(campaign uint32) bool {
	return m.campaigns.at(campaign).Flags&CampaignExclusive != 0
}

// markExclusive sets or clears ProductExclusive of a row. OWNERSHIP: r may be written.
func (m *Market) markExclusive(r *ProductRow) {
	r.Flags &^= ProductExclusive
	rows := m.bids.at(r.block, r.Bids)
	for i := range rows {
		if m.isExclusive(rows[i].Campaign) {
			r.Flags |= ProductExclusive
		}
	}
}

// ownBlock makes sure that no published view has the block of a product, by copying it if necessary.
func (m *Market) ownBlock(r *ProductRow) {
	if r.block >= m.bids.publishedBlocks {
		return
	}
	block := m.bids.add(r.Bids)
	copy(m.bids.at(block, r.Bids), m.bids.at(r.block, r.Bids))
	r.block, r.freeRows = block, 0
}

func (m *Market) dropPredicate(row BidRow) {
	if ref := uint32(row.Terms & predicateMask); ref != 0 {
		m.predicates.replace(ref, nil)
	}
}

// dropBids removes every bid of a group's campaigns.
func (m *Market) dropBids(g ids.Group) {
	for product := range m.products.count {
		r := m.products.at(product)
		for at := int(r.Bids) - 1; at >= 0; at-- {
			r = m.products.at(product)
			if m.campaigns.at(m.bids.at(r.block, r.Bids)[at].Campaign).Group == uint16(g) {
				m.removeBid(product, at)
			}
		}
	}
}
