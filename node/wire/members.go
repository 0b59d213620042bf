package wire

import (
	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
)

// kind reads type and reports whether the member is present.
func (s *scanner) kind(a *auction.Auction) bool {
	from := s.pos
	sp, p := s.stringValue()
	if p == absent {
		return false
	}
	switch string(s.text(sp)) {
	case "listings":
		a.Kind = auction.Listings
	case "banners":
		a.Kind = auction.Banners
	}
	if p == wrong || a.Kind == 0 {
		s.violate(fieldType, apierr.InvalidPromotionType, "auctions[#].type", "must be listings or banners", from)
	}
	return true
}

// slots reads the number of winners asked for and reports whether the member is present. Numbers above auction.SlotsMax
// are read as SlotsMax.
func (s *scanner) slots(a *auction.Auction, path string) bool {
	from := s.pos
	text, p := s.numberValue()
	if p == absent {
		return false
	}
	n, ok := integer(text)
	switch {
	case p == wrong || !ok:
		s.violate(fieldSlots, apierr.BadRequest, path, "must be an integer of at least 1", from)
	case n < 1:
		s.violate(fieldSlots, apierr.TooFewSlots, path, "must be at least 1", from)
	}
	a.Slots = int(min(n, auction.SlotsMax))
	return true
}

func (s *scanner) noSlots(path string) {
	s.violate(fieldSlots, apierr.MissingSlots, path, "is required: an integer of at least 1", missing)
}

func (s *scanner) auctionUser(a *auction.Auction) {
	a.UserID = s.boundedText(fieldUserID, userIDMax, apierr.InvalidOpaqueUserID, apierr.InvalidOpaqueUserID,
		"auctions[#].opaqueUserId", "must be a string of at most 90 characters")
}

func (s *scanner) variant(a *auction.Auction) {
	a.Variant = s.boundedText(fieldVariant, variantMax, apierr.ExperimentVariantTooLong, apierr.BadRequest,
		"auctions[#].experimentVariant", "must be a string of at most 10 characters")
}

func (s *scanner) placement(a *auction.Auction) {
	from := s.pos
	text, p := s.numberValue()
	if p == absent {
		return
	}
	n, ok := integer(text)
	if p == wrong || !ok || n < 1 || n > placementsMax {
		s.violate(fieldPlacement, apierr.InvalidPlacementID, "auctions[#].placementId", "must be an integer from 1 to 8", from)
		return
	}
	a.PlacementIndex = uint8(n)
}

func (s *scanner) auctionDevice(a *auction.Auction) {
	from := s.pos
	device, ok := s.device()
	a.Device = device
	if !ok {
		// The interface lists device in another row of the banners table, so the rank differs.
		s.scope = scopeListings
		s.violate(fieldDevice, apierr.InvalidDevice, "auctions[#].device", "must be desktop or mobile", from)
		s.scope = scopeBanners
		s.violate(fieldBannerDevice, apierr.InvalidDevice, "auctions[#].device", "must be desktop or mobile", from)
	}
}

// device reads a device and reports whether it is absent or one of the two.
func (s *scanner) device() (auction.Device, bool) {
	sp, p := s.optionalString()
	if p != present {
		return auction.NoDevice, p == absent
	}
	switch string(s.text(sp)) {
	case "desktop":
		return auction.Desktop, true
	case "mobile":
		return auction.Mobile, true
	}
	return auction.NoDevice, false
}

// auctionPage checks that page is an object. Its members are informational in auctions and are not kept.
func (s *scanner) auctionPage() {
	from := s.pos
	object := s.peek() == '{' || s.peek() == 'n'
	s.skip()
	if !object {
		s.violate(fieldPage, apierr.BadRequest, "auctions[#].page", "must be an object", from)
	}
}

func (s *scanner) slotID(a *auction.Auction) {
	from := s.pos
	sp, p := s.stringValue()
	if p == wrong || longer(s.text(sp), idMax) {
		s.violate(fieldSlotID, apierr.BadRequest, "auctions[#].slotId", "must be a string of 1 to 255 characters", from)
	}
	if sp.Len > 0 {
		a.SlotID = s.id(sp)
	}
}

// boundedText reads an optional string of at most most characters.
func (s *scanner) boundedText(field rank, most int, tooLong, wrongType apierr.Code, path, rule string) auction.Span {
	from := s.pos
	sp, p := s.optionalString()
	switch {
	case p == wrong:
		s.violate(field, wrongType, path, rule, from)
	case longer(s.text(sp), most):
		s.violate(field, tooLong, path, rule, from)
	}
	return sp
}
