package model

import "github.com/gavel-ads/gavel/shard/money"

// This file holds the targeting of campaigns: users, hours, frequency and reserve prices.

// SegmentRules are the segment rules of a campaign that are in force; rules that are switched off are not contained. An
// unknown user (no opaqueUserId) is in no segment.
type SegmentRules struct {
	Include     []string // The user must be in one of them; empty: all users.
	Exclude     []string // The user must be in none of them.
	Multipliers []SegmentMultiplier
}

// SegmentMultiplier changes the bid for the users of a segment. The multipliers of several segments are multiplied.
type SegmentMultiplier struct {
	Segment    string
	Multiplier uint32 // In units of 1/MultiplierOne, from a tenth to ten.
}

// MultiplierOne is a multiplier of 1.
const MultiplierOne = 1_000_000

// Bounds of targeting, from the interface.
const (
	SegmentRulesMax  = 20        // BOUND: rules of each kind in one campaign.
	SegmentUsersMax  = 1_000_000 // BOUND: users of one segment.
	SegmentChunkMax  = 1 << 16   // BOUND: users of one stored or proposed piece of a segment, 512 KiB.
	ScheduleHours    = 7 * 24
	ScheduleOne      = 100   // The schedule value that leaves the bid unchanged.
	ScheduleMax      = 1_000 // BOUND: ten times the bid.
	RestrictionTypes = 18    // Number of frequency restriction types of the interface.
)

// Cap is a frequency restriction in force: at most Limit interactions of one user within one period.
type Cap struct {
	// Type is the id of the restriction type in the interface, 1 to RestrictionTypes. Types are ordered by level
	// (campaign, bid), then by interaction (impressions, clicks, conversions), then by period (daily, weekly, monthly).
	Type  uint8
	Limit uint32
}

// CapInteraction is what a cap counts. The order is that of the restriction types.
type CapInteraction uint8

// The interactions.
const (
	CapImpressions CapInteraction = iota
	CapClicks
	CapConversions
	CapInteractions = int(CapConversions) + 1
)

// OfBid reports whether the cap counts the interactions with one bid; otherwise it counts those with all bids of the
// campaign.
func (c Cap) OfBid() bool { return c.Type > RestrictionTypes/2 }

// Interaction returns what the cap counts.
func (c Cap) Interaction() CapInteraction {
	return CapInteraction((c.Type - 1) % (RestrictionTypes / 2) / 3)
}

// Period returns the length of the cap's period: Daily, Weekly or Monthly.
func (c Cap) Period() Period { return Period((c.Type - 1) % 3) }

// ReserveRule sets a reserve price where it applies. The reserve price of a bid is the highest of all rules that apply
// and of the marketplace's own price for the charge type.
type ReserveRule struct {
	Charge ChargeType
	Amount money.Micros
	// AnyFormat says that the rule applies to all formats; otherwise it applies to Format only.
	AnyFormat bool
	Format    AdFormat
	// Place is the external id of a media slot or placement; empty: the rule applies everywhere, also to listings.
	Place string
	// Category limits the rule to products in that category or a descendant and, for other targets, to auctions whose
	// category context names the category or a descendant. Empty: no limit.
	Category string
}

// ReserveRulesMax bounds the reserve rules of a marketplace. BOUND: every auction evaluates all of them.
const ReserveRulesMax = 200
