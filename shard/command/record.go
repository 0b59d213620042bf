package command

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

// PutRecords writes records, all or nothing.
type PutRecords struct{ Records []Record }

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
