package auction

// What an auction reads lies scattered over hundreds of megabytes. A step that follows an id from table to product to bid
// to campaign to balance waits for each line in turn; a pass that only loads one line for each of many ids has all of
// them on their way at once. So all ids of a request are looked up together, in such passes, before its first auction
// decides anything.

// found is a product that an auction may sell.
type found struct {
	row      uint32
	index    uint32 // Position in the auction's ids, fromCategory if there is none.
	campaign uint32 // Of the first bid, 0 without one.
}

// lookUp finds the products of every auction: those of auction i stand in found up to ends[i], after the ones before it.
func (s *Scratch) lookUp() {
	s.sift()
	s.touchEntries()
	s.found = s.found[:0]
	from := 0
	for i := range s.req.Auctions {
		a := &s.req.Auctions[i]
		for _, at := range s.picked[from:s.ends[i]] {
			id := &a.Products[at]
			if row, ok := s.v.Product(s.t.Marketplace, id.Hash, s.req.Text(id.Span), a.onlyOffered()); ok {
				s.found = append(s.found, found{row: row, index: at})
			}
		}
		from, s.ends[i] = s.ends[i], len(s.found)
	}
	s.touch(s.found)
}

// onlyOffered: an external bid may be on a product that has no other.
func (a *Auction) onlyOffered() bool { return len(a.External) == 0 }

// sift fills picked with the positions of the ids that the product table may hold, by one word of it and without a branch
// for each id. Those of auction i end at ends[i].
func (s *Scratch) sift() {
	s.ends = s.ends[:0]
	n := 0
	for i := range s.req.Auctions {
		ids := s.req.Auctions[i].Products
		if room := n + len(ids); len(s.picked) < room {
			s.picked = append(make([]uint32, 0, max(room, 512)), s.picked[:n]...)
			s.picked = s.picked[:cap(s.picked)]
		}
		picked := s.picked
		for at := range ids {
			picked[n] = uint32(at) //nolint:gosec // at most ProductsMax.
			n += s.v.MaybeProduct(ids[at].Hash)
		}
		s.ends = append(s.ends, n)
	}
}

// touchEntries loads the table entries of what was picked.
func (s *Scratch) touchEntries() {
	sum, from := s.touched, 0
	for i, end := range s.ends {
		ids := s.req.Auctions[i].Products
		for _, at := range s.picked[from:end] {
			sum += s.v.TouchProduct(ids[at].Hash)
		}
		from = end
	}
	s.touched = sum
}

// touch loads the rows of products, then their first bids, then the campaigns and balances of these.
func (s *Scratch) touch(list []found) {
	sum := s.touched
	for i := range list {
		sum += uint64(s.v.ProductRow(list[i].row).Quality)
	}
	for i := range list {
		if bids := s.v.Bids(s.v.ProductRow(list[i].row)); len(bids) > 0 {
			list[i].campaign = bids[0].Campaign
		}
	}
	for i := range list {
		campaign := list[i].campaign
		sum += uint64(s.v.Campaign(campaign).Ordinal) + uint64(s.v.Slot(campaign).Left.Load()) //nolint:gosec // nobody reads it.
	}
	s.touched = sum
}

// touchWinners loads the texts of the products and campaigns that will win.
func (s *Scratch) touchWinners() {
	sum := s.touched
	for _, at := range s.top[:s.winners()] {
		if key := s.v.Key(s.v.ProductRow(s.hits[at].row)); len(key) > 0 {
			sum += uint64(key[0])
		}
		sum += uint64(s.v.CampaignText(s.bestOf(at).campaign)[0])
	}
	s.touched = sum
}
