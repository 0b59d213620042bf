// Package event holds the parsed events of a POST /v2/events body, and the time windows within which an event is
// counted and charged.
package event

import "github.com/gavel-ads/gavel/shard/money"

// Limits of an event report, from the interface.
const (
	PerArrayMax      = 50             // BOUND: events in one array.
	ItemsMax         = 1_000          // BOUND: items of one purchase.
	FutureMillisMax  = 30_000         // An event may be this far ahead of the node's clock.
	CountMillis      = 30 * dayMillis // Events older than this are accepted and have no effect.
	RepeatMillis     = 3 * dayMillis  // An event id is recognised for this time after its report, whatever its time or token.
	ClickMillis      = 7 * dayMillis  // A click charges within this time of its auction.
	ImpressionMillis = dayMillis      // An impression charges within this time of its auction.
	// A purchase charges within this time of its auction: a touch is reported up to 30 days after it, and credited for 90.
	PurchaseMillis = 121 * dayMillis
	ReturnMillis   = 30 * dayMillis // Products may be returned within this time of their purchase.
	dayMillis      = 24 * 3600 * 1000
)

// PiecesMax bounds the pieces of an item. BOUND: the interface has no limit. A larger quantity counts as this one, so that the
// pieces of all items of a purchase can be summed.
const PiecesMax = 1_000_000_000_000

const _ int64 = ItemsMax * PiecesMax // It fits.

// AgeSecondsMax bounds the age of an event in its record. BOUND: the time in which a click is charged; what is reported
// later says nothing about how long money has to be held.
const AgeSecondsMax = ClickMillis / 1000

// Kind is the array of the body that contained an event.
type Kind uint8

// The kinds, in the order in which violations are reported. Their numbers are part of stored commands and keys.
const (
	Impression Kind = iota
	Click
	Purchase
	Pageview
	Kinds = 4
)

var kindNames = [Kinds]string{"impressions", "clicks", "purchases", "pageviews"}

// String returns the name of the array.
func (k Kind) String() string { return kindNames[k] }

// Batch is one parsed body. It is pooled; the parser resets every field of a reused element.
// OWNERSHIP: byte slices alias Body or Arena and are valid until the batch is reset.
type Batch struct {
	Body   []byte
	Arena  []byte
	Events []Event // In the order impressions, clicks, purchases, pageviews.
	Items  []Item  // Items of all purchases, one after the other.
}

// Event is one event of any kind; members that a kind does not have are zero.
type Event struct {
	Kind             Kind
	Index            int // Position in its array.
	ID               []byte
	OccurredMillis   int64
	UserID           []byte
	ResolvedBidID    []byte // Empty: none.
	ExternalCampaign []byte
	ExternalVendor   []byte
	EntityType       EntityType
	EntityID         []byte
	Device           Device
	Channel          []byte
	ClickType        []byte
	FirstItem, Items int    // First index and number of its items in Batch.Items.
	ReturnOf         []byte // The id of the purchase whose items are returned; empty: the event is no return.
	PageType         []byte
}

// EntityType is the type of the entity that an event without a token names.
type EntityType uint8

// The entity types.
const (
	NoEntity EntityType = iota
	ProductEntity
	VendorEntity
	BrandEntity
	URLEntity
)

// Item is one line of a purchase.
type Item struct {
	ProductID []byte
	VendorID  []byte
	Quantity  int64
	UnitPrice money.Micros
	HasPrice  bool // Without a price the catalog's price applies.
}
