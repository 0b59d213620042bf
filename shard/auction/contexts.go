package auction

import (
	"bytes"

	"github.com/gavel-ads/gavel/shard/market"
)

// collect fills hits with the products that the contexts of auction i allow, each once: those of products.ids, else those
// in the category. A search query alone allows none, because no bid has a keyword yet.
func (s *Scratch) collect(i int) {
	if s.a.Category.Form != NoCategory {
		s.wanted.resolve(s.v, s.t.Marketplace, s.req, &s.a.Category)
	}
	s.rowSeen.clear()
	switch {
	case s.a.HasProducts:
		s.collectProducts(i)
	case s.a.Category.Form != NoCategory:
		s.collectCategory()
	}
}

func (s *Scratch) collectProducts(i int) {
	from := 0
	if i > 0 {
		from = s.ends[i-1]
	}
	for _, f := range s.found[from:s.ends[i]] {
		if s.v.ProductRow(f.row).Marketplace != s.t.Marketplace {
			continue // It only has the hash of this marketplace's id.
		}
		quality := uint32(market.QualityOne)
		if len(s.a.Quality) > 0 {
			quality = s.a.Quality[f.index]
		}
		s.hit(f.row, f.index, quality)
	}
}

// hit adds a product, unless an earlier position of the request has it.
func (s *Scratch) hit(row, index, quality uint32) {
	r := s.v.ProductRow(row)
	h := hit{row: row, index: index, quality: uint64(quality) * uint64(r.Quality), best: none, other: none}
	at, added := s.rowSeen.add(uint64(row), uint32(len(s.hits))) //nolint:gosec // fewer hits than 2^32.
	if added {
		s.hits = append(s.hits, h)
		return
	}
	// The first of equal ids stands, but an id that only has the product's hash must not stand for the product.
	if index != fromCategory && !s.isProduct(&s.hits[at]) && s.isProduct(&h) {
		s.hits[at] = h
	}
}

// isProduct compares the id in the request with the product's.
func (s *Scratch) isProduct(h *hit) bool {
	return h.index == fromCategory ||
		bytes.Equal(s.v.Key(s.v.ProductRow(h.row)), s.req.Text(s.a.Products[h.index].Span))
}

// collectCategory walks the products with bids of a set of categories that holds all that satisfy the request.
func (s *Scratch) collectCategory() {
	mark := len(s.found)
	for _, tree := range s.wanted.smallest(s.v) {
		for at := tree.From; at < tree.To; at++ {
			for _, row := range s.v.Members(at) {
				if r := s.v.ProductRow(row); r.Bids > 0 && s.wanted.holds(s.v, r) {
					s.found = append(s.found, found{row: row, index: fromCategory})
				}
			}
		}
	}
	s.touch(s.found[mark:])
	for _, f := range s.found[mark:] {
		s.hit(f.row, f.index, market.QualityOne)
	}
	s.found = s.found[:mark]
}

// sends reports whether the product of a row is among the request's ids.
func (s *Scratch) sends(row uint32) bool {
	if !s.idsAdded {
		s.idSeen.clear()
		for i, id := range s.a.Products {
			s.idSeen.add(id.Hash, uint32(i)) //nolint:gosec // at most ProductsMax.
		}
		s.idsAdded = true
	}
	hash := s.v.HashOf(row)
	first, ok := s.idSeen.get(hash)
	if !ok {
		return false
	}
	key := s.v.Key(s.v.ProductRow(row))
	for _, id := range s.a.Products[first:] { // Ends at the first unless two ids share a hash.
		if id.Hash == hash && bytes.Equal(key, s.req.Text(id.Span)) {
			return true
		}
	}
	return false
}
