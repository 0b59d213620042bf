package wire

import (
	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
)

// The members of a sponsored-brand auction, and of its triggers.
const (
	brandWinners = iota
	brandPlacement
	brandTriggers
	brandGeo
	brandUserID
	brandPage
	brandFilter
	brandVariant
)

const (
	triggerProducts = iota
	triggerCategory
	triggerSearch
)

var (
	brandMembers = []string{
		"winners", "placementId", "triggers", "geoTargeting", "opaqueUserId", "page", "filter", "experimentVariant",
	}
	triggerMembers = []string{"products", "category", "searchQuery"}
)

// brand reads a sponsored-brand auction.
func (s *scanner) brand(a *auction.Auction) {
	reset(a)
	a.Kind = auction.SponsoredBrand
	from := s.pos
	if s.peek() != '{' {
		s.skip()
		s.violate(fieldAuction, apierr.BadRequest, "auctions[#]", "must be an object", from)
		return
	}
	winners, triggers := false, false
	o := s.object(brandMembers, "auctions[#]")
	for m := s.member(&o); m != end; m = s.member(&o) {
		switch m {
		case brandWinners:
			winners = s.slots(a, "auctions[#].winners")
		case brandPlacement:
			s.brandPlacement(a)
		case brandTriggers:
			triggers = s.triggers(a)
		case brandGeo:
			s.geo(a)
		case brandUserID:
			s.auctionUser(a)
		case brandPage:
			s.auctionPage()
		case brandFilter:
			s.filter(a)
		case brandVariant:
			s.variant(a)
		}
	}
	if !winners {
		s.noSlots("auctions[#].winners")
	}
	if a.SlotID.Span.Len == 0 {
		s.violate(fieldBrandPlacement, apierr.MissingPlacement, "auctions[#].placementId", "is required: a placement's id", missing)
	}
	if !triggers {
		s.violate(fieldTriggers, apierr.MissingContext, "auctions[#].triggers",
			"is required: one of products, category and searchQuery", missing)
	}
}

func (s *scanner) brandPlacement(a *auction.Auction) {
	from := s.pos
	sp, p := s.stringValue()
	if p == wrong || longer(s.text(sp), idMax) {
		s.violate(fieldBrandPlacement, apierr.InvalidPlacementID, "auctions[#].placementId",
			"must be a string of 1 to 255 characters", from)
	}
	if sp.Len > 0 {
		a.SlotID = s.id(sp)
	}
}

// triggers reads triggers, exactly one of which must be given, and reports whether the member is present.
func (s *scanner) triggers(a *auction.Auction) bool {
	from := s.pos
	if s.peek() != '{' {
		if s.other() == absent {
			return false
		}
		s.violate(fieldTriggers, apierr.BadRequest, "auctions[#].triggers", "must be an object", from)
		return true
	}
	given := 0
	s.pathInfix = ".triggers"
	o := s.object(triggerMembers, "auctions[#]")
	for m := s.member(&o); m != end; m = s.member(&o) {
		first := s.peek()
		switch m {
		case triggerProducts:
			s.products(a)
		case triggerCategory:
			s.brandCategory(a)
		case triggerSearch:
			s.search(a)
		}
		blankText := first == '"' && (m == triggerCategory && a.Category.Form == auction.NoCategory || m == triggerSearch && !a.HasSearch)
		if first != 'n' && !blankText {
			given++
		}
	}
	s.pathInfix = ""
	switch {
	case given == 0:
		s.violate(fieldTriggers, apierr.MissingContext, "auctions[#].triggers", "must have one of products, category and searchQuery", missing)
	case given > 1:
		s.violate(fieldTriggers, apierr.InvalidContext, "auctions[#].triggers",
			"must have only one of products, category and searchQuery", missing)
	}
	return true
}

// brandCategory reads a category context. Sponsored brands accept only the form of one category.
func (s *scanner) brandCategory(a *auction.Auction) {
	from := s.pos
	s.category(a)
	if form := a.Category.Form; form != auction.NoCategory && form != auction.OneCategory {
		s.badCategory("auctions[#].category", "must have an id, and neither ids nor disjunctions", from)
	}
}
