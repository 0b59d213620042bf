package auction

import (
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Limits of an auction request, from the interface.
const (
	AuctionsMax        = 5      // BOUND: auctions in one request.
	SlotsMax           = 40     // BOUND: winners of one auction; a larger number of slots acts as this.
	ProductsMax        = 10_000 // BOUND: product ids of one auction.
	CategoryArrayMax   = 5      // BOUND: every array of a category context.
	LocationsMax       = 2      // BOUND: locations of one auction.
	ExternalBidsMax    = 100    // BOUND: external bids of one auction, over all its sources.
	FilterAttributeMax = 5      // BOUND: attributes of a filter.
	FilterPromotionMax = 3      // BOUND: promotions of a filter.
)

// Kind is what an auction sells.
type Kind uint8

// The kinds of auction: listings and banners of POST /v2/auctions, sponsored brands, and hotels and flights.
const (
	Listings Kind = iota + 1
	Banners
	SponsoredBrand
	Hotels
	Flights
)

// Format returns the ad format of the campaigns that compete.
func (k Kind) Format() model.AdFormat {
	switch k {
	case Banners:
		return model.Banner
	case SponsoredBrand:
		return model.SponsoredBrand
	default:
		return model.Listing
	}
}

// Span names a string of the request: Len bytes at Off of the body, or, where the string contained escapes and had to
// be decoded, at Off-len(body) of the arena. See Request.Text.
type Span struct{ Off, Len uint32 }

// ID is a span with the keyed hash of its text (market.Hash under the request's seed).
type ID struct {
	Hash uint64
	Span Span
}

// Request is one parsed POST /v2/auctions body. It is pooled: the parser fills it in place and resets every field of
// every element that it uses, because an element otherwise contains data of an earlier request, perhaps of another
// marketplace.
// OWNERSHIP: Body belongs to the listener and is valid until the answer is written.
type Request struct {
	Body  []byte
	Arena []byte
	Seed  uint64 // Set by the caller before parsing: market.View.Seed of the key's marketplace.
	// TagFilter may be set by the caller to market.View.ProductFilter. The parser then prefetches the tag word of each id.
	TagFilter market.TagFilter
	Auctions  []Auction
}

// Text returns the bytes a span names. The result aliases the request.
func (r *Request) Text(s Span) []byte {
	if int(s.Off) < len(r.Body) {
		return r.Body[s.Off : s.Off+s.Len]
	}
	off := s.Off - uint32(len(r.Body)) // Bodies are at most 4 MiB.
	return r.Arena[off : off+s.Len]
}

// Auction is one element of auctions.
type Auction struct {
	Kind           Kind
	Slots          int // 1 to SlotsMax.
	HasProducts    bool
	Products       []ID     // In request order, repeats included. The first of equal ids is used.
	Quality        []uint32 // Parallel to Products, in units of 1/model.QualityOne; empty means 1.0 for all.
	Variations     []ID     // Flights only: parallel to Products. Each pair of product and variation competes for itself.
	Site           Span     // Hotels and flights only.
	Category       Category
	HasSearch      bool
	Search         Span
	Locations      []ID  // The hashes are those of the case-folded texts. H3 cells in H3 mode.
	PlacementIndex uint8 // The placementId of the interface: an experiment bucket from 1 to 8, 0 for none.
	Device         Device
	SlotID         ID // Banners: external id of the media slot. Sponsored brands: external id or UUID of the placement. The hash is unused.
	UserID         Span
	// User is the keyed hash of UserID, as in events and segments; 0 when the request names no user. The caller sets it.
	User        uint64
	Variant     Span // The experimentVariant of the interface.
	Filter      Filter
	External    []ExternalBid
	HasExternal bool   // The request named a demand source, even if all its bids were ignored.
	Sources     []Span // The demand sources that it named, also those without bids; at most ExternalBidsMax.
}

// Category is the category context. It has exactly one of the forms of the interface.
type Category struct {
	Form CategoryForm
	// IDs holds the id, the ids, or the members of all inner arrays of Disjunctions one after the other.
	IDs []ID
	// Ends[i] is the end in IDs of inner array i; only for Disjunctions.
	Ends []int
}

// CategoryForm is the form of a category context.
type CategoryForm uint8

// The category forms. "In a category" includes its descendants.
const (
	NoCategory    CategoryForm = iota
	OneCategory                // The product is in the category.
	AllCategories              // The product is in all of the categories.
	Disjunctions               // The product is in at least one category of every inner array.
)

// Device is the device of an auction; NoDevice for a listing auction that names none.
type Device = model.Device

// The devices.
const (
	NoDevice = model.NoDevice
	Desktop  = model.Desktop
	Mobile   = model.Mobile
)

// Filter narrows listings by catalog metadata.
type Filter struct {
	Set        bool
	Or         bool // One value must match; otherwise (and, the default) all must.
	Attributes []ID // Each hash is that of "key:value" exactly as sent.
	Promotions []ID
}

// ExternalBid is one bid of demandSources.
type ExternalBid struct {
	Product  ID
	Source   Span
	Amount   money.Micros
	Metadata Span // The raw JSON value, zero length when absent.
}

// Results holds the results of the auctions of one request, in request order. It is pooled like Request.
// OWNERSHIP: ids and texts alias the view and the request, and are valid as long as both are.
type Results struct {
	Results    []Result
	losers     []loser // Of all auctions, if they are counted.
	lossWeight uint32
	enrolled   []enrolment // Of all auctions.
}

// ResultType is the resultType member of an answer.
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
	Winners []Winner
	Lost    [Reasons]uint32 // The number of bids that lost, by reason.
	// PlacementIndex and Variant are the auction's experiment: its bucket, 0 for none, and its variant.
	PlacementIndex uint8
	Variant        []byte

	shown  []Shown // The memory of what all winners show, as are assets and texts.
	assets []Asset
	texts  []market.Text
}

// Winner is one winner, rank 1 first.
type Winner struct {
	Rank         uint8
	Type         model.TargetType   // For a sponsored brand TargetURL or TargetProduct, as the interface defines.
	ID           []byte             // The product id or another target. For a sponsored brand the brand id or the URL.
	IDJSONSafe   bool               // ID needs no JSON escaping.
	Variation    []byte             // Flights only.
	Campaign     *[ids.TextLen]byte // The campaign's id; nil for an external winner.
	DemandSource []byte             // Set on every winner of a request with demand sources.
	Metadata     []byte             // Raw JSON of an external winner, nil otherwise.
	Token        [TokenLen]byte     // The resolvedBidId.
	Price        money.Micros       // Per charged interaction.
	// Expected is the expected cost of the win: the price times the probability that it is charged. 0 for an external
	// winner.
	Expected money.Micros
	campaign uint32 // Row of the campaign; 0 for an external winner.

	// Shown is what a banner or sponsored brand shows; nil for every other winner. It is stored apart because a Winner is
	// cleared before every use, and most winners are products.
	*Shown
}

// Shown is what a banner or sponsored-brand winner shows.
type Shown struct {
	Assets   []Asset       // Banners only: the assets that may be shown, at least one.
	Vendor   market.Text   // Sponsored brands only, as are the members below.
	Title    market.Text   // Empty when the creative has none.
	Content  []byte        // Raw JSON object, empty for none.
	Products []market.Text // The products of the creative, otherwise of the campaign, without inactive ones.
}

// Asset is one asset of a banner winner.
type Asset struct {
	URL     market.Text
	Content []byte // Raw JSON object, empty for a plain banner.
}

// TokenLen is the length of a resolvedBidId.
const TokenLen = bidid.TextLen
