package command

import (
	"github.com/gavel-ads/gavel/shard/money"
)

// Outcome is the result of one event record. It is stored: append only.
type Outcome uint8

// The outcomes.
const (
	Counted        Outcome = iota // New, nothing to charge.
	Charged                       // New and charged in full.
	Clipped                       // New and charged in part.
	NothingLeft                   // New; the budget or wallet had nothing left.
	Duplicate                     // This event id was seen before.
	TooOld                        // Older than the counting window: accepted without effect.
	UnknownBid                    // New; the token's campaign was terminated or does not exist in this group.
	AlreadyCharged                // New, but this token and interaction were charged before.
	TooLate                       // New and counted, but after the charge window of its token.
	InvalidTraffic                // New, and invalid by a rule of the marketplace (model.ClickRules): it has no other effect than to be counted so.
	Outcomes       = int(InvalidTraffic) + 1
)

var outcomeNames = [Outcomes]string{
	"counted", "charged", "clipped", "nothing_left", "duplicate", "too_old", "unknown_bid", "already_charged", "too_late",
	"invalid_traffic",
}

// String returns the outcome's name as metrics print it.
func (o Outcome) String() string { return outcomeNames[o] }

// EventResult is the result of one event record. Results have the order of the records in the command.
type EventResult struct {
	Outcome Outcome
	Charged money.Micros // The amount charged.
	Clipped money.Micros // The price less the amount charged.
}

// SegmentResult is the answer to CommitSegment. A commit that would leave more than model.SegmentUsersMax users in the
// segment is refused as TooMany.
type SegmentResult struct {
	Refusal Refusal
	Added   uint32
	Removed uint32
	Size    uint32 // Number of users of the segment after the commit.
}

// Refusal is the reason why a management command changed nothing. It is an answer and not a failure: every replica
// gives the same one.
type Refusal uint8

// The refusals. Append only.
const (
	Done                Refusal = iota // Not refused.
	NotFound                           // The campaign, bid, wallet or record does not exist.
	AlreadyExists                      // A unique value is taken.
	Conflict                           // The record's version is not the expected one.
	WrongState                         // The state of the object forbids it, e.g. a terminated campaign or the last API key.
	InsufficientBalance                // The balance is too low.
	TooMany                            // A bound of the state is reached.
	Cycle                              // A category would be its own ancestor.
	Invalid                            // The command cannot be read or applied: a defect of the proposer.
	TooEarly                           // The group's feature level does not allow the command yet.
	Expired                            // The attempt is too old: it is no longer known whether it was applied.
	VendorDeleted                      // The campaign's vendor is marked as deleted.
	NeedsTotal                         // The campaign's charge type needs a budget for its whole time.
	ExceedsCharge                      // More would be given back than was charged and not given back yet.
	MarketplaceClosed                  // The marketplace is closed (model.Marketplace.Closed).
)

// Result is the answer to a management command.
type Result struct {
	Refusal Refusal
	// Index is the position in the command of the item that was refused; after a Pace that was not refused, the number of
	// its campaigns that were skipped.
	Index   int
	Balance money.Micros // After AdjustWallet.
	// FirstOrdinal is the ordinal of the first new bid.
	FirstOrdinal uint32
}
