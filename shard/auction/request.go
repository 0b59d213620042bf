package auction

import (
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// Limits of an auction request, from the interface.
const (
	AuctionsMax        = 5      // BOUND: auctions in one request.
	SlotsMax           = 40     // BOUND: winners of one auction; larger wishes act as this.
	ProductsMax        = 10_000 // BOUND: product ids of one auction.
	CategoryArrayMax   = 5      // BOUND: every array of a category context.
	LocationsMax       = 2      // BOUND: locations of one auction.
	ExternalBidsMax    = 100    // BOUND: external bids of one auction, over all its sources.
	FilterAttributeMax = 5      // BOUND: attributes of a filter.
	FilterPromotionMax = 3      // BOUND: promotions of a filter.
)

// Kind is the type member of an auction request.
type Kind uint8

// The kinds of auction served by POST /v2/auctions.
const (
	Listings Kind = iota + 1
	Banners
)

// Span names a string of the request: Len bytes at Off of the body, or, where the string held escapes and had to be
// decoded, at Off-len(body) of the arena. See Request.Text.
type Span struct{ Off, Len uint32 }

// ID is a span with the keyed hash of its text (market.Hash under the request's seed).
type ID struct {
	Hash uint64
	Span Span
}

// Request is one parsed POST /v2/auctions body. It is pooled: the parser fills it in place and resets every field of
// every element it uses, because an element otherwise keeps what an earlier request of another tenant left there.
// OWNERSHIP: Body belongs to the door and is valid until the answer is written.
type Request struct {
	Body     []byte
	Arena    []byte
	Seed     uint64 // Set by the caller before parsing: market.View.Seed of the key's marketplace.
	Auctions []Auction
}

// Text returns the bytes a span names. The result aliases the request.
func (r *Request) Text(s Span) []byte {
	if int(s.Off) < len(r.Body) {
		return r.Body[s.Off : s.Off+s.Len]
	}
	off := s.Off - uint32(len(r.Body)) //nolint:gosec // bodies are at most 4 MiB.
	return r.Arena[off : off+s.Len]
}

// Auction is one element of auctions.
type Auction struct {
	Kind        Kind
	Slots       int // 1 to SlotsMax.
	HasProducts bool
	Products    []ID     // In request order, repeats included: the first stands.
	Quality     []uint32 // Parallel to Products in units of 1/market.QualityOne; empty means 1.0 for all.
	Category    Category
	HasSearch   bool
	Search      Span
	Locations   []ID // Hashes are of the case-folded text.
	Placement   uint8
	Device      Device
	SlotID      ID // Banners only.
	UserID      Span
	Variant     Span
	Filter      Filter
	External    []ExternalBid
	HasExternal bool   // The request named a demand source, even if all its bids were dropped.
	Sources     []Span // The demand sources that it named, at most ExternalBidsMax, those without bids included.
}

// Category is the category context: exactly one form is used, as the interface demands.
type Category struct {
	Form CategoryForm
	// IDs holds the id, the ids, or the members of all inner arrays of disjunctions one after the other.
	IDs []ID
	// Ends[i] is the end in IDs of inner array i; only for disjunctions.
	Ends []int
}

// CategoryForm tells the forms of a category context apart.
type CategoryForm uint8

// The category forms. One: in that category or a descendant. All: in all of them. Disjunctions: in at least one of every
// inner array.
const (
	NoCategory CategoryForm = iota
	OneCategory
	AllCategories
	Disjunctions
)

// Device is the device of an auction; none on a listing that names none.
type Device = market.Device

// The devices.
const (
	NoDevice = market.NoDevice
	Desktop  = market.Desktop
	Mobile   = market.Mobile
)

// Filter narrows listings by catalog metadata.
type Filter struct {
	Set        bool
	Or         bool // or needs one match, and (the default) all.
	Attributes []ID // Hash of "key:value" exactly as sent.
	Promotions []ID
}

// ExternalBid is one bid of demandSources.
type ExternalBid struct {
	Product  ID
	Source   Span
	Amount   money.Micros
	Metadata Span // The raw JSON value, zero length when absent.
}

// Results is what the auctions of one request gave, in request order. It is pooled like Request.
// OWNERSHIP: ids and texts alias the view and the request, and live as long as both.
type Results struct{ Results []Result }

// ResultType is the resultType member.
type ResultType uint8

// The result types.
const (
	ListingsResult ResultType = iota + 1
	BannersResult
	ExternalListingsResult
)

// Result is the outcome of one auction.
type Result struct {
	Type    ResultType
	Failed  bool // This one auction failed inside Gavel; Winners is empty.
	Winners []Winner
	Lost    [Reasons]uint32 // How many bids lost for which reason.
}

// Winner is one winner, rank 1 first.
type Winner struct {
	Rank         uint8
	ID           []byte // The product id, from the request's or the view's text.
	IDClean      bool   // ID needs no JSON escaping.
	Campaign     *[ids.TextLen]byte
	DemandSource []byte // Set on every winner of a request with demand sources.
	Metadata     []byte // Raw JSON of an external winner, nil otherwise.
	Token        [TokenLen]byte
	Price        money.Micros // Per charged interaction.
}

// TokenLen is the length of a resolvedBidId.
const TokenLen = bidid.TextLen
