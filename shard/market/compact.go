package market

// compact rewrites the arenas of which a third is waste. Older views keep the old chunks as long as they are in use.
func (m *Market) compact() {
	if m.bids.wasteful() || m.predicates.wasteful() {
		m.compactBids()
	}
	if m.details.wasteful() {
		m.compactDetails()
	}
}

// compactBids copies every product's bids to a new block without free rows, and the predicates of the bids to new
// memory.
func (m *Market) compactBids() {
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
		r.block, r.freeRows = block, 0
		for j, row := range rows {
			if ref := uint32(row.Terms & predicateMask); ref != 0 {
				ref = m.predicates.put(oldPredicates.at(ref))
				rows[j].Terms = row.Terms&^predicateMask | Terms(ref)&predicateMask
			}
		}
	}
}

// compactDetails copies the details of every product to new memory.
func (m *Market) compactDetails() {
	old := m.details
	m.details = wordArena{}
	for i := range m.products.count {
		if ref := m.products.at(i).details; ref != 0 {
			m.products.edit(i, m.edition).details = m.details.put(old.at(ref))
		}
	}
}
