package model

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

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
