package command

// Secrets are the cluster's own keys.
type Secrets struct {
	Duplicate [32]byte   // Keys the hashes of event ids, tokens and user ids. It never changes.
	Token     []TokenKey // The newest key is the last and signs; all keys verify.
	Cursor    [32]byte   // Authenticates page cursors.
}

// TokenKey signs resolvedBidIds.
type TokenKey struct {
	ID  uint8
	Key [16]byte
}

// RecordIDMax is the longest id of a record in bytes. BOUND: a vendor's id has at most 255 characters of at most 4
// bytes.
const RecordIDMax = 1_020

// Record is one management resource whose value the engine does not interpret.
type Record struct {
	Kind        RecordKind
	Marketplace uint16
	ID          string // 1 to RecordIDMax bytes.
	Value       []byte // Opaque to the engine; nil deletes.
	// Expect is the version that the writer has seen: 0 for a new record, Any to write regardless of the version.
	Expect uint64
	// NotLast refuses a delete that would leave no unexpired record of the same kind and Class.
	NotLast bool
	Class   string // A group of records within the kind, such as the kind of an API key.
	Max     int    // Refuses a new record when there are already Max unexpired ones of the kind and class; 0: no limit.
	// ExpiresMillis is the Unix time in milliseconds from which the record no longer counts for NotLast and Max. An
	// expired record is deleted when its class is full. 0: never.
	ExpiresMillis int64
}

// Any as Record.Expect writes the record regardless of its stored version.
const Any = ^uint64(0)

// RecordKind names a kind of record. Append only.
type RecordKind uint8

// PutRecords writes records, all or nothing.
type PutRecords struct{ Records []Record }

// The record kinds.
const (
	RecordAPIKey RecordKind = iota + 1
	RecordVendor
	RecordMediaSlot
	RecordMediaSlotIndex
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
	RecordJob           // The key is the job's id.
	RecordScheduledTask // Something to be done at a time; the key starts with the time.
	RecordAudience
	RecordAudienceIndex
	RecordAdvertiser // A vendor on an ad network.
	RecordOffsiteCampaign
	RecordOffsiteCampaignIndex
	RecordOffsiteReport // The figures of one product on one day of an offsite campaign.
	RecordWebhook
	RecordWebhookIndex
	RecordDelivery // A notification that is being delivered, or one of the last that were.
	RecordAudit
	RecordLedgerAccount
	RecordTransfer
	RecordNode // The address at which a node serves files to the other nodes.
	RecordSegment
	RecordSegmentIndex
	RecordMarketplace // The highest assigned ordinal of a marketplace.
	RecordAnswer      // The sealed answer to a request with an Idempotency-Key.
)
