package auction

import (
	"unsafe"

	"github.com/gavel-ads/gavel/shard/market"
)

// The data that an auction reads is spread over hundreds of megabytes. So all ids of a request are looked up together
// before its first auction is run, in passes of which each prefetches what the next one reads (market.Prefetcher).

// found is a product that an auction may sell.
type found struct {
	row   uint32
	index uint32 // Position in the auction's ids, fromCategory if there is none.
}

// lookUp finds the products of every auction. Those of auction i are in found from ends[i-1] (or 0) to ends[i].
func (s *Scratch) lookUp() {
	s.prefilter()
	s.found = s.found[:0]
	from := 0
	for i := range s.req.Auctions {
		a := &s.req.Auctions[i]
		for _, at := range s.prefiltered[from:s.ends[i]] {
			id := &a.Products[at]
			if row, ok := s.v.Product(s.t.Marketplace, id.Hash, s.req.Text(id.Span), a.onlyWithBids()); ok {
				s.found = append(s.found, found{row: row, index: at})
				s.prefetcher.AddProduct(s.v, row)
				s.prefetcher.AddAd(s.v, market.ProductAd(row, a.PlacementIndex))
			}
		}
		s.prefetcher.Flush()
		from, s.ends[i] = s.ends[i], len(s.found)
	}
	s.prefetchFirstBids(s.found)
}

// prefetchFirstBids prefetches what decides about the first bids of products.
func (s *Scratch) prefetchFirstBids(list []found) {
	for i := range list {
		s.prefetcher.AddFirstBid(s.v, s.v.ProductRow(list[i].row))
	}
	s.prefetcher.Flush()
}

// onlyWithBids reports whether only products that have had a bid matter. An external bid may be on a product without
// another bid.
func (a *Auction) onlyWithBids() bool { return len(a.External) == 0 }

// candidateIDs returns the ids of the products that may win. In the auction of a place, product ids are only a context.
func (a *Auction) candidateIDs() []ID {
	if a.Kind == Banners || a.Kind == SponsoredBrand {
		return nil
	}
	return a.Products
}

// prefilter fills prefiltered with the positions of the ids that the product table may contain. For each id it reads
// one word of the table and has no branch. The positions of auction i end at ends[i].
func (s *Scratch) prefilter() {
	s.ends = s.ends[:0]
	filter, n := s.v.ProductFilter(), 0
	for i := range s.req.Auctions {
		ids := s.req.Auctions[i].candidateIDs()
		if need := n + len(ids); len(s.prefiltered) < need {
			s.prefiltered = append(make([]uint32, 0, max(need, 512)), s.prefiltered[:n]...)
			s.prefiltered = s.prefiltered[:cap(s.prefiltered)]
		}
		positions := s.prefiltered
		if len(ids) > 0 && !s.req.TagFilter.Same(filter) {
			filter.Prefetch(&ids[0].Hash, unsafe.Sizeof(ids[0]), len(ids))
		}
		first := n
		for at := range ids {
			positions[n] = uint32(at) // At most ProductsMax.
			n += filter.MayContain(ids[at].Hash)
		}
		s.ends = append(s.ends, n)
		for _, at := range positions[first:n] {
			s.prefetcher.AddEntry(s.v, ids[at].Hash)
		}
		s.prefetcher.Flush()
	}
}

// smallRequestIDs is the number of ids up to which the table entries of all ids are prefetched before the filter is
// evaluated. Such a request mostly waits for memory latency, so the unneeded prefetches cost little.
const smallRequestIDs = 16

// prefetchSmall prefetches the table entries of a small request, so that they are loaded while the request is prepared.
func (s *Scratch) prefetchSmall() {
	n := 0
	for i := range s.req.Auctions {
		n += len(s.req.Auctions[i].candidateIDs())
	}
	if n > smallRequestIDs {
		return
	}
	for i := range s.req.Auctions {
		for _, id := range s.req.Auctions[i].candidateIDs() {
			s.prefetcher.AddTags(s.v, id.Hash)
			s.prefetcher.AddEntry(s.v, id.Hash)
		}
	}
	s.prefetcher.Flush()
}
