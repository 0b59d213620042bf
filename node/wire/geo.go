package wire

import (
	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
)

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
		s.at[1] = int32(count) // Below LocationsMax.
		s.location(a, "auctions[#].geoTargeting.locations[#]", s.pos)
	}
	switch {
	case count == 0:
		s.badGeo("auctions[#].geoTargeting.locations", "must hold 1 to 2 locations", from)
	case count > auction.LocationsMax:
		s.violate(fieldGeo, apierr.TooManyLocations, "auctions[#].geoTargeting.locations", "must hold at most 2 locations", missing)
	}
}
