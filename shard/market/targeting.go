package market

import "github.com/gavel-ads/gavel/shard/money"

// Whom, when and how often a campaign reaches.

// SegmentRules are the user segments of a campaign: what is in force, not what is switched off. A user who is not known
// (no opaqueUserId) is in no segment.
type SegmentRules struct {
	Include     []string // The user must be in one of them; empty: everybody.
	Exclude     []string // The user must be in none of them.
	Multipliers []SegmentMultiplier
}

// SegmentMultiplier changes the bid for the users of a segment. Those of several segments multiply.
type SegmentMultiplier struct {
	Segment    string
	Multiplier uint32 // In units of 1/MultiplierOne: a tenth to ten times.
}

// MultiplierOne is a multiplier of 1.
const MultiplierOne = 1_000_000

// Bounds of targeting, from the interface.
const (
	SegmentRulesMax  = 20        // BOUND: of each kind of a campaign.
	SegmentUsersMax  = 1_000_000 // BOUND: users of one segment.
	SegmentChunkMax  = 1 << 16   // BOUND: users of one stored or proposed piece of a segment, 512 KiB.
	ScheduleHours    = 7 * 24
	ScheduleOne      = 100   // A schedule's value for "as bid".
	ScheduleMax      = 1_000 // BOUND: ten times the bid.
	RestrictionTypes = 18
)

// Cap is a frequency restriction in force: at most Limit interactions of one user within one period.
type Cap struct {
	// Type is the restriction type's id of the interface, 1 to RestrictionTypes: levels campaign and bid; in each
	// impressions, clicks and conversions; in each daily, weekly and monthly.
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

// OfBid reports whether the cap counts the interactions with one bid, else those with all bids of the campaign.
func (c Cap) OfBid() bool { return c.Type > RestrictionTypes/2 }

// Interaction returns what the cap counts.
func (c Cap) Interaction() CapInteraction {
	return CapInteraction((c.Type - 1) % (RestrictionTypes / 2) / 3)
}

// Period returns the length of the cap's period: Daily, Weekly or Monthly.
func (c Cap) Period() Period { return Period((c.Type - 1) % 3) }

// ReserveRule raises the reserve price where it applies. Of all rules that apply to a bid, and the marketplace's own
// price for the charge type, the highest counts.
type ReserveRule struct {
	Charge ChargeType
	Amount money.Micros
	// AnyFormat applies to all formats, else the rule applies to Format alone.
	AnyFormat bool
	Format    AdFormat
	// Place is the external id of a banner slot or placement; empty: all, and listings.
	Place string
	// Category applies to products in that category or a descendant; and, for other targets, to auctions whose category
	// context names it or a descendant. Empty: all.
	Category string
}

// ReserveRulesMax bounds the rules of a marketplace. BOUND: an auction looks at all of them.
const ReserveRulesMax = 200
