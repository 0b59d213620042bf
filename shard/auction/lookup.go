package auction

import "unsafe"

// What an auction reads lies scattered over hundreds of megabytes. So all ids of a request are looked up together, before its
// first auction decides anything, in passes of which each asks for what the next one reads (market.Ahead).

// found is a product that an auction may sell.
type found struct {
	row   uint32
	index uint32 // Position in the auction's ids, fromCategory if there is none.
}

// lookUp finds the products of every auction: those of auction i stand in found up to ends[i], after the ones before it.
func (s *Scratch) lookUp() {
	s.sift()
	s.found = s.found[:0]
	from := 0
	for i := range s.req.Auctions {
		a := &s.req.Auctions[i]
		for _, at := range s.picked[from:s.ends[i]] {
			id := &a.Products[at]
			if row, ok := s.v.Product(s.t.Marketplace, id.Hash, s.req.Text(id.Span), a.onlyOffered()); ok {
				s.found = append(s.found, found{row: row, index: at})
				s.ahead.Product(s.v, row)
			}
		}
		s.ahead.Ask()
		from, s.ends[i] = s.ends[i], len(s.found)
	}
	s.askForOffers(s.found)
}

// askForOffers asks for what decides about products.
func (s *Scratch) askForOffers(list []found) {
	for i := range list {
		s.ahead.Offer(s.v, s.v.ProductRow(list[i].row))
	}
	s.ahead.Ask()
}

// onlyOffered: an external bid may be on a product that has no other.
func (a *Auction) onlyOffered() bool { return len(a.External) == 0 }

// sold returns the ids of the products that may win: in the auction of a place they are only a context.
func (a *Auction) sold() []ID {
	if a.Kind == Banners || a.Kind == SponsoredBrand {
		return nil
	}
	return a.Products
}

// sift fills picked with the positions of the ids that the product table may hold, by one word of it and without a branch
// for each id. Those of auction i end at ends[i].
func (s *Scratch) sift() {
	s.ends = s.ends[:0]
	sieve, n := s.v.Products(), 0
	for i := range s.req.Auctions {
		ids := s.req.Auctions[i].sold()
		if room := n + len(ids); len(s.picked) < room {
			s.picked = append(make([]uint32, 0, max(room, 512)), s.picked[:n]...)
			s.picked = s.picked[:cap(s.picked)]
		}
		picked := s.picked
		if len(ids) > 0 && !s.req.Sieve.Is(sieve) {
			sieve.Prefetch(&ids[0].Hash, unsafe.Sizeof(ids[0]), len(ids))
		}
		first := n
		for at := range ids {
			picked[n] = uint32(at) //nolint:gosec // at most ProductsMax.
			n += sieve.Passes(ids[at].Hash)
		}
		s.ends = append(s.ends, n)
		for _, at := range picked[first:n] {
			s.ahead.Entry(s.v, ids[at].Hash)
		}
		s.ahead.Ask()
	}
}

// fewIDs is how many ids a request may have for the table entries of all to be asked for, before it is known which of them count:
// it waits for latency alone.
const fewIDs = 16

// askForFew asks for what the look-up of a small request reads of the table, so that it is on its way while the request is prepared.
func (s *Scratch) askForFew() {
	n := 0
	for i := range s.req.Auctions {
		n += len(s.req.Auctions[i].sold())
	}
	if n > fewIDs {
		return
	}
	for i := range s.req.Auctions {
		for _, id := range s.req.Auctions[i].sold() {
			s.ahead.Tags(s.v, id.Hash)
			s.ahead.Entry(s.v, id.Hash)
		}
	}
	s.ahead.Ask()
}
