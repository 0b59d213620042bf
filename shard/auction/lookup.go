package auction

import (
	"unsafe"

	"github.com/gavel-ads/gavel/shard/market"
)

// What an auction reads lies scattered over hundreds of megabytes. A step that follows an id from table to product to bid
// to campaign to balance waits for each line in turn; a pass that only loads one line for each of many ids has all of
// them on their way at once. So all ids of a request are looked up together, in such passes, before its first auction
// decides anything.

// found is a product that an auction may sell.
type found struct {
	row   uint32
	index uint32 // Position in the auction's ids, fromCategory if there is none.
}

// lookUp finds the products of every auction: those of auction i stand in found up to ends[i], after the ones before it.
func (s *Scratch) lookUp() {
	few := s.fewIDs()
	if few {
		s.touchIDs()
	}
	s.sift()
	if !few {
		s.touchPicked()
	}
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
		if len(ids) > 0 {
			sieve.Prefetch(&ids[0].Hash, unsafe.Sizeof(ids[0]), len(ids))
		}
		for at := range ids {
			picked[n] = uint32(at) //nolint:gosec // at most ProductsMax.
			n += sieve.Passes(ids[at].Hash)
		}
		s.ends = append(s.ends, n)
	}
}

// A request of few ids waits for latency alone: it costs less to load more lines than to load one after the other.
const (
	fewIDs      = 16 // Whose table entries are loaded before it is known which of them count,
	fewProducts = 32 // and that are taken for winners.
)

func (s *Scratch) fewIDs() bool {
	n := 0
	for i := range s.req.Auctions {
		n += len(s.req.Auctions[i].Products)
	}
	return n <= fewIDs
}

// touchIDs loads the table's lines of all ids.
func (s *Scratch) touchIDs() {
	sum := s.touched
	for i := range s.req.Auctions {
		for _, id := range s.req.Auctions[i].Products {
			sum += s.v.TouchProduct(id.Hash)
		}
	}
	s.touched = sum
}

// touchPicked loads the table's lines of what was picked.
func (s *Scratch) touchPicked() {
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

// touch loads the rows of products, then their first bids, and the campaigns and balances of these; of few products also
// what touchWinners does.
func (s *Scratch) touch(list []found) {
	few := len(list) <= fewProducts
	sum := s.touched
	for i := range list {
		sum += uint64(s.v.ProductRow(list[i].row).Campaign)
	}
	for i := range list {
		r := s.v.ProductRow(list[i].row)
		if few {
			sum += touchText(s.v.Key(r)) + uint64(s.v.CampaignText(r.Campaign)[0])
		}
		if bids := s.v.Bids(r); len(bids) > 0 {
			sum += uint64(bids[0].Ordinal)
		}
		sum += uint64(s.v.Campaign(r.Campaign).Ordinal) + uint64(s.v.Slot(r.Campaign).Left.Load()) //nolint:gosec // nobody reads it.
		sum += s.v.Gate(r.Campaign).Load()
	}
	s.touched = sum
}

func touchText(text []byte) uint64 {
	if len(text) == 0 {
		return 0
	}
	return uint64(text[0])
}

// touchWinners loads the texts of the products and campaigns that will win.
func (s *Scratch) touchWinners() {
	sum := s.touched
	for rank := range s.winners() {
		c := s.winner(rank)
		if row := s.hits[c.hit].row; row != market.NoProduct {
			sum += touchText(s.v.Key(s.v.ProductRow(row)))
		}
		sum += uint64(s.v.CampaignText(c.campaign)[0])
	}
	s.touched = sum
}
