package command

import (
	"github.com/gavel-ads/gavel/shard/money"
)

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
