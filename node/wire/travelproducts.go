package wire

import (
	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// The members of a travel product. The two names of the variation differ in case alone, so they are one member.
const (
	travelProductID = iota
	travelVariationID
	travelVariationAlias
	travelPrice
	travelScore
)

var travelProductMembers = []string{"id", "variationID", "variationId", "price", "qualityScore"}

// travelProducts reads products: an array of objects, or the object of the other auctions.
func (s *scanner) travelProducts(a *auction.Auction) {
	from := s.pos
	switch s.peek() {
	case '[':
	case '{':
		s.products(a)
		s.scope = scopeFlights
		s.violate(fieldProducts, apierr.MissingVariationID, "auctions[#].products", "must be an array of objects with variationID", from)
		return
	default:
		if s.other() == wrong {
			s.violate(fieldProducts, apierr.BadRequest, "auctions[#].products", "must be an array", from)
		}
		return
	}
	a.HasProducts = true
	s.array()
	count := 0
	for ; s.element(count); count++ {
		if count >= auction.ProductsMax {
			s.skip()
			continue
		}
		s.at[1] = int32(count) // Below ProductsMax.
		s.travelProduct(a)
	}
	switch {
	case count == 0:
		s.violate(fieldProducts, apierr.NoProducts, "auctions[#].products", "must hold 1 to 10000 products", missing)
	case count > auction.ProductsMax:
		s.violate(fieldProducts, apierr.TooManyProducts, "auctions[#].products", "must hold at most 10000 products", missing)
	}
}

// travelProduct reads one product. Its rules share a row of the table and so have one rank, of which the first violation
// recorded is answered. They are therefore recorded at the end, in the row's order, so that the answer does not depend on
// the order of the members.
func (s *scanner) travelProduct(a *auction.Auction) {
	from := s.pos
	if s.peek() != '{' {
		s.skip()
		s.violate(fieldProducts, apierr.BadRequest, "auctions[#].products[#]", "must be an object", from)
		return
	}
	id := deferredFault{code: apierr.MissingProductID, from: missing}
	variation := deferredFault{code: apierr.MissingVariationID, from: missing}
	var price, score deferredFault
	var product, pair auction.Span
	quality := uint32(model.QualityOne)
	variations := 0
	o := s.object(travelProductMembers, "auctions[#].products[#]")
	for m := s.member(&o); m != end; m = s.member(&o) {
		switch m {
		case travelProductID:
			product, id = s.travelID(apierr.MissingProductID)
		case travelVariationID, travelVariationAlias:
			if variations++; variations > 1 {
				s.repeated(&o, missing, 0)
			}
			pair, variation = s.travelID(apierr.MissingVariationID)
		case travelPrice:
			price = s.travelPrice()
		case travelScore:
			quality, score = s.travelScore()
		}
	}
	s.violateDeferred(id, "auctions[#].products[#].id", "must be a string of 1 to 255 characters")
	s.scope = scopeFlights
	s.violateDeferred(variation, "auctions[#].products[#].variationID", "must be a string of 1 to 255 characters")
	s.violateDeferred(price, "auctions[#].products[#].price", "must be a number above 0 of at most 32 characters")
	s.violateDeferred(score, "auctions[#].products[#].qualityScore", "must be a number from 0.0 to 1.0 of at most 32 characters")
	s.scope = scopeHotels
	s.violateDeferred(score, "auctions[#].products[#].qualityScore", "must be a number from 0.0 to 1.0 of at most 32 characters")
	s.scope = scopeMain
	a.Products = append(a.Products, s.id(product))
	a.Variations = append(a.Variations, s.id(pair))
	a.Quality = append(a.Quality, quality)
}

// deferredFault is a violation that violateDeferred records later. There is none when code is OK.
type deferredFault struct {
	code     apierr.Code
	from, to int
}

// violateDeferred records a violation that a reader returned, if there is one.
func (s *scanner) violateDeferred(b deferredFault, path, rule string) {
	if b.code != apierr.OK {
		s.violateAt(s.base+fieldProducts, b.code, path, rule, b.from, b.to)
	}
}

// travelID reads a required id. empty is the code of the violation when the id is absent or empty.
func (s *scanner) travelID(empty apierr.Code) (auction.Span, deferredFault) {
	from := s.pos
	sp, p := s.stringValue()
	switch {
	case p == absent || p == present && sp.Len == 0:
		return auction.Span{}, deferredFault{empty, from, s.pos}
	case p == wrong || longer(s.text(sp), idMax):
		return auction.Span{}, deferredFault{apierr.BadRequest, from, s.pos}
	}
	return sp, deferredFault{}
}

// travelPrice checks a price. It has no effect on the auction and is not kept.
func (s *scanner) travelPrice() deferredFault {
	from := s.pos
	text, p := s.numberValue()
	if p == absent {
		return deferredFault{}
	}
	price, err := money.ParseDecimal(text)
	switch {
	case p == wrong || len(text) == 0 || len(text) > numberLenMax || err != nil && text[0] != '-':
		return deferredFault{apierr.BadRequest, from, s.pos}
	case err != nil || price <= 0:
		return deferredFault{apierr.NonPositivePrice, from, s.pos}
	}
	return deferredFault{}
}

func (s *scanner) travelScore() (quality uint32, _ deferredFault) {
	from := s.pos
	text, p := s.numberValue()
	if p == absent {
		return model.QualityOne, deferredFault{}
	}
	score, err := money.ParseFraction(text, qualityBits)
	switch {
	case len(text) > numberLenMax:
		return 0, deferredFault{apierr.BadRequest, from, s.pos}
	case p == wrong || err != nil:
		return 0, deferredFault{apierr.InvalidQualityScore, from, s.pos}
	}
	return score, deferredFault{}
}
