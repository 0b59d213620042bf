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

// Kind is what an auction sells.
type Kind uint8

// The kinds of auction: listings and banners of POST /v2/auctions, sponsored brands, and the two of travel.
const (
	Listings Kind = iota + 1
	Banners
	SponsoredBrand
	Hotels
	Flights
)

// Format returns the ad format of the campaigns that compete.
func (k Kind) Format() market.AdFormat {
	switch k {
	case Banners:
		return market.Banner
	case SponsoredBrand:
		return market.SponsoredBrand
	default:
		return market.Listing
	}
}

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
	Body  []byte
	Arena []byte
	Seed  uint64 // Set by the caller before parsing: market.View.Seed of the key's marketplace.
	// Sieve is perhaps set too: market.View.Products. The parser then asks for what it will be tested with, id by id.
	Sieve    market.Sieve
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
	Variations  []ID     // Flights: parallel to Products. Each pair is one candidate.
	Site        Span     // Travel.
	Category    Category
	HasSearch   bool
	Search      Span
	Locations   []ID // Hashes are of the case-folded text. Cells in H3 mode.
	Placement   uint8
	Device      Device
	SlotID      ID // Banners: the slot's external id. Sponsored brands: the placement's, or its UUID. The hash is not read.
	UserID      Span
	// User is the keyed hash of UserID, as events and segments have it; 0 when the request names no user. The caller sets it.
	User        uint64
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
	BrandResult
	HotelsResult
	FlightsResult
)

// Result is the outcome of one auction.
type Result struct {
	Type    ResultType
	Failed  bool // This one auction failed inside Gavel; Winners is empty.
	Winners []Winner
	Lost    [Reasons]uint32 // How many bids lost for which reason.
	// Placement and Variant are the experiment that the auction was part of: its bucket, 0 for none, and its variant.
	Placement uint8
	Variant   []byte

	shown  []Shown // Of all winners, as the two below.
	assets []Asset
	texts  []market.Text
}

// Winner is one winner, rank 1 first.
type Winner struct {
	Rank         uint8
	Type         market.TargetType // Of a sponsored brand: TargetURL or TargetProduct, as the interface has it.
	ID           []byte            // The product id, or what else is the target. Of a sponsored brand the brand's id, or the URL.
	IDClean      bool              // ID needs no JSON escaping.
	Variation    []byte            // Flights.
	Campaign     *[ids.TextLen]byte
	DemandSource []byte // Set on every winner of a request with demand sources.
	Metadata     []byte // Raw JSON of an external winner, nil otherwise.
	Token        [TokenLen]byte
	Price        money.Micros // Per charged interaction.

	// Shown is what a banner or sponsored brand shows; nil on every other winner. It lies apart because winners are cleared
	// for every auction, and most are products.
	*Shown
}

// Shown is what a winner shows that is more than a product.
type Shown struct {
	Assets   []Asset       // Banners: those that may be shown, at least one.
	Vendor   market.Text   // Sponsored brands, as the members below.
	Title    market.Text   // Empty when the creative has none.
	Content  []byte        // Raw JSON object, empty for none.
	Products []market.Text // Those of the creative, else the campaign's, without the inactive ones.
}

// Asset is one asset of a banner winner.
type Asset struct {
	URL     market.Text
	Content []byte // Raw JSON object, empty for a plain banner.
}

// TokenLen is the length of a resolvedBidId.
const TokenLen = bidid.TextLen
