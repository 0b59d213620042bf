package market

// tidy rewrites the arenas that have become wasteful. Older views keep the old chunks until nobody reads them.
func (m *Market) tidy() {
	if m.bids.wasteful() || m.predicates.wasteful() {
		m.tidyBids()
	}
	if m.details.wasteful() {
		m.tidyDetails()
	}
}

// tidyBids gives every product a new block without room, and the bids new predicates.
func (m *Market) tidyBids() {
	old, oldPredicates := m.bids, m.predicates
	m.bids, m.predicates = bidArena{live: old.live}, wordArena{}
	for i := range m.products.count {
		if m.products.at(i).Bids == 0 {
			continue
		}
		r := m.products.edit(i, m.edition)
		block := m.bids.add(r.Bids)
		rows := m.bids.at(block, r.Bids)
		copy(rows, old.at(r.block, r.Bids))
		r.block, r.room = block, 0
		for j, row := range rows {
			if ref := uint32(row.Terms & predicateMask); ref != 0 {
				ref = m.predicates.put(oldPredicates.at(ref))
				rows[j].Terms = row.Terms&^predicateMask | Terms(ref)&predicateMask
			}
		}
	}
}

// tidyDetails rewrites the categories and metadata of every product.
func (m *Market) tidyDetails() {
	old := m.details
	m.details = wordArena{}
	for i := range m.products.count {
		if ref := m.products.at(i).details; ref != 0 {
			m.products.edit(i, m.edition).details = m.details.put(old.at(ref))
		}
	}
}
