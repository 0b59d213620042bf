package auction

import (
	"bytes"
	"slices"

	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// collect fills hits with the entities that the contexts of auction i allow, each once. For listings and travel these
// are products: those of products.ids, otherwise those in the category or of the kind of travel, otherwise those that
// the search finds. For banners and sponsored brands they are the targets of the bids for the place.
func (s *Scratch) collect(i int) {
	if s.a.Category.Form != NoCategory {
		s.categories.resolve(s.v, s.t.Marketplace, s.req, &s.a.Category)
	}
	s.hitByRow.clear()
	switch {
	case s.a.Kind == Banners || s.a.Kind == SponsoredBrand:
		if s.place != nil {
			s.collectAds()
		}
	case s.a.HasProducts:
		s.collectProducts(i)
	case s.travelOnly:
		s.collectTravel()
	case s.a.Category.Form != NoCategory:
		s.collectCategory()
	case s.a.HasSearch:
		s.collectSearch()
	}
}

func (s *Scratch) collectProducts(i int) {
	from := 0
	if i > 0 {
		from = s.ends[i-1]
	}
	flights := s.a.Kind == Flights
	if flights {
		s.pairSeen.clear()
	}
	for _, f := range s.found[from:s.ends[i]] {
		if s.v.ProductRow(f.row).Marketplace != s.t.Marketplace {
			continue // Another marketplace's product, whose id has the same hash.
		}
		quality := uint32(model.QualityOne)
		if len(s.a.Quality) > 0 {
			quality = s.a.Quality[f.index]
		}
		if flights {
			s.pair(f.row, f.index, quality)
			continue
		}
		s.hit(f.row, f.index, quality)
	}
}

// hit adds a product to hits, unless an earlier position of the request has added it.
func (s *Scratch) hit(row, index, quality uint32) {
	r := s.v.ProductRow(row)
	h := hit{row: row, index: index, quality: uint64(quality) * uint64(r.Quality), best: none, other: none, next: lastPair}
	at, added := s.hitByRow.add(uint64(row), uint32(len(s.hits))) // Fewer hits than 2^32.
	if added {
		s.hits = append(s.hits, h)
		return
	}
	// The first of equal ids is used. An id that only has the same hash as the product's is replaced by the right one.
	if index != fromCategory && !s.isProduct(&s.hits[at]) && s.isProduct(&h) {
		s.hits[at] = h
	}
}

// isProduct compares the id in the request with the product's.
func (s *Scratch) isProduct(h *hit) bool {
	return h.index == fromCategory ||
		bytes.Equal(s.v.Key(s.v.ProductRow(h.row)), s.req.Text(s.a.Products[h.index].Span))
}

// collectCategory adds the products with bids that satisfy the category context. It checks those of the smallest
// clause.
func (s *Scratch) collectCategory() {
	mark := len(s.found)
	for _, tree := range s.categories.smallest(s.v) {
		for at := tree.From; at < tree.To; at++ {
			for _, row := range s.v.CategoryMembers(at) {
				if r := s.v.ProductRow(row); r.Bids > 0 && s.categories.satisfiedBy(s.v, r) {
					s.found = append(s.found, found{row: row, index: fromCategory})
				}
			}
		}
	}
	s.hitFound(mark)
}

// collectTravel adds the products with bids of a kind of travel, except those of other sites and categories.
func (s *Scratch) collectTravel() {
	kind := "hotels"
	if s.a.Kind == Flights {
		kind = "flights"
	}
	var travel market.Travel
	travel, s.key = s.v.Travel(s.key, s.t.Marketplace, kind, s.req.Text(s.a.Site))
	mark := len(s.found)
	for _, row := range s.v.TravelMembers(travel) {
		r := s.v.ProductRow(row)
		if r.Bids > 0 && s.v.IsTravel(r, travel) && (s.a.Category.Form == NoCategory || s.categories.satisfiedBy(s.v, r)) {
			s.found = append(s.found, found{row: row, index: fromCategory})
		}
	}
	s.hitFound(mark)
}

// collectSearch adds the products with a bid whose keyword matches or that has no trigger. Each keyword is listed under
// one of its words, so the keywords of every word of the query are checked once.
func (s *Scratch) collectSearch() {
	mark := len(s.found)
	s.findMembers(s.v.UntriggeredMembers(s.t.Marketplace))
	for i, word := range s.query {
		if word == market.NoWord || slices.Contains(s.query[:i], word) {
			continue
		}
		for _, keyword := range s.v.KeywordsUnder(word) {
			if s.v.Matches(keyword, s.query) {
				s.findMembers(s.v.KeywordMembers(keyword))
			}
		}
	}
	s.hitFound(mark)
}

func (s *Scratch) findMembers(rows []uint32) {
	for _, row := range rows {
		if s.v.ProductRow(row).Bids > 0 {
			s.found = append(s.found, found{row: row, index: fromCategory})
		}
	}
}

// hitFound adds the products of found from index mark on to hits, and removes them from found.
func (s *Scratch) hitFound(mark int) {
	s.prefetchFirstBids(s.found[mark:])
	for _, f := range s.found[mark:] {
		s.hit(f.row, f.index, model.QualityOne)
	}
	s.found = s.found[:mark]
}

// namesProduct reports whether the product of a row is among the auction's product ids.
func (s *Scratch) namesProduct(row uint32) bool {
	return s.namesID(s.v.HashOf(row), s.v.Key(s.v.ProductRow(row)))
}

// namesID reports whether an id is among the auction's product ids.
func (s *Scratch) namesID(hash uint64, text []byte) bool {
	if !s.idsAdded {
		s.positionByID.clear()
		for i, id := range s.a.Products {
			s.positionByID.add(id.Hash, uint32(i)) // At most ProductsMax.
		}
		s.idsAdded = true
	}
	first, ok := s.positionByID.get(hash)
	if !ok {
		return false
	}
	for _, id := range s.a.Products[first:] { // It returns at the first id, unless two ids have the same hash.
		if id.Hash == hash && bytes.Equal(text, s.req.Text(id.Span)) {
			return true
		}
	}
	return false
}
