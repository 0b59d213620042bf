package wire

import (
	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
)

// Bounds of an auction's texts in characters, except for searchWords and placementsMax. The bounds of its arrays are in
// package auction.
const (
	idMax         = 255
	userIDMax     = 90
	variantMax    = 10
	searchMax     = 1_024
	searchWords   = 32
	placementsMax = 8
)

// The members of an auction.
const (
	auctionType = iota
	auctionSlots
	auctionProducts
	auctionCategory
	auctionSearch
	auctionGeo
	auctionUserID
	auctionPlacement
	auctionDevice
	auctionPage
	auctionFilter
	auctionVariant
	auctionSlotID
	auctionDemand
)

var (
	auctionsMembers = []string{"auctions"}
	auctionMembers  = []string{
		"type", "slots", "products", "category", "searchQuery", "geoTargeting", "opaqueUserId", "placementId", "device",
		"page", "filter", "experimentVariant", "slotId", "demandSources",
	}
)

// Ranks of the rules of an auction: first the rows of the listings table, with the rows of the tables of sponsored brands
// and travel inserted in their places, then the rows that only the banners table has, then the rule on contexts, which
// follows the tables.
const (
	fieldAuction rank = iota
	fieldType
	fieldSlots
	fieldBrandPlacement
	fieldTriggers
	fieldProducts
	fieldQualityCount
	fieldQuality
	fieldCategory
	fieldSearch
	fieldTravelContext
	fieldSite
	fieldPassengers
	fieldDates
	fieldDateRange
	fieldTraveler
	fieldTravelText
	fieldGeo
	fieldUserID
	fieldPlacement
	fieldDevice
	fieldPage
	fieldFilter
	fieldVariant
	fieldDemand
	fieldDemandSource
	fieldDemandCount
	fieldDemandBid
	fieldSlotID
	fieldBannerDevice
	fieldBannerDemand
	fieldContext
	auctionRanks = 1 << 8 // Distance from one auction to the next.
)

// ParseAuctions parses req.Body, a POST /v2/auctions body, into req.Auctions. It checks all rules of the interface that
// need neither key nor marketplace; CheckMarketplace checks those that need the marketplace. It returns OK, or the code of
// the first violation in the interface's order and fills f; then the content of req.Auctions is undefined.
//
// It allocates nothing once the slices of req have grown to the size of the traffic. REQUIRES: req.Seed is set.
func ParseAuctions(req *auction.Request, f *Fault) apierr.Code { return parse(req, f, mixed) }

// ParseBrands is ParseAuctions for a body of POST /v2/auctions/sponsored-brand.
func ParseBrands(req *auction.Request, f *Fault) apierr.Code { return parse(req, f, brands) }

// ParseTravel is ParseAuctions for a body of POST /v2/auctions/travel.
func ParseTravel(req *auction.Request, f *Fault) apierr.Code { return parse(req, f, travel) }

// form is the kind of the elements of auctions.
type form uint8

const (
	mixed form = iota // Listings and banners, mixed in any order.
	brands
	travel
)

func parse(req *auction.Request, f *Fault, elements form) apierr.Code {
	var s scanner
	s.begin(req.Body, req.Arena, req.Seed)
	s.form, s.tagFilter = elements, req.TagFilter
	if s.peek() == 0 && s.pos == len(s.src) {
		*f = Fault{code: apierr.EmptyRequest, byte: -1, path: "the body", rule: "is empty"}
		return f.code
	}
	req.Auctions = s.auctions(req.Auctions[:0])
	s.finish()
	req.Arena = s.arena
	return s.result(f)
}

func (s *scanner) auctions(list []auction.Auction) []auction.Auction {
	from := s.pos
	if s.peek() != '{' {
		s.skip()
		s.violateAt(rankBody, apierr.BadRequest, "the body", "must be an object", from, s.pos)
		return list
	}
	count := 0
	o := s.object(auctionsMembers, "the body")
	for s.member(&o) != end {
		from = s.pos
		switch s.peek() {
		case '[':
			list, count = s.auctionArray(list)
		case 'n':
			s.literal("null")
		default:
			s.skip()
			s.violateAt(rankAuctions, apierr.BadRequest, "auctions", "must be an array", from, s.pos)
		}
	}
	switch {
	case count == 0:
		s.violateAt(rankAuctions, apierr.MissingAuctions, "auctions", "must hold 1 to 5 auctions", missing, 0)
	case count > auction.AuctionsMax:
		s.violateAt(rankAuctions, apierr.TooManyAuctions, "auctions", "must hold at most 5 auctions", missing, 0)
	}
	return list
}

func (s *scanner) auctionArray(list []auction.Auction) (_ []auction.Auction, count int) {
	list = list[:0] // If the member comes twice, the body is refused, but the two arrays must not exceed the bound together.
	s.array()
	for ; s.element(count); count++ {
		if count >= auction.AuctionsMax {
			s.skip()
			continue
		}
		if count < cap(list) {
			list = list[:count+1] // This keeps the capacity of the inner slices of an earlier request; reset empties them.
		} else {
			list = append(list, auction.Auction{})
		}
		s.at[0] = int32(count) // Below AuctionsMax.
		s.base = rankAuctions + 1 + rank(count)*auctionRanks
		switch s.form {
		case brands:
			s.brand(&list[count])
		case travel:
			s.travel(&list[count])
		default:
			s.auction(&list[count])
		}
	}
	return list, count
}

// reset empties every field of a pooled auction and keeps the capacity of its slices.
func reset(a *auction.Auction) {
	*a = auction.Auction{
		Products:   a.Products[:0],
		Quality:    a.Quality[:0],
		Variations: a.Variations[:0],
		Category:   noCategory(a),
		Locations:  a.Locations[:0],
		Filter:     noFilter(a),
		External:   a.External[:0],
		Sources:    a.Sources[:0],
	}
}

func noCategory(a *auction.Auction) auction.Category {
	return auction.Category{IDs: a.Category.IDs[:0], Ends: a.Category.Ends[:0]}
}

func noFilter(a *auction.Auction) auction.Filter {
	return auction.Filter{Attributes: a.Filter.Attributes[:0], Promotions: a.Filter.Promotions[:0]}
}

func (s *scanner) auction(a *auction.Auction) {
	reset(a)
	from := s.pos
	if s.peek() != '{' {
		s.skip()
		s.violate(fieldAuction, apierr.BadRequest, "auctions[#]", "must be an object", from)
		return
	}
	typed, slots, demand := false, false, false
	o := s.object(auctionMembers, "auctions[#]")
	for m := s.member(&o); m != end; m = s.member(&o) {
		switch m {
		case auctionType:
			typed = s.kind(a)
		case auctionSlots:
			slots = s.slots(a, "auctions[#].slots")
		case auctionProducts:
			s.products(a)
		case auctionCategory:
			s.category(a)
		case auctionSearch:
			s.search(a)
		case auctionGeo:
			s.geo(a)
		case auctionUserID:
			s.auctionUser(a)
		case auctionPlacement:
			s.placement(a)
		case auctionDevice:
			s.auctionDevice(a)
		case auctionPage:
			s.auctionPage()
		case auctionFilter:
			s.scope = scopeListings
			s.filter(a)
		case auctionVariant:
			s.variant(a)
		case auctionSlotID:
			s.scope = scopeBanners
			s.slotID(a)
		case auctionDemand:
			s.scope = scopeListings
			demand = s.demand(a)
		}
		s.scope = scopeMain
	}
	if !typed {
		s.violate(fieldType, apierr.MissingPromotionType, "auctions[#].type", "is required: listings or banners", missing)
	}
	if !slots {
		s.noSlots("auctions[#].slots")
	}
	s.conclude(a, demand)
}

// conclude applies the rules that depend on the kind of auction or on several members.
func (s *scanner) conclude(a *auction.Auction, demand bool) {
	if a.Kind == auction.Banners {
		s.concludeBanners(a, demand)
	} else {
		s.commit(scopeListings)
		s.discard(scopeBanners)
		a.SlotID = auction.ID{}
	}
	contexts := 0
	for _, has := range [...]bool{a.HasProducts, a.Category.Form != auction.NoCategory, a.HasSearch} {
		if has {
			contexts++
		}
	}
	switch {
	case contexts == 0 && a.Kind == auction.Listings:
		s.violate(fieldContext, apierr.NoProductsOrCategory, "auctions[#]", "must have products, category or searchQuery", missing)
	case contexts == 3:
		s.violate(fieldContext, apierr.InvalidContext, "auctions[#]",
			"must have at most two of products, category and searchQuery", missing)
	}
}

func (s *scanner) concludeBanners(a *auction.Auction, demand bool) {
	s.commit(scopeBanners)
	s.discard(scopeListings)
	a.Filter = noFilter(a)
	a.HasExternal, a.External, a.Sources = false, a.External[:0], a.Sources[:0]
	if a.SlotID.Span.Len == 0 {
		s.violate(fieldSlotID, apierr.MissingSlotID, "auctions[#].slotId", "is required on a banner auction", missing)
	}
	if a.Device == auction.NoDevice {
		a.Device = auction.Desktop
	}
	if demand {
		s.violate(fieldBannerDemand, apierr.InvalidExternalDemandAdType, "auctions[#].demandSources",
			"is only for listings auctions", missing)
	}
}
