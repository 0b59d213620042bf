package wire

import (
	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
)

// Bounds of the travel context.
const (
	travelTextMax = 64 // BOUND: characters.
	passengersMax = 9
)

// The members of travelContext.
const (
	contextSite = iota
	contextPassengers
	contextStart
	contextEnd
	contextTraveler
	contextPageName
	contextPlatform
	contextRoute
	contextFlightType
)

var contextMembers = []string{
	"site", "passengers", "travelStartDate", "travelEndDate", "travelerType", "pageName", "platform", "route", "flightType",
}

// travelContext reads travelContext and reports whether the member is present. Only the site has an effect on the auction;
// the other members are checked and not kept.
func (s *scanner) travelContext(a *auction.Auction) bool {
	from := s.pos
	if s.peek() != '{' {
		if s.other() == absent {
			return false
		}
		s.violate(fieldTravelContext, apierr.BadRequest, "auctions[#].travelContext", "must be an object", from)
		return true
	}
	site := false
	var start, finish int64 // Days since 1970.
	var hasStart, hasFinish bool
	o := s.object(contextMembers, "auctions[#].travelContext")
	for m := s.member(&o); m != end; m = s.member(&o) {
		switch m {
		case contextSite:
			site = s.site(a)
		case contextPassengers:
			s.passengers()
		case contextStart:
			start, hasStart = s.travelDate("auctions[#].travelContext.travelStartDate")
		case contextEnd:
			finish, hasFinish = s.travelDate("auctions[#].travelContext.travelEndDate")
		case contextTraveler:
			s.traveler()
		case contextPageName:
			s.travelText("auctions[#].travelContext.pageName")
		case contextPlatform:
			s.travelText("auctions[#].travelContext.platform")
		case contextRoute:
			s.flightText("auctions[#].travelContext.route")
		case contextFlightType:
			s.flightText("auctions[#].travelContext.flightType")
		}
	}
	if !site {
		s.violate(fieldSite, apierr.BadRequest, "auctions[#].travelContext.site", "is required: a string of 1 to 64 characters", missing)
	}
	if hasStart && hasFinish && finish <= start {
		s.violate(fieldDateRange, apierr.InvalidTravelDateRange, "auctions[#].travelContext.travelEndDate",
			"must be after travelStartDate", missing)
	}
	return true
}

// site reads the site and reports whether the member is present.
func (s *scanner) site(a *auction.Auction) bool {
	from := s.pos
	sp, p := s.stringValue()
	if p == absent {
		return false
	}
	if p == wrong || sp.Len == 0 || longer(s.text(sp), travelTextMax) {
		s.violate(fieldSite, apierr.BadRequest, "auctions[#].travelContext.site", "must be a string of 1 to 64 characters", from)
	}
	a.Site = sp
	return true
}

func (s *scanner) passengers() {
	from := s.pos
	text, p := s.numberValue()
	if p == absent {
		return
	}
	n, ok := integer(text)
	switch {
	case p == wrong || !ok || n < 1:
		s.violate(fieldPassengers, apierr.BadRequest, "auctions[#].travelContext.passengers", "must be an integer from 1 to 9", from)
	case n > passengersMax:
		s.violate(fieldPassengers, apierr.TooManyPassengers, "auctions[#].travelContext.passengers", "must be at most 9", from)
	}
}

// travelDate reads an optional date into days since 1970 and reports whether there is a valid one.
func (s *scanner) travelDate(path string) (day int64, ok bool) {
	from := s.pos
	sp, p := s.optionalString()
	if p == absent {
		return 0, false
	}
	if day, ok = date(s.text(sp)); !ok {
		s.violate(fieldDates, apierr.InvalidDateFormat, path, "must be a date YYYY-MM-DD", from)
	}
	return day, ok
}

func (s *scanner) traveler() {
	from := s.pos
	sp, p := s.optionalString()
	if p == absent {
		return
	}
	switch string(s.text(sp)) {
	case "family", "group", "solo", "couple":
	default:
		s.violate(fieldTraveler, apierr.InvalidTravelerType, "auctions[#].travelContext.travelerType",
			"must be family, group, solo or couple", from)
	}
}

func (s *scanner) travelText(path string) {
	s.boundedText(fieldTravelText, travelTextMax, apierr.BadRequest, apierr.BadRequest, path, "must be a string of at most 64 characters")
}

// flightText is travelText for a member that only flights have.
func (s *scanner) flightText(path string) {
	s.scope = scopeFlights
	s.travelText(path)
	s.scope = scopeMain
}
