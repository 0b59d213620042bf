package wire

import (
	"bytes"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
)

// Bounds of a filter's texts, in characters.
const (
	attributeKeyMax = 40
	promotionMax    = 64
)

// The members of filter.
const (
	filterOperator = iota
	filterOperation
	filterAttributes
	filterPromotions
)

var filterMembers = []string{"operator", "operation", "attributes", "promotions"}

func (s *scanner) filter(a *auction.Auction) {
	from := s.pos
	if s.peek() != '{' {
		if s.other() == wrong {
			s.badFilter("auctions[#].filter", "must be an object", from)
		}
		return
	}
	operator, operation := notGiven, notGiven
	o := s.object(filterMembers, "auctions[#].filter")
	for m := s.member(&o); m != end; m = s.member(&o) {
		switch m {
		case filterOperator:
			operator = s.operator("auctions[#].filter.operator")
		case filterOperation:
			operation = s.operator("auctions[#].filter.operation")
		case filterAttributes:
			a.Filter.Attributes = s.filterTexts(a.Filter.Attributes[:0], auction.FilterAttributeMax, attribute,
				"auctions[#].filter.attributes", "must be an array of 1 to 5 strings",
				"auctions[#].filter.attributes[#]", "must be key:value, each of 1 to 40 characters")
		case filterPromotions:
			a.Filter.Promotions = s.filterTexts(a.Filter.Promotions[:0], auction.FilterPromotionMax, promotion,
				"auctions[#].filter.promotions", "must be an array of 1 to 3 strings",
				"auctions[#].filter.promotions[#]", "must be a string of 1 to 64 characters")
		}
	}
	if operator == notGiven {
		operator = operation // The alias counts only where the interface's own name is absent.
	}
	a.Filter.Or = operator == or
	a.Filter.Set = len(a.Filter.Attributes)+len(a.Filter.Promotions) > 0
}

func (s *scanner) badFilter(path, rule string, from int) {
	s.violate(fieldFilter, apierr.BadRequest, path, rule, from)
}

type operator uint8

const (
	notGiven operator = iota
	and
	or
)

func (s *scanner) operator(path string) operator {
	from := s.pos
	sp, p := s.optionalString()
	switch {
	case p == absent:
		return notGiven
	case p == present && string(s.text(sp)) == "and":
		return and
	case p == present && string(s.text(sp)) == "or":
		return or
	}
	s.badFilter(path, "must be and or or", from)
	return notGiven
}

// filterTexts reads an array of 1 to most strings, each of which good must accept.
func (s *scanner) filterTexts(dst []auction.ID, most int, good func([]byte) bool, path, rule, elementPath, elementRule string) []auction.ID {
	from := s.pos
	if s.peek() != '[' {
		if s.other() == wrong {
			s.badFilter(path, rule, from)
		}
		return dst
	}
	s.array()
	count := 0
	for ; s.element(count); count++ {
		if count >= most {
			s.skip()
			continue
		}
		s.at[1] = int32(count) // Below most.
		from := s.pos
		sp, p := s.stringValue()
		if p != present || !good(s.text(sp)) {
			s.badFilter(elementPath, elementRule, from)
		}
		dst = append(dst, s.id(sp))
	}
	if count < 1 || count > most {
		s.badFilter(path, rule, from)
	}
	return dst
}

// attribute reports whether text is key:value. The first colon separates the two; the value may contain more colons.
func attribute(text []byte) bool {
	key, value, found := bytes.Cut(text, []byte(":"))
	return found && len(key) > 0 && !longer(key, attributeKeyMax) && len(value) > 0 && !longer(value, attributeKeyMax)
}

func promotion(text []byte) bool { return len(text) > 0 && !longer(text, promotionMax) }
