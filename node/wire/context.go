package wire

import (
	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
)

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

// categoryArray reads an array of category ids. level is the index in scanner.at of the position of its elements.
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
		s.at[level] = int32(count) // Below CategoryArrayMax.
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
		s.at[1] = int32(count) // Below CategoryArrayMax.
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
