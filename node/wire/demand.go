package wire

import (
	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/money"
)

// Bounds of external demand, all set by the interface.
const (
	sourceMax    = 32                                 // BOUND: characters of a source's name.
	metadataMax  = 4_096                              // BOUND: bytes of a bid's metadata, as sent.
	bidAmountMax = 1_000_000_000_000 * money.PerMajor // BOUND: 1e12 major units.
)

// The members of a demand source, of a bid, and of its entity.
const (
	demandSource = iota
	demandBids
)

const (
	bidChargeType = iota
	bidEntity
	bidAmount
	bidMetadata
)

const (
	entityType = iota
	entityID
)

var (
	sourceMembers = []string{"source", "bids"}
	bidMembers    = []string{"chargeType", "entity", "bidAmount", "metadata"}
	entityMembers = []string{"type", "id"}
)

// demand reads demandSources and reports whether the auction has external demand: a source, or a value that is refused.
func (s *scanner) demand(a *auction.Auction) bool {
	from := s.pos
	if s.peek() != '[' {
		if s.other() == absent {
			return false
		}
		s.violate(fieldDemand, apierr.BadRequest, "auctions[#].demandSources", "must be an array", from)
		return true
	}
	s.array()
	count, bids := 0, 0
	for ; s.element(count); count++ {
		if count >= auction.ExternalBidsMax {
			s.skip()
			continue
		}
		s.at[1] = int32(count) // Below ExternalBidsMax.
		bids = s.source(a, bids)
	}
	if count > auction.ExternalBidsMax {
		s.badSource("auctions[#].demandSources", "must hold at most 100 sources", missing)
	}
	a.HasExternal = count > 0
	return a.HasExternal
}

// source reads one element of demandSources. It takes the number of bids in the sources before it and returns the number
// with its own.
func (s *scanner) source(a *auction.Auction, bids int) int {
	from := s.pos
	if s.peek() != '{' {
		s.skip()
		s.badSource("auctions[#].demandSources[#]", "must be an object", from)
		return bids
	}
	first := len(a.External)
	var source auction.Span
	named, listed := false, false
	o := s.object(sourceMembers, "auctions[#].demandSources[#]")
	for m := s.member(&o); m != end; m = s.member(&o) {
		switch m {
		case demandSource:
			source, named = s.sourceName()
		case demandBids:
			bids, listed = s.bids(a, bids)
		}
	}
	if !named {
		s.badSource("auctions[#].demandSources[#].source", "must be 1 to 32 characters of a-z, 0-9, - and _", missing)
	}
	if !listed {
		s.badBid("auctions[#].demandSources[#].bids", "is required", missing)
	}
	a.Sources = append(a.Sources, source)
	for i := first; i < len(a.External); i++ {
		a.External[i].Source = source
	}
	return bids
}

func (s *scanner) badSource(path, rule string, from int) {
	s.violate(fieldDemandSource, apierr.InvalidDemandSource, path, rule, from)
}

func (s *scanner) badBid(path, rule string, from int) {
	s.violate(fieldDemandBid, apierr.InvalidExternalBid, path, rule, from)
}

// sourceName reads source and reports whether the member is present.
func (s *scanner) sourceName() (auction.Span, bool) {
	from := s.pos
	sp, p := s.stringValue()
	text := s.text(sp)
	good := p == present && len(text) > 0 && len(text) <= sourceMax
	for _, c := range text {
		good = good && (c-'a' < 26 || c-'0' < 10 || c == '-' || c == '_')
	}
	if p != absent && !good {
		s.badSource("auctions[#].demandSources[#].source", "must be 1 to 32 characters of a-z, 0-9, - and _", from)
	}
	return sp, p != absent
}

// bids reads the bids of one source and reports whether the member is present. bids is the number of bids in the sources
// before it, total the number with those of this one.
func (s *scanner) bids(a *auction.Auction, bids int) (total int, there bool) {
	from := s.pos
	if s.peek() != '[' {
		if s.other() == absent {
			return bids, false
		}
		s.badBid("auctions[#].demandSources[#].bids", "must be an array", from)
		return bids, true
	}
	s.array()
	for i := 0; s.element(i); i++ {
		if bids++; bids > auction.ExternalBidsMax {
			s.skip()
			s.violate(fieldDemandCount, apierr.TooManyExternalBids, "auctions[#].demandSources", "must hold at most 100 bids", missing)
			continue
		}
		s.at[2] = int32(i) // Below ExternalBidsMax.
		s.bid(a)
	}
	return bids, true
}

func (s *scanner) bid(a *auction.Auction) {
	from := s.pos
	if s.peek() != '{' {
		s.skip()
		s.badBid("auctions[#].demandSources[#].bids[#]", "must be an object", from)
		return
	}
	var bid auction.ExternalBid
	charge, entity, amount := false, false, false
	o := s.object(bidMembers, "auctions[#].demandSources[#].bids[#]")
	for m := s.member(&o); m != end; m = s.member(&o) {
		from := s.pos
		switch m {
		case bidChargeType:
			sp, p := s.stringValue()
			charge = p == present && string(s.text(sp)) == "CPC"
			if !charge {
				s.badBid("auctions[#].demandSources[#].bids[#].chargeType", "must be CPC", from)
			}
		case bidEntity:
			entity = s.bidEntity(&bid)
		case bidAmount:
			amount = s.bidAmount(&bid)
		case bidMetadata:
			s.metadata(&bid)
		}
	}
	switch {
	case !charge:
		s.badBid("auctions[#].demandSources[#].bids[#].chargeType", "is required: CPC", missing)
	case !entity:
		s.badBid("auctions[#].demandSources[#].bids[#].entity", "is required: a product", missing)
	case !amount:
		s.badBid("auctions[#].demandSources[#].bids[#].bidAmount", "is required: a number above 0", missing)
	default:
		a.External = append(a.External, bid)
	}
}

// bidEntity reads the entity of a bid and reports whether it names a product.
func (s *scanner) bidEntity(bid *auction.ExternalBid) bool {
	from := s.pos
	if s.peek() != '{' {
		s.skip()
		s.badBid("auctions[#].demandSources[#].bids[#].entity", `must be an object {"type":"product","id"}`, from)
		return false
	}
	product := false
	var id auction.Span
	o := s.object(entityMembers, "auctions[#].demandSources[#].bids[#].entity")
	for m := s.member(&o); m != end; m = s.member(&o) {
		from := s.pos
		sp, p := s.stringValue()
		text := s.text(sp)
		switch {
		case m == entityType:
			product = p == present && string(text) == "product"
			if !product {
				s.badBid("auctions[#].demandSources[#].bids[#].entity.type", "must be product", from)
			}
		case p != present || len(text) == 0 || longer(text, idMax):
			s.badBid("auctions[#].demandSources[#].bids[#].entity.id", "must be a string of 1 to 255 characters", from)
		default:
			id = sp
		}
	}
	if !product || id.Len == 0 {
		s.badBid("auctions[#].demandSources[#].bids[#].entity", `must be an object {"type":"product","id"}`, from)
		return false
	}
	bid.Product = s.id(id)
	return true
}

// bidAmount reads an amount and reports whether it is valid. It must be above 0 after rounding to a micro-unit, because an
// amount of 0 could never exceed a reserve price.
func (s *scanner) bidAmount(bid *auction.ExternalBid) bool {
	from := s.pos
	text, p := s.numberValue()
	amount, err := money.ParseDecimal(text)
	if p != present || err != nil || amount <= 0 || amount > bidAmountMax {
		s.badBid("auctions[#].demandSources[#].bids[#].bidAmount", "must be a number above 0 and at most 1e12", from)
		return false
	}
	bid.Amount = amount
	return true
}

func (s *scanner) metadata(bid *auction.ExternalBid) {
	if s.null() {
		return
	}
	object := s.peek() == '{'
	from := s.pos
	s.skip()
	if !object || s.pos-from > metadataMax {
		s.badBid("auctions[#].demandSources[#].bids[#].metadata", "must be an object of at most 4 KiB", from)
	}
	bid.Metadata = span(from, s.pos)
}
