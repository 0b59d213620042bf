package market

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// Marketplace is one marketplace and its settings.
type Marketplace struct {
	Ordinal          uint16 // 1 and up, never reused; 0 is no marketplace.
	ID               ids.UUID
	Name             string
	Suspended        bool
	CurrencyCode     string                    // ISO 4217.
	CurrencyExponent uint8                     // Digits of a minor unit, 0 to money.MaxExponent.
	TimeZone         string                    // IANA name; resolved outside the engine.
	Reserve          [ChargeTypes]money.Micros // Reserve price by charge type.
	PostPaid         bool                      // Billing mode post: the wallet does not gate auctions and may go below zero.
	ApproveAssets    bool                      // New assets need no review.
	ReviewCampaigns  bool                      // Campaigns that vendors make themselves start as pending.
	ExternalDemand   ExternalDemand
	H3               bool          // geoMode h3: locations are H3 cells, and a bid's cell contains its descendants.
	VendorMax        uint8         // Maximum number of winners of one vendor in one auction; 0: no limit.
	Reserves         []ReserveRule // At most ReserveRulesMax.
	CarriesOver      bool          // A day may spend what earlier days of its month left of a daily budget (ledger.Carryover).
	// LearnedQualityMilli is the exponent of the learned quality factor in thousandths, 0 to learn.ExponentOne; 0: the
	// factor is 1. See package learn.
	LearnedQualityMilli uint16
	TrafficDates        []TrafficDate // At most TrafficDatesMax, by day, each day once.
	TouchDays           uint8         // For how many UTC days, the current one included, touches are kept; 0 is the default, 90.
	Attribution         Attribution   // Decides the credits of purchases from the moment it is set.
	ClickRules          ClickRules    // By which clicks are invalid; zero: by none.
	CreatedMillis       int64
	UpdatedMillis       int64
}

// TrafficDate is what the operator expects of the traffic of one local date, as a multiple of what was learned.
type TrafficDate struct {
	Day         uint32 // Local days since 1970-01-01.
	FactorMilli uint32 // In thousandths, at most TrafficFactorMax; 1,000 changes nothing.
}

// Bounds of the traffic dates of a marketplace.
const (
	TrafficDatesMax  = 200 // BOUND: settings are written and copied to every group as a whole.
	TrafficFactorMax = 100_000
)

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

// NeedsTotal reports whether campaigns of the charge type need a budget of period Total: a purchase is charged when it is attributed,
// which a budget of a period that is over would not bound.
func (t ChargeType) NeedsTotal() bool { return t == CPA }

// Vendor is a seller. The ids of its account and default wallet follow from its id (ids.AccountOf,
// ids.DefaultWalletOf).
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
	AdFormats = int(SponsoredBrand) + 1
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

// Pacing says how a budget of period Total is spent. Other budgets are always spread over their period.
type Pacing uint8

// The kinds of pacing.
const (
	PacingFast Pacing = iota // As fast as the campaign can win.
	PacingEven               // Spread over the campaign's dates. INVARIANT: only a budget of period Total with an end is.
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

// The types of campaigns. They are part of stored records.
const (
	Manual = "manual"
	// Autobidding campaigns bid what meets their target return, at most their bid amounts (Campaign.HasReturn).
	Autobidding = "autobidding"
	// Exclusive campaigns are sponsorships: while one runs and can pay, no other campaign of its format wins on its product
	// targets. It pays its own bid.
	Exclusive = "exclusive"
)

// Campaign is an advertising campaign of a vendor, with one budget, one wallet and many bids. Its balances are not part
// of it; see Balances.
type Campaign struct {
	ID              ids.UUID // Its shard equals the shard of the vendor's account.
	Ordinal         uint32   // Within the raft group, from 1, never reused; part of the resolvedBidId.
	Group           ids.Group
	Marketplace     uint16
	VendorID        string
	Wallet          ids.UUID
	Name            string
	Type            string // One of the types below.
	Format          AdFormat
	Charge          ChargeType
	Price           PriceRule
	Budget          money.Micros // Per period; 0 means limited by the wallet only.
	Period          Period
	Pacing          Pacing
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
	// Schedule holds the factor of the bids in each local hour of the week, from Monday 00:00, in units of 1/ScheduleOne.
	// With 0 the campaign does not compete in that hour. It has ScheduleHours values, or none: bids are unchanged at all
	// hours.
	Schedule []uint16
	Caps     []Cap  // Frequency restrictions in force, at most one of each type.
	Document []byte // Further members as the management API stored them; opaque to the engine.
}

// Bid is one offer of a campaign for one target.
type Bid struct {
	ID            ids.UUID
	Ordinal       uint32 // Within the raft group, from 1, never reused; part of the resolvedBidId.
	Target        string // For listings a product id, otherwise what TargetType says. It never changes.
	TargetType    TargetType
	Amount        money.Micros
	Active        bool
	Deleted       bool      // The bid is deleted. It is kept so that reports can name the target of late events.
	Location      string    // Empty: everywhere. Compared case-insensitively; an H3 cell in H3 mode.
	Creative      *Creative // Banners and sponsored brands; nil for listings. It never changes.
	Triggers      []Trigger
	CreatedMillis int64
	UpdatedMillis int64
}

// TriggerKind says what a trigger compares with.
type TriggerKind uint8

// The trigger kinds. A bid without triggers matches every request that allows its target.
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

// IsNegative reports whether the trigger excludes the bid. A bid with only negative triggers matches all other
// requests.
func (k TriggerKind) IsNegative() bool { return k >= TriggerNotExact }

// Trigger is one condition under which a bid competes or, for a negative kind, one under which it does not.
type Trigger struct {
	Kind  TriggerKind
	Value string // For a keyword its words, normalised and joined by single blanks (keyword.Text).
	// Words are the words of a keyword as the vendor sent them, for display. Auctions read Value.
	Words []string
}

// Feed receives from the replicated machines what auctions read. The calls of one Raft group come from one goroutine;
// different groups may call at the same time. Nothing fed is visible to auctions before Publish.
// OWNERSHIP: arguments are borrowed for the call; the implementation copies what it keeps.
type Feed interface {
	PutMarketplace(m *Marketplace)
	PutCategory(marketplace uint16, c *Category)
	DeleteCategory(marketplace uint16, id string)
	PutProduct(marketplace uint16, p *Product)
	DeleteProduct(marketplace uint16, id string)
	// PutCampaign adds or replaces a campaign and returns its balances, always at the same address. REQUIRES: when its
	// target return changes (Campaign.HasBase), PutBid is called for all of its bids.
	PutCampaign(c *Campaign) *Balances
	// PutBid adds or replaces a bid, or removes it if it is Deleted. REQUIRES: PutCampaign was called for its campaign.
	PutBid(c *Campaign, b *Bid)
	// RecordExposure reports a counted impression or click of a campaign with frequency caps. Exposures are not part of
	// the replicated state: a Load does not report earlier ones again.
	RecordExposure(c *Campaign, x *Exposure)
	// PutClickRate replaces the impressions and clicks that a group has counted of a cell, decayed to the group's local day
	// of the marketplace; counts of 0 remove them. Auctions read the sums of all groups at once, without Publish.
	PutClickRate(g ids.Group, c *ClickCell, counts learn.Counts)
	// PutClickDelay replaces what a group has learned of the delay of a marketplace's clicks.
	PutClickDelay(g ids.Group, marketplace uint16, d learn.Delay)
	// PutPurchases replaces what a group has counted of the purchases of a cell; zero removes it. Base bids follow from the
	// sums of all groups.
	PutPurchases(g ids.Group, c *PurchaseCell, b learn.Bought)
	// PutReturned replaces what a campaign with a target return has paid and sold.
	PutReturned(g ids.Group, campaign uint32, r Returned)
	// PutTraffic replaces the expected traffic of a marketplace's ads of a format. The meta group calls it.
	PutTraffic(marketplace uint16, format AdFormat, w *pacing.Weights)
	// PutSegment replaces the users of a segment, given as keyed hashes that ascend without repeats. DeleteSegment removes
	// them.
	PutSegment(marketplace uint16, id string, users []uint64)
	DeleteSegment(marketplace uint16, id string)
	// Reset removes the campaigns and bids of a group and, with meta, also the marketplaces, the catalog and the segments.
	// It is called before a group is loaded, also after the installation of a snapshot.
	Reset(g ids.Group, meta bool)
	// Publish makes everything fed so far visible to the auctions that start after it returns.
	Publish()
}
