// Package command defines the commands that change the replicated state, and their encoding with version, time and
// checksum. Package shard applies them.
//
// Kinds and result codes are append only. A command carries the time and all ids that it needs, so that every replica
// applies it alike. A command whose outcome is unknown is repeated with the same bytes.
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
	OpAdvance           // Advances the state clock, budget periods and dedup horizons.
	OpEvents            // Records events of one request.
	OpBootstrap         // Creates the first marketplace, the secrets and the first API keys of a cluster.
	OpPutMarketplace    // Replaces the settings of a marketplace.
	OpPutRecords        // Writes generic versioned records (API keys, vendors and others).
	OpPutCategories     // Adds or replaces categories.
	OpPutProducts       // Adds or replaces products.
	OpDeleteCatalog     // Deletes products and categories by id.
	OpAdjustWallet      // Adds a deposit (positive) or correction to a wallet, idempotent by request id.
	OpCreateCampaign    // Creates a campaign with its first bids.
	OpPatchCampaign     // Changes members of a campaign.
	OpPutBids           // Adds or replaces bids of one campaign, all or nothing.
	OpSetFeature        // Raises the feature level of the group.
	OpStageSegment      // Stages one piece of an upload of segment users; it has no effect until the commit.
	OpCommitSegment     // Applies an upload to a segment in one step.
	OpOpenAccount       // Opens a further wallet of a vendor, or a ledger account.
	OpTransfer          // Applies a step of a transfer between two accounts.
	OpForgetEmptied     // Deletes the reminder that a wallet was emptied.
	OpPatchBid          // Changes members of one bid.
	OpPatchProducts     // Changes members of products, all or nothing.
	OpMarkVendors       // Says in the group of vendors that the catalog does not have them any more, or has them again.
	OpForgetNotices     // Deletes stored notices whose deliveries are stored.
)

// Advance advances a group's clock. Periods lists the current local budget periods of marketplaces; a period never goes
// back.
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

// Events holds the events of one request that one group stores.
type Events struct {
	Marketplace uint16
	Records     []EventRecord
}

// EventRecord is one event. The proposer has resolved everything that needs a clock, a secret or the state of another
// group.
type EventRecord struct {
	Key            [16]byte // Keyed hash of (marketplace, array, id).
	ChargeKey      [16]byte // Keyed hash of (whole token, interaction); zero without a token.
	Kind           event.Kind
	Charge         market.ChargeType // The charge type of the token; ChargeNone without a token or for an external winner.
	Bucket         uint32            // Hour (Unix time / 3600) of the token's issue, or of occurredAt without a token.
	Cell           uint32            // The rollup cell: the start of the local hour of occurredAt as Unix time / 900.
	OccurredMillis int64
	Campaign       uint32       // Ordinal in the group, 0 for none.
	Bid            uint32       // Ordinal in the group, 0 for none.
	Price          money.Micros // Per charged interaction.
	PlacementIndex uint8        // The token's PlacementIndex.
	UserHash       uint64       // Keyed hash of (marketplace, opaqueUserId); 0 for none.
	// ExternalCampaign is the id of the campaign that an externalCampaignId was resolved to; zero otherwise.
	ExternalCampaign ids.UUID
	Entity           []byte // The product, vendor, brand or URL of an event without a token; may be empty.
	EntityType       event.EntityType
	Items            []PurchaseItem
}

// PurchaseItem is one line of a purchase with its resolved price.
type PurchaseItem struct {
	ProductID []byte
	VendorID  []byte
	Quantity  int64
	UnitPrice money.Micros
	// Unknown says that the marketplace's catalog did not contain the product when the event was received. A command with
	// such an item needs LevelProducts.
	Unknown bool
}

// Bootstrap is the first command of a cluster. It does nothing when the group already has secrets or the marketplace.
type Bootstrap struct {
	Marketplace market.Marketplace
	Secrets     Secrets
	Keys        []Record // API keys.
}

// PutCategories adds or replaces categories, all or nothing. It is refused as Cycle when a category would be its own
// ancestor.
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

// AdjustWallet adds an amount to a vendor's wallet, and creates the default wallet if it does not exist.
type AdjustWallet struct {
	Request     ids.UUID // It is applied once per request id, which is remembered for at least 24 hours.
	Marketplace uint16
	VendorID    string
	Wallet      ids.UUID     // Zero: the default wallet.
	Amount      money.Micros // Not 0.
	Strict      bool         // Refuses a negative balance as InsufficientBalance.
	Description string
}

// CreateCampaign adds a campaign with its bids. Apply assigns the ordinals. A repeat with the same campaign id changes
// nothing and gets the same answer.
type CreateCampaign struct {
	Campaign market.Campaign
	Bids     []market.Bid
}

// PatchCampaign replaces members of a campaign. A nil member is not changed.
type PatchCampaign struct {
	Campaign    ids.UUID
	Marketplace uint16
	// Expect names the members whose values the proposer has read and based the change on. When they have other values
	// now, the command is refused as Conflict and changes nothing.
	Expect          Expectation
	Name            *string
	Active          *bool
	StartMillis     *int64
	EndMillis       *int64 // 0 removes the end.
	Budget          *money.Micros
	Period          *market.Period
	TargetROASMilli *uint32
	Status          *market.Status // Terminated is final.
	StatusUpdatedBy *string
	Price           *market.PriceRule
	Document        []byte
	Products        *[]string
	Segments        *market.SegmentRules // Replaces all segment rules.
	Schedule        *[]uint16            // An empty schedule removes it.
	Caps            *[]market.Cap
	Wallet          *ids.UUID // The wallet that pays from now on; past charges stay with the old one.
}

// PutBids adds bids to a campaign or replaces amount, state, triggers and location of existing bids, all or nothing.
type PutBids struct {
	Campaign    ids.UUID
	Marketplace uint16
	Bids        []market.Bid
}

// StageSegment stages one piece of an upload. Pieces are numbered from 0, and the users of all pieces together ascend
// without repeats; the proposer sorts them. An upload that is not committed is dropped one to two hours after its last
// piece.
type StageSegment struct {
	Marketplace uint16
	Segment     string   // External id of the segment.
	Upload      ids.UUID // The same id in all pieces and in the commit.
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
	SegmentDrop // Deletes the segment; the upload has no pieces.
	segmentActions
)

// CommitSegment applies the pieces of an upload in one step. A repeat gets the same answer, except that a repeated
// SegmentDrop reports that nothing was removed.
type CommitSegment struct {
	Marketplace uint16
	Segment     string
	Upload      ids.UUID
	Pieces      uint32 // Number of pieces; refused as NotFound unless all of them are staged.
	Action      SegmentAction
}
