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
}

// Outcome is what became of one event record. Append only.
type Outcome uint8

// The outcomes.
const (
	Counted        Outcome = iota // New, nothing to charge.
	Charged                       // New and charged in full.
	Clipped                       // New and charged in part.
	NothingLeft                   // New; the budget or wallet had nothing left.
	Duplicate                     // This event id was seen before.
	TooOld                        // Beyond the counting window: accepted without effect.
	UnknownBid                    // New; the token's campaign was deleted or never existed here.
	AlreadyCharged                // New, but this token and interaction were charged before.
	TooLate                       // New and counted, but past the charge window of its token.
	Outcomes       = int(TooLate) + 1
)

var outcomeNames = [Outcomes]string{
	"counted", "charged", "clipped", "nothing_left", "duplicate", "too_old", "unknown_bid", "already_charged", "too_late",
}

// String returns the outcome's name as metrics print it.
func (o Outcome) String() string { return outcomeNames[o] }

// EventResult is the outcome of one record, in the order of the command.
type EventResult struct {
	Outcome Outcome
	Charged money.Micros // What was billed.
	Clipped money.Micros // What the price asked beyond that.
}

// Bootstrap is the first command of a cluster. Applied to a group that has a marketplace already, it does nothing.
type Bootstrap struct {
	Marketplace market.Marketplace
	Secrets     Secrets
	Keys        []Record // API keys.
}

// Secrets are the cluster's own keys.
type Secrets struct {
	Duplicate [32]byte   // Keys the hashes of event ids, tokens and user ids. Never changes.
	Token     []TokenKey // The newest is last and signs; all verify.
	Cursor    [32]byte   // Authenticates page cursors.
}

// TokenKey signs resolvedBidIds.
type TokenKey struct {
	ID  uint8
	Key [16]byte
}

// RecordIDMax is the longest id of a record in bytes. BOUND: a vendor's id has at most 255 characters of at most 4 bytes.
const RecordIDMax = 1_020

// Record is one management resource that auctions do not read.
type Record struct {
	Kind        RecordKind
	Marketplace uint16
	ID          string // 1 to RecordIDMax bytes.
	Value       []byte // Opaque to the engine; nil deletes.
	// Expect is the version the writer saw: 0 for a new record, Any to write whatever is there.
	Expect uint64
	// NotLast refuses a delete that would leave no record of the kind with the same Class that has not expired.
	NotLast bool
	Class   string // A small grouping within the kind, such as an API key's kind.
	Max     int    // Refuses a new record beyond this many of the kind and class that have not expired; 0: no bound.
	// ExpiresMillis is when the record stops to count for NotLast and Max; it is then deleted when its place is needed.
	// 0: never.
	ExpiresMillis int64
}

// Any as Record.Expect writes whatever version is there.
const Any = ^uint64(0)

// RecordKind names a kind of record. Append only.
type RecordKind uint8

// The record kinds.
const (
	RecordAPIKey RecordKind = iota + 1
	RecordVendor
	RecordSlot
	RecordSlotIndex
	RecordUser
	RecordUserIndex
	RecordInvitation
	RecordInvitationIndex
	RecordTemplate
	RecordTemplateIndex
	RecordPlacement
	RecordPlacementIndex
	RecordAsset
	RecordAssetIndex
	RecordJob // By id.
	RecordDue // What shall happen to something at a time, by the time.
	RecordAudience
	RecordAudienceIndex
	RecordAdvertiser // A vendor on an ad network.
	RecordOffsiteCampaign
	RecordOffsiteCampaignIndex
	RecordOffsiteReport // A product's day of an offsite campaign.
	RecordWebhook
	RecordWebhookIndex
	RecordDelivery // A notification that is under way, or one of the last that were.
	RecordAudit
	RecordLedgerAccount
	RecordTransfer
	RecordNode // Where the nodes of the cluster serve files to one another.
	RecordSegment
	RecordSegmentIndex
	RecordMarketplace // The last number of a marketplace that was taken.
)

// PutRecords writes records, all or nothing.
type PutRecords struct{ Records []Record }

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
	Campaign        ids.UUID
	Marketplace     uint16
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

// SegmentResult is the answer to CommitSegment. A segment that would have more than market.SegmentUsersMax users is left
// as it was: TooMany.
type SegmentResult struct {
	Refusal Refusal
	Added   uint32
	Removed uint32
	Size    uint32 // Users of the segment now.
}

// Refusal is why a management command changed nothing. It is an answer, not a failure: every replica gives the same.
type Refusal uint8

// The refusals. Append only.
const (
	Done                Refusal = iota // Not refused.
	NotFound                           // The campaign, bid, wallet or record does not exist.
	AlreadyExists                      // A unique value is taken.
	Conflict                           // The record's version is not the expected one.
	WrongState                         // For instance a terminated campaign, the last key.
	InsufficientBalance                //
	TooMany                            // A bound of the state was reached.
	Cycle                              // A category would be its own ancestor.
	Invalid                            // The command cannot be read: a defect of the proposer.
	TooEarly                           // The group's feature level does not allow the command yet.
	Expired                            // The attempt is too old: whether it was applied before is no longer known.
)

// Result is the answer to a management command.
type Result struct {
	Refusal Refusal
	// Index is the position in the command of the item that was refused.
	Index   int
	Balance money.Micros // After AdjustWallet.
	// FirstOrdinal is the ordinal of the first new bid.
	FirstOrdinal uint32
}
