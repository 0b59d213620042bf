// Package command defines the commands that change the replicated state, and their encoding with level, time and
// checksum. Package shard applies them. Each command and stored value has a table with one row for each member
// (table.go); only events have a codec of their own, because they are hot. FORMAT.md is generated from the tables.
//
// Kinds and result codes are append only. A command carries the time and all ids that it needs, so that every replica
// applies it alike. A command whose outcome is unknown is repeated with the same bytes.
package command

import (
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
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
	OpPace              // Publishes the pacing decisions of the group's leader.
	OpTraffic           // Says how many auctions a marketplace had in an hour.
	OpCountAuctions     // Adds the auctions that campaigns have won and lost on one node.
	OpDecideCredits     // Records to which touches the items of purchases go.
	OpApplyCredits      // Counts and charges credited items in the group of their touches.
	OpCloseCredits      // Removes purchases from the open ones whose credits are carried out.
	OpApplyReturns      // Takes back credits of items that were returned, in the group of their touches.
	OpCloseReturns      // Removes purchases from those whose returns are not carried out everywhere.
	OpReverse           // Reverses charges of a campaign, or a part of them.
	OpLinkUsers         // Says that touches of one user are credited with purchases of another.
	OpForgetUser        // Erases what a group has stored of a user.
	OpWatchUsers        // Says which actions mark their users for the evaluation of dynamic segments.
	OpForgetMarks       // Deletes marks of users who were evaluated.
	OpDefineSegment     // Makes a segment dynamic, or ends it.
	OpDecideMembers     // Says which users belong to a dynamic segment.
	OpEnrolUsers        // Says which users take part in the measurement of a campaign's holdout.
)

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
	Charge         model.ChargeType // The charge type of the token; ChargeNone without a token or for an external winner.
	Bucket         uint32           // Hour (Unix time / 3600) of the token's issue, or of occurredAt without a token.
	Cell           uint32           // The rollup cell: the start of the local hour of occurredAt as Unix time / 900.
	OccurredMillis int64
	Campaign       uint32       // Ordinal in the group, 0 for none.
	Bid            uint32       // Ordinal in the group, 0 for none.
	Price          money.Micros // Per charged interaction.
	Place          event.Place  // The token's placement, and the device and channel of the event, which need LevelPlaces.
	UserHash       uint64       // Keyed hash of (marketplace, opaqueUserId); 0 for none.
	// ExternalCampaign is the id of the campaign that an externalCampaignId was resolved to; zero otherwise.
	ExternalCampaign ids.UUID
	Entity           []byte // The product, vendor, brand or URL of an event without a token; may be empty.
	EntityType       event.EntityType
	Items            []PurchaseItem
	// Rank, AgeSeconds and Product are what a click rate is learned from. A record with them needs LevelPacing.
	Rank       uint8  // The token's rank, from 1. 0: nothing is learned from the event, and the other two are empty.
	AgeSeconds uint32 // Time from the auction to the arrival of the report, at most event.AgeSecondsMax.
	// Product is the product that the token's bid is on. It is empty when the proposer does not know the bid, and for
	// banners and sponsored brands, where Bid says what was shown.
	Product []byte
	// ReturnOf makes the record of a purchase a return: it is the Key of the purchase whose Items came back, and the record
	// belongs to the group of that purchase. Quantities are those returned, at least 1; prices are not used. Zero for all
	// other records. A record with it needs LevelReturns.
	ReturnOf [16]byte
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
