package wire

import (
	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/money"
)

// qualityBits are the fraction bits of model.QualityOne.
const qualityBits = 30

// The members of products.
const (
	productsIDs = iota
	productsQuality
)

var productsMembers = []string{"ids", "qualityScores"}

func (s *scanner) products(a *auction.Auction) {
	from := s.pos
	if s.peek() != '{' {
		if s.other() == wrong {
			s.violate(fieldProducts, apierr.BadRequest, "auctions[#].products", "must be an object", from)
		}
		return
	}
	ids, scores, scored := 0, 0, false
	o := s.object(productsMembers, "auctions[#].products")
	for m := s.member(&o); m != end; m = s.member(&o) {
		switch m {
		case productsIDs:
			ids = s.productIDs(a)
		case productsQuality:
			scores, scored = s.qualityScores(a)
		}
	}
	a.HasProducts = true
	switch {
	case ids == 0:
		s.violate(fieldProducts, apierr.NoProducts, "auctions[#].products.ids", "must hold 1 to 10000 ids", missing)
	case ids > auction.ProductsMax:
		s.violate(fieldProducts, apierr.TooManyProducts, "auctions[#].products.ids", "must hold at most 10000 ids", missing)
	case scored && scores != ids:
		s.violate(fieldQualityCount, apierr.ProductInfoMismatch, "auctions[#].products.qualityScores",
			"must have as many elements as ids", missing)
	}
}

// productIDs reads products.ids and returns the number of elements. Parsing a request of many products spends most of its
// time here.
func (s *scanner) productIDs(a *auction.Auction) (count int) {
	from := s.pos
	if s.peek() != '[' {
		if s.other() == absent {
			return 0
		}
		s.violate(fieldProducts, apierr.BadRequest, "auctions[#].products.ids", "must be an array", from)
		return 1 // Not 0, so that the caller does not report the array as empty too.
	}
	ids := a.Products[:0]
	s.array()
	for s.element(count) {
		if run := s.plainIDs(ids, auction.ProductsMax-count); len(run) > len(ids) {
			count += len(run) - len(ids)
			ids = run
			continue
		}
		count++
		if count > auction.ProductsMax {
			s.skip()
			continue
		}
		from = s.pos
		sp, p := s.stringValue()
		if p != present || sp.Len == 0 || sp.Len > idMax && longer(s.text(sp), idMax) {
			s.badProductID(count-1, from, p != wrong && sp.Len == 0)
			continue
		}
		ids = append(ids, s.id(sp))
		s.prefetch(&ids[len(ids)-1])
	}
	a.Products = ids
	return count
}

func (s *scanner) badProductID(i, from int, empty bool) {
	s.at[1] = int32(i) // Below ProductsMax.
	code := apierr.BadRequest
	if empty {
		code = apierr.MissingProductID
	}
	s.violate(fieldProducts, code, "auctions[#].products.ids[#]", "must be a string of 1 to 255 characters", from)
}

// qualityScores reads products.qualityScores and returns the number of elements, and whether the member is present.
func (s *scanner) qualityScores(a *auction.Auction) (count int, there bool) {
	from := s.pos
	if s.peek() != '[' {
		if s.other() == wrong {
			s.violate(fieldQualityCount, apierr.BadRequest, "auctions[#].products.qualityScores", "must be an array", from)
		}
		return 0, false
	}
	scores := a.Quality[:0]
	s.array()
	for ; s.element(count); count++ {
		if count >= auction.ProductsMax {
			s.skip()
			continue
		}
		from = s.pos
		text, p := s.numberValue()
		score, err := money.ParseFraction(text, qualityBits)
		if p != present || err != nil {
			s.at[1] = int32(count) // Below ProductsMax.
			code := apierr.InvalidQualityScore
			if p == wrong || len(text) > numberLenMax {
				code = apierr.BadRequest
			}
			s.violate(fieldQuality, code, "auctions[#].products.qualityScores[#]",
				"must be a number from 0.0 to 1.0 of at most 32 characters", from)
		}
		scores = append(scores, score)
	}
	a.Quality = scores
	return count, true
}
