package market

import (
	"sync/atomic"
	"unsafe"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// Marketplace is one tenant and its settings.
type Marketplace struct {
	Ordinal          uint16 // 1 and up, never reused; 0 is no marketplace.
	ID               ids.UUID
	Name             string
	Suspended        bool
	CurrencyCode     string // ISO 4217.
	CurrencyExponent uint8  // Digits of a minor unit, 0 to money.MaxExponent.
	TimeZone         string // IANA name; resolved outside the engine.
	Reserve          [ChargeTypes]money.Micros
	PostPaid         bool // Billing mode post: the wallet does not gate auctions and may go below zero.
	ApproveAssets    bool // New assets need no review.
	ReviewCampaigns  bool // Campaigns that vendors make themselves start as pending.
	ExternalDemand   ExternalDemand
	H3               bool          // geoMode h3: locations are cells, and a bid's cell holds its descendants.
	VendorMax        uint8         // Winners of one vendor in one auction; 0: no bound.
	Reserves         []ReserveRule // At most ReserveRulesMax.
	CreatedMillis    int64
	UpdatedMillis    int64
}

// ExternalDemand is the marketplace's policy for demandSources in auctions.
type ExternalDemand struct {
	Disabled bool
	Sources  []string // Allowed sources; empty allows any.
	OwnValue string   // The demandSource value of own winners, "gavel" by default.
}

// ChargeType says which interaction a bid pays for.
type ChargeType uint8

// The charge types. Their numbers are part of the resolvedBidId and of stored records.
const (
	ChargeNone ChargeType = iota
	CPC
	CPM
	CPA
	ChargeTypes = 4
)

// Charged reports whether a win of the charge type is charged. A CPA win is not, because no command charges the purchase
// that would pay for it: a CPA campaign would win for nothing, so it does not compete.
func (t ChargeType) Charged() bool { return t != CPA }

// Vendor is a seller. Its account and default wallet follow from its id (ids.AccountOf).
type Vendor struct {
	ID            string // 1 to 255 characters, the marketplace's own.
	Name          string
	Document      []byte // The other members as the management API stored them; opaque to the engine.
	CreatedMillis int64
	UpdatedMillis int64
}

// Category is a node of the category tree.
type Category struct {
	ID            string
	ParentID      string // Empty at a root.
	Name          string
	Document      []byte
	CreatedMillis int64
	UpdatedMillis int64
}

// Product is one catalog product.
type Product struct {
	ID            string
	Name          string
	Vendors       []string
	Categories    []string
	Brand         string // Brand id; empty: none.
	Active        bool
	Quality       uint32       // The product's quality_score, 0.0 to 1.0 in units of 1/QualityOne; QualityOne when absent.
	Price         money.Micros // Catalog price, 0 when absent.
	Attributes    []string     // Catalog metadata as sorted "key:value" strings, what a filter's attributes compare with.
	Promotions    []string     // metadata.promotions.
	Document      []byte       // The product as the management API stored it; opaque to the engine.
	CreatedMillis int64
	UpdatedMillis int64
}

// QualityOne is the quality score 1.0. Scores are fixed-point fractions of it.
const QualityOne = 1 << 30

// AdFormat is the kind of ad a campaign buys.
type AdFormat uint8

// The ad formats. Their numbers are part of stored records.
const (
	Listing AdFormat = iota
	Banner
	SponsoredBrand
)

// Period is the length of a budget.
type Period uint8

// The budget periods.
const (
	Daily Period = iota
	Weekly
	Monthly
	Total
)

// Status is the review state of a campaign.
type Status uint8

// The campaign states.
const (
	Pending Status = iota
	Approved
	Rejected
	Terminated
)

// PriceRule says what a winner pays.
type PriceRule uint8

// The price rules.
const (
	SecondPrice PriceRule = iota
	FirstPrice
)

// Campaign is what a vendor runs: one budget, one wallet, many bids. Balances are not part of it; see Slot.
type Campaign struct {
	ID              ids.UUID // Its shard equals the shard of the vendor's account.
	Ordinal         uint32   // Within the raft group, from 1, never reused; part of the resolvedBidId.
	Group           ids.Group
	Marketplace     uint16
	VendorID        string
	Wallet          ids.UUID
	Name            string
	Type            string // manual, autobidding or exclusive; the engine treats all alike.
	Format          AdFormat
	Charge          ChargeType
	Price           PriceRule
	Budget          money.Micros // Per period; 0 means limited by the wallet only.
	Period          Period
	StartMillis     int64
	EndMillis       int64 // 0: no end.
	Active          bool
	AutoTrigger     bool
	Status          Status
	StatusUpdatedBy string
	ExternalID      string // externalCampaignId, unique per marketplace and format; may be empty.
	TargetROASMilli uint32 // Target return on ad spend in thousandths; 0: none.
	CreatedMillis   int64
	UpdatedMillis   int64
	Products        []string // productIds of a banner or sponsored-brand campaign.
	Segments        SegmentRules
	// Schedule holds what a bid is worth in each local hour of the week, from Monday 00:00, in units of 1/ScheduleOne; 0
	// rests. ScheduleHours values, or none: at all hours alike.
	Schedule []uint16
	Caps     []Cap  // Frequency restrictions in force, at most one of each type.
	Document []byte // Further members as the management API stored them; opaque to the engine.
}

// Bid is one offer of a campaign for one target.
type Bid struct {
	ID            ids.UUID
	Ordinal       uint32 // Within the raft group, from 1, never reused; part of the resolvedBidId.
	Target        string // Listing: a product id. Never changes.
	TargetType    TargetType
	Amount        money.Micros
	Active        bool
	Deleted       bool      // A tombstone: kept so that late events can still be named.
	Location      string    // Empty: everywhere. Compared without case; a cell in H3 mode.
	Creative      *Creative // Banners and sponsored brands; nil for listings. Never changes.
	Triggers      []Trigger
	CreatedMillis int64
	UpdatedMillis int64
}

// TriggerKind says what a trigger compares with.
type TriggerKind uint8

// The trigger kinds. A bid without triggers matches every request that its target is allowed in.
const (
	TriggerProduct    TriggerKind = iota // Value: a product id that must be among the request's products.
	TriggerCategory                      // Value: a category id that must be a named category or an ancestor of one.
	TriggerCategories                    // Value: a product id whose categories must satisfy the request's category.
	TriggerExact                         // Keyword: the search query has the same words in the same order.
	TriggerPhrase                        // Keyword: the query contains the words in order, without others between them.
	TriggerBroad                         // Keyword: the query contains all of the words.
	TriggerNotExact                      // Negative keyword: such a query excludes the bid, whatever else matches.
	TriggerNotBroad                      // Negative keyword.
	TriggerKinds      = int(TriggerNotBroad) + 1
)

// IsKeyword reports whether the trigger compares with the search query.
func (k TriggerKind) IsKeyword() bool { return k >= TriggerExact }

// IsNegative reports whether the trigger excludes. A bid with negative triggers alone matches every other request.
func (k TriggerKind) IsNegative() bool { return k >= TriggerNotExact }

// Trigger is one condition under which a bid competes, or of the negative kinds one under which it does not.
type Trigger struct {
	Kind  TriggerKind
	Value string // Of a keyword: its words normalised and joined by single blanks (keyword.Normalize).
	// Words are a keyword's words as the vendor sent them, for showing; auctions read Value.
	Words []string
}

// Slot holds the balances of one campaign, and what every auction reads together with them, in one cache line that no other
// campaign shares.
//
// INVARIANT: only the applier of the campaign's raft group stores balances and rates; auctions only load.
type Slot struct {
	Left   atomic.Int64 // Budget left in this period, in micros; math.MaxInt64 without a budget.
	Wallet atomic.Int64 // Wallet balance in micros; math.MaxInt64 in billing mode post.
	gate   Gate
	id     [ids.TextLen]byte // The campaign's, as text. It never changes.
	// Click is the predicted rate of clicks of an impression, in units of 1/2^32, below half of them; 0: nothing is known.
	Click atomic.Uint32
}

const _ = -(unsafe.Sizeof(Slot{}) ^ 64) // The build fails when a slot is not one cache line.

// Feed receives what auctions must know from the replicated machines. Calls of one raft group come from one goroutine;
// different groups may call at the same time. Nothing fed is visible to auctions before Publish.
// OWNERSHIP: arguments are only borrowed; the implementation copies what it keeps.
type Feed interface {
	PutMarketplace(m *Marketplace)
	PutCategory(marketplace uint16, c *Category)
	DeleteCategory(marketplace uint16, id string)
	PutProduct(marketplace uint16, p *Product)
	DeleteProduct(marketplace uint16, id string)
	// PutCampaign adds or replaces a campaign and returns its Slot, which stays the same for the life of the Feed.
	PutCampaign(c *Campaign) *Slot
	// PutBid adds or replaces a bid. REQUIRES: its campaign was put before. A Deleted bid leaves the auctions.
	PutBid(c *Campaign, b *Bid)
	// Met tells of an interaction that was counted, of a campaign with caps. It is not part of a state: after Load, what was
	// told before is unknown.
	Met(c *Campaign, x *Meeting)
	// PutSegment replaces the users of a segment, keyed hashes that ascend without repeats; DeleteSegment forgets them.
	PutSegment(marketplace uint16, id string, users []uint64)
	DeleteSegment(marketplace uint16, id string)
	// Reset forgets the campaigns and bids of a data group, and with meta also the marketplaces, the catalog and the segments, before
	// the group is loaded anew after a snapshot was installed.
	Reset(g ids.Group, meta bool)
	// Publish makes everything fed so far visible to the auctions that start after it returns.
	Publish()
}
