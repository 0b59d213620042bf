// Package command is the replicated language of the engine: every change of state is one of these commands, encoded
// with a version, a time and a checksum.
//
// Kinds and result codes are only ever appended. A command carries the time and all ids it needs, so that every replica
// applies it alike; a command whose outcome is unknown is repeated with the same ids.
package command

import (
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// Op is the kind of a command.
type Op uint8

// The commands. Append only.
const (
	OpNoop           Op = iota + 1
	OpAdvance           // Moves the state clock, budget periods and dedup horizons.
	OpEvents            // A batch of events of one request.
	OpBootstrap         // First command of the meta group: marketplace, secrets, first keys.
	OpPutMarketplace    // Settings of a marketplace.
	OpPutRecords        // Generic versioned records (API keys, vendors, ...).
	OpPutCategories     //
	OpPutProducts       //
	OpDeleteCatalog     // Products, categories or vendors by id.
	OpAdjustWallet      // Deposit (positive) or correction of a wallet, idempotent by request id.
	OpCreateCampaign    // A campaign with its first bids.
	OpPatchCampaign     //
	OpPutBids           // Adds or replaces bids of one campaign, all or nothing.
	OpSetFeature        // Raises the feature level of the group.
	OpStageSegment      // One piece of an upload of segment users; without effect until it is committed.
	OpCommitSegment     // Applies an upload to a segment in one step.
	OpOpenAccount       // A further wallet of a vendor, or a ledger account.
	OpTransfer          // A step of a transfer between two accounts.
	OpForgetEmptied     // Somebody was told that a wallet is empty.
	OpPatchBid          // Changes members of one bid.
	OpPatchProducts     // Changes members of products, all or nothing.
)

// Advance moves a group's clock. Periods lists the current local periods of marketplaces; a period never goes back.
type Advance struct {
	Periods []Periods
}

// Periods are the numbers of the current budget periods of one marketplace, in its time zone.
type Periods struct {
	Marketplace uint16
	Day         uint32 // Days since 1970-01-01 of the local date.
	Week        uint32 // Monday-based weeks: (Day+3)/7.
	Month       uint32 // Year*12 + month.
}

// Events is the share of one request's events that one group stores.
type Events struct {
	Marketplace uint16
	Records     []EventRecord
}

// EventRecord is one event, with everything decided that needs a clock, a key or another group's state.
type EventRecord struct {
	Key            [16]byte // Keyed hash of (marketplace, array, id).
	ChargeKey      [16]byte // Keyed hash of (whole token, interaction); zero without a token.
	Kind           event.Kind
	Charge         market.ChargeType // The token's; ChargeNone without a token or for an external winner.
	Bucket         uint32            // Hour (Unix/3600) of token.issued, or of occurredAt without a token.
	Cell           uint32            // Local hour of occurredAt as Unix/900 of its start: the rollup cell.
	OccurredMillis int64
	Campaign       uint32       // Ordinal in the group, 0 none.
	Bid            uint32       // Ordinal in the group, 0 none.
	Price          money.Micros // Per charged interaction.
	Placement      uint8
	UserHash       uint64 // Keyed hash of (marketplace, opaqueUserId); 0 none.
	// ExternalCampaign is the id of the campaign that an externalCampaignId was resolved to; zero otherwise.
	ExternalCampaign ids.UUID
	Entity           []byte // The product, vendor, brand or url of an event without a token; may be empty.
	EntityType       event.EntityType
	Items            []PurchaseItem
}

// PurchaseItem is one line of a purchase, its price resolved.
type PurchaseItem struct {
	ProductID []byte
	VendorID  []byte
	Quantity  int64
	UnitPrice money.Micros
	// Unknown says that the marketplace's catalog did not have the product when the event came. A command with such an item needs
	// LevelProducts.
	Unknown bool
}

// Bootstrap is the first command of a cluster. Applied to a group that has a marketplace already, it does nothing.
type Bootstrap struct {
	Marketplace market.Marketplace
	Secrets     Secrets
	Keys        []Record // API keys.
}

// PutCategories adds or replaces categories, all or nothing; a cycle refuses all.
type PutCategories struct {
	Marketplace uint16
	Categories  []market.Category
}

// PutProducts adds or replaces products, all or nothing.
type PutProducts struct {
	Marketplace uint16
	Products    []market.Product
}

// DeleteCatalog removes catalog items; unknown ids are ignored.
type DeleteCatalog struct {
	Marketplace uint16
	Products    []string
	Categories  []string
}

// AdjustWallet adds an amount to a vendor's wallet, creating the default wallet when it does not exist.
type AdjustWallet struct {
	Request     ids.UUID // Applied once per request id, remembered 24 h.
	Marketplace uint16
	VendorID    string
	Wallet      ids.UUID
	Amount      money.Micros // Not 0.
	Strict      bool         // Refuse to go below zero (InsufficientBalance).
	Description string
}

// CreateCampaign adds a campaign with its bids. Ordinals are assigned in Apply; repeating it with the same campaign id
// changes nothing and answers alike.
type CreateCampaign struct {
	Campaign market.Campaign
	Bids     []market.Bid
}

// PatchCampaign replaces what a PATCH may change. Nil leaves a member.
type PatchCampaign struct {
	Campaign    ids.UUID
	Marketplace uint16
	// Expect is what the proposer has seen of the campaign and built the change on. When it is no longer so, the command is
	// refused as Conflict and changes nothing.
	Expect          Expectation
	Name            *string
	Active          *bool
	StartMillis     *int64
	EndMillis       *int64 // 0 clears.
	Budget          *money.Micros
	Period          *market.Period
	TargetROASMilli *uint32
	Status          *market.Status // Terminated deletes.
	StatusUpdatedBy *string
	Price           *market.PriceRule
	Document        []byte
	Products        *[]string
	Segments        *market.SegmentRules // Replaces all of them.
	Schedule        *[]uint16            // Nil or empty hours clear it.
	Caps            *[]market.Cap
	Wallet          *ids.UUID // Pays from now on; what was charged stays charged to the old one.
}

// PutBids adds bids to a campaign or replaces amount, state, triggers and location of existing ones, all or nothing.
type PutBids struct {
	Campaign    ids.UUID
	Marketplace uint16
	Bids        []market.Bid
}

// StageSegment holds one piece of an upload. The pieces are numbered from 0, and the users of all of them together ascend
// without repeats: the proposer sorts. What is never committed is forgotten after an hour or two.
type StageSegment struct {
	Marketplace uint16
	Segment     string   // External id of the segment.
	Upload      ids.UUID // Of all pieces and the commit.
	Piece       uint32
	Users       []uint64 // Keyed hashes of user ids, at most market.SegmentChunkMax.
}

// SegmentAction is what an upload does to a segment.
type SegmentAction uint8

// The actions. Append only.
const (
	SegmentAdd SegmentAction = iota
	SegmentRemove
	SegmentReplace
	SegmentDrop // Forgets the segment; the upload has no pieces.
	segmentActions
)

// CommitSegment applies the pieces of an upload in one step. Repeated, it answers alike; a repeated SegmentDrop has nothing
// left to remove.
type CommitSegment struct {
	Marketplace uint16
	Segment     string
	Upload      ids.UUID
	Pieces      uint32 // NotFound unless all of them are staged.
	Action      SegmentAction
}
