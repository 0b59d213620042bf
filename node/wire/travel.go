package wire

import (
	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
)

// The members of a travel auction, and of its category.
const (
	travelType = iota
	travelSlots
	travelProducts
	travelCategory
	travelContext
	travelUserID
	travelGeo
	travelPlacement
	travelDevice
)

const (
	travelSingleCategory = iota
	travelCategoryID
)

var (
	travelMembers = []string{
		"type", "slots", "products", "category", "travelContext", "opaqueUserId", "geoTargeting", "placementId", "device",
	}
	travelCategoryMembers = []string{"singleCategory", "id"}
	singleCategoryMembers = []string{"id"}
)

// travel reads a travel auction. Violations of rules that hold only for hotels or only for flights are kept in their own
// scopes until the type is known.
func (s *scanner) travel(a *auction.Auction) {
	reset(a)
	from := s.pos
	if s.peek() != '{' {
		s.skip()
		s.violate(fieldAuction, apierr.BadRequest, "auctions[#]", "must be an object", from)
		return
	}
	slots, context := false, false
	o := s.object(travelMembers, "auctions[#]")
	for m := s.member(&o); m != end; m = s.member(&o) {
		switch m {
		case travelType:
			s.travelKind(a)
		case travelSlots:
			slots = s.slots(a, "auctions[#].slots")
		case travelProducts:
			s.travelProducts(a)
		case travelCategory:
			s.scope = scopeHotels
			s.travelCategory(a)
		case travelContext:
			context = s.travelContext(a)
		case travelUserID:
			s.auctionUser(a)
		case travelGeo:
			s.geo(a)
		case travelPlacement:
			s.placement(a)
		case travelDevice:
			s.travelDevice(a)
		}
		s.scope = scopeMain
	}
	if a.Kind == 0 {
		s.badTravelType(missing)
	}
	if !slots {
		s.noSlots("auctions[#].slots")
	}
	s.concludeTravel(a, context)
}

// concludeTravel applies the rules that depend on the kind of travel.
func (s *scanner) concludeTravel(a *auction.Auction, context bool) {
	code := apierr.MissingContext
	if a.Kind == auction.Flights {
		code = apierr.MissingFlightTravelContext
		s.commit(scopeFlights)
		s.discard(scopeHotels)
		a.Category = noCategory(a)
	} else {
		s.commit(scopeHotels)
		s.discard(scopeFlights)
		a.Variations = a.Variations[:0]
	}
	if !context {
		s.violate(fieldTravelContext, code, "auctions[#].travelContext", "is required: an object with site", missing)
	}
}

func (s *scanner) travelKind(a *auction.Auction) {
	from := s.pos
	sp, p := s.stringValue()
	switch string(s.text(sp)) {
	case "hotels":
		a.Kind = auction.Hotels
	case "flights":
		a.Kind = auction.Flights
	default:
		if p == absent {
			from = missing
		}
		s.badTravelType(from)
	}
}

func (s *scanner) badTravelType(from int) {
	s.violate(fieldType, apierr.InvalidTravelType, "auctions[#].type", "must be hotels or flights", from)
}

func (s *scanner) travelDevice(a *auction.Auction) {
	from := s.pos
	device, ok := s.device()
	a.Device = device
	if !ok {
		s.violate(fieldDevice, apierr.InvalidDevice, "auctions[#].device", "must be desktop or mobile", from)
	}
}

// travelCategory reads {"singleCategory":{"id"}} or {"id"}, the category of hotels.
func (s *scanner) travelCategory(a *auction.Auction) {
	if s.null() {
		return
	}
	from := s.pos
	if s.peek() != '{' {
		s.skip()
		s.badTravelCategory(from)
		return
	}
	forms := 0
	o := s.object(travelCategoryMembers, "auctions[#].category")
	for m := s.member(&o); m != end; m = s.member(&o) {
		switch {
		case s.null():
			continue
		case m == travelCategoryID:
			s.travelCategoryID(a, "auctions[#].category.id")
		case s.peek() == '{':
			s.singleCategory(a)
		default:
			s.skip()
			forms++ // A singleCategory that is not an object makes the number of forms differ from 1.
		}
		forms++
	}
	if forms != 1 {
		s.badTravelCategory(from)
	}
}

func (s *scanner) singleCategory(a *auction.Auction) {
	from := s.pos
	o := s.object(singleCategoryMembers, "auctions[#].category.singleCategory")
	found := false
	for s.member(&o) != end {
		s.travelCategoryID(a, "auctions[#].category.singleCategory.id")
		found = true
	}
	if !found {
		s.badTravelCategory(from)
	}
}

func (s *scanner) travelCategoryID(a *auction.Auction, path string) {
	from := s.pos
	sp, p := s.stringValue()
	switch {
	case p != present || sp.Len == 0:
		s.violate(fieldCategory, apierr.InvalidTravelCategory, path, "must be a string of 1 to 255 characters", from)
	case longer(s.text(sp), idMax):
		s.violate(fieldCategory, apierr.BadRequest, path, "must be a string of 1 to 255 characters", from)
	default:
		a.Category.Form = auction.OneCategory
		a.Category.IDs = append(a.Category.IDs[:0], s.id(sp))
	}
}

func (s *scanner) badTravelCategory(from int) {
	s.violate(fieldCategory, apierr.InvalidTravelCategory, "auctions[#].category", `must be {"singleCategory":{"id"}} or {"id"}`, from)
}
