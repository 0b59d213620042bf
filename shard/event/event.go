// Package event holds the events of a POST /v2/events body as the wire parsed them, and the windows in which an event
// counts and charges.
package event

import "github.com/gavel-ads/gavel/shard/money"

// Limits of an event report, from the interface.
const (
	PerArrayMax      = 50             // BOUND: events in one array.
	ItemsMax         = 1_000          // BOUND: items of one purchase.
	FutureMillisMax  = 30_000         // An event may lie this far ahead of the node's clock.
	CountMillis      = 30 * dayMillis // Older events are accepted and have no effect.
	ClickMillis      = 7 * dayMillis  // A click charges within this time of its auction.
	ImpressionMillis = dayMillis      // An impression charges within this time of its auction.
	dayMillis        = 24 * 3600 * 1000
)

// Kind is the array an event came in.
type Kind uint8

// The kinds, in the order in which violations are reported. Their numbers are part of stored keys.
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

// Batch is one parsed body. It is pooled; every field of a reused element is reset by the parser.
// OWNERSHIP: byte slices alias Body or the batch's own arena and live until the batch is reset.
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
	Device           uint8 // 0 none, 1 desktop, 2 mobile.
	Channel          []byte
	ClickType        []byte
	FirstItem, Items int // Range in Batch.Items.
	PageType         []byte
}

// EntityType is what an event without a token is about.
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
	HasPrice  bool // Absent prices are the catalog's.
}
