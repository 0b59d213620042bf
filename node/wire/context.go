package wire

import (
	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/money"
)

// qualityBits are the fraction bits of market.QualityOne.
const qualityBits = 30

// The members of products.
const (
	productsIDs = iota
	productsQuality
)

var productsMembers = []string{"ids", "qualityScores"}

func (s *scanner) products(a *auction.Auction) {
	from := s.pos
	switch s.peek() {
	case '{':
	case 'n':
		s.literal("null")
		return
	default:
		s.skip()
		s.violate(fieldProducts, apierr.BadRequest, "auctions[#].products", "must be an object", from)
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

// productIDs reads products.ids and returns how many there are. It is where an auction request spends its time.
func (s *scanner) productIDs(a *auction.Auction) (count int) {
	from := s.pos
	switch s.peek() {
	case '[':
	case 'n':
		s.literal("null")
		return 0
	default:
		s.skip()
		s.violate(fieldProducts, apierr.BadRequest, "auctions[#].products.ids", "must be an array", from)
		return 1 // Not empty.
	}
	ids := a.Products[:0]
	s.array()
	for ; s.element(count); count++ {
		if count >= auction.ProductsMax {
			s.skip()
			continue
		}
		from = s.pos
		sp, p := s.stringValue()
		if p != present || sp.Len == 0 || sp.Len > idMax && longer(s.text(sp), idMax) {
			s.badProductID(count, from, p != wrong && sp.Len == 0)
			continue
		}
		ids = append(ids, s.id(sp))
	}
	a.Products = ids
	return count
}

func (s *scanner) badProductID(i, from int, empty bool) {
	s.at[1] = int32(i) //nolint:gosec // below ProductsMax.
	code := apierr.BadRequest
	if empty {
		code = apierr.MissingProductID
	}
	s.violate(fieldProducts, code, "auctions[#].products.ids[#]", "must be a string of 1 to 255 characters", from)
}

// qualityScores reads products.qualityScores and returns how many there are, and whether the member is there.
func (s *scanner) qualityScores(a *auction.Auction) (count int, there bool) {
	from := s.pos
	switch s.peek() {
	case '[':
	case 'n':
		s.literal("null")
		return 0, false
	default:
		s.skip()
		s.violate(fieldQualityCount, apierr.BadRequest, "auctions[#].products.qualityScores", "must be an array", from)
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
			s.at[1] = int32(count) //nolint:gosec // below ProductsMax.
			code := apierr.InvalidQualityScore
			if len(text) > numberLenMax {
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

// The members of category.
const (
	categoryID = iota
	categoryIDs
	categoryDisjunctions
)

var categoryMembers = []string{"id", "ids", "disjunctions"}

func (s *scanner) category(a *auction.Auction) {
	from := s.pos
	c := &a.Category
	switch s.peek() {
	case '{':
	case '"', 'n':
		if sp, p := s.optionalString(); p == present {
			c.Form = auction.OneCategory
			s.addCategory(c, sp, "auctions[#].category", from)
		}
		return
	default:
		s.skip()
		s.badCategory("auctions[#].category", "must be an object with exactly one of id, ids and disjunctions", from)
		return
	}
	forms := 0
	o := s.object(categoryMembers, "auctions[#].category")
	for m := s.member(&o); m != end; m = s.member(&o) {
		from := s.pos
		switch {
		case s.null():
			continue
		case m == categoryID:
			c.Form = auction.OneCategory
			s.categoryText(c, "auctions[#].category.id", from)
		case m == categoryIDs:
			c.Form = auction.AllCategories
			s.categoryArray(c, 1, "auctions[#].category.ids", "auctions[#].category.ids[#]")
		case m == categoryDisjunctions:
			c.Form = auction.Disjunctions
			s.disjunctions(c)
		}
		forms++
	}
	if forms != 1 {
		s.badCategory("auctions[#].category", "must have exactly one of id, ids and disjunctions", from)
	}
}

func (s *scanner) badCategory(path, rule string, from int) {
	s.violate(fieldCategory, apierr.InvalidCategory, path, rule, from)
}

// categoryText reads one category id.
func (s *scanner) categoryText(c *auction.Category, path string, from int) {
	sp, p := s.stringValue()
	if p != present || sp.Len == 0 {
		s.badCategory(path, "must be a string of 1 to 255 characters", from)
		return
	}
	s.addCategory(c, sp, path, from)
}

func (s *scanner) addCategory(c *auction.Category, sp auction.Span, path string, from int) {
	if longer(s.text(sp), idMax) {
		s.violate(fieldCategory, apierr.BadRequest, path, "must be a string of 1 to 255 characters", from)
	}
	c.IDs = append(c.IDs, s.id(sp))
}

// categoryArray reads an array of category ids; level is where its position stands in the path.
func (s *scanner) categoryArray(c *auction.Category, level int, path, elementPath string) {
	from := s.pos
	if s.peek() != '[' {
		s.skip()
		s.badCategory(path, "must be an array of 1 to 5 strings", from)
		return
	}
	s.array()
	count := 0
	for ; s.element(count); count++ {
		if count >= auction.CategoryArrayMax {
			s.skip()
			continue
		}
		s.at[level] = int32(count) //nolint:gosec // below CategoryArrayMax.
		s.categoryText(c, elementPath, s.pos)
	}
	if count < 1 || count > auction.CategoryArrayMax {
		s.badCategory(path, "must hold 1 to 5 elements", from)
	}
}

func (s *scanner) disjunctions(c *auction.Category) {
	from := s.pos
	if s.peek() != '[' {
		s.skip()
		s.badCategory("auctions[#].category.disjunctions", "must be an array of 1 to 5 arrays", from)
		return
	}
	s.array()
	count := 0
	for ; s.element(count); count++ {
		if count >= auction.CategoryArrayMax {
			s.skip()
			continue
		}
		s.at[1] = int32(count) //nolint:gosec // below CategoryArrayMax.
		s.categoryArray(c, 2, "auctions[#].category.disjunctions[#]", "auctions[#].category.disjunctions[#][#]")
		c.Ends = append(c.Ends, len(c.IDs))
	}
	if count < 1 || count > auction.CategoryArrayMax {
		s.badCategory("auctions[#].category.disjunctions", "must hold 1 to 5 elements", from)
	}
}

func (s *scanner) search(a *auction.Auction) {
	from := s.pos
	sp, p := s.optionalString()
	text := s.text(sp)
	switch {
	case p == absent:
		return
	case p == wrong:
		s.violate(fieldSearch, apierr.BadRequest, "auctions[#].searchQuery", "must be a string", from)
	case words(text, searchWords) > searchWords:
		s.violate(fieldSearch, apierr.TooManySearchQueryWords, "auctions[#].searchQuery", "must have at most 32 words", from)
	case longer(text, searchMax):
		s.violate(fieldSearch, apierr.BadRequest, "auctions[#].searchQuery", "must have at most 1024 characters", from)
	}
	a.HasSearch, a.Search = true, sp
}

// The members of geoTargeting.
const (
	geoLocation = iota
	geoLocations
)

var geoMembers = []string{"location", "locations"}

func (s *scanner) geo(a *auction.Auction) {
	from := s.pos
	switch s.peek() {
	case '{':
	case '"', 'n':
		if sp, p := s.optionalString(); p == present {
			s.addLocation(a, sp, "auctions[#].geoTargeting", from)
		}
		return
	default:
		s.skip()
		s.badGeo("auctions[#].geoTargeting", "must be an object with location or locations", from)
		return
	}
	forms := 0
	o := s.object(geoMembers, "auctions[#].geoTargeting")
	for m := s.member(&o); m != end; m = s.member(&o) {
		from := s.pos
		switch {
		case s.null():
			continue
		case m == geoLocation:
			s.location(a, "auctions[#].geoTargeting.location", from)
		case m == geoLocations:
			s.locations(a)
		}
		forms++
	}
	if forms != 1 {
		s.badGeo("auctions[#].geoTargeting", "must have exactly one of location and locations", from)
	}
}

func (s *scanner) badGeo(path, rule string, from int) {
	s.violate(fieldGeo, apierr.InvalidGeoTargeting, path, rule, from)
}

func (s *scanner) location(a *auction.Auction, path string, from int) {
	sp, p := s.optionalString()
	if p != present {
		s.badGeo(path, "must be a string of 1 to 255 characters", from)
		return
	}
	s.addLocation(a, sp, path, from)
}

func (s *scanner) addLocation(a *auction.Auction, sp auction.Span, path string, from int) {
	if longer(s.text(sp), idMax) {
		s.badGeo(path, "must be a string of 1 to 255 characters", from)
		return
	}
	a.Locations = append(a.Locations, s.folded(sp))
}

func (s *scanner) locations(a *auction.Auction) {
	from := s.pos
	if s.peek() != '[' {
		s.skip()
		s.badGeo("auctions[#].geoTargeting.locations", "must be an array of 1 to 2 strings", from)
		return
	}
	s.array()
	count := 0
	for ; s.element(count); count++ {
		if count >= auction.LocationsMax {
			s.skip()
			continue
		}
		s.at[1] = int32(count) //nolint:gosec // below LocationsMax.
		s.location(a, "auctions[#].geoTargeting.locations[#]", s.pos)
	}
	switch {
	case count == 0:
		s.badGeo("auctions[#].geoTargeting.locations", "must hold 1 to 2 locations", from)
	case count > auction.LocationsMax:
		s.violate(fieldGeo, apierr.TooManyLocations, "auctions[#].geoTargeting.locations", "must hold at most 2 locations", missing)
	}
}
