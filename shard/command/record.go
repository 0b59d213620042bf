package command

import (
	"encoding/binary"
	"math"
)

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

var (
	putRecords = newTable("put records",
		fixed("records", list(records, unbounded), func(p *PutRecords) *[]Record { return &p.Records }),
	)
	records = newTable("record",
		fixed("kind", u8[RecordKind](), func(r *Record) *RecordKind { return &r.Kind }),
		fixed("marketplace", u16[uint16](), func(r *Record) *uint16 { return &r.Marketplace }),
		fixed("id", text, func(r *Record) *string { return &r.ID }),
		fixed("value", nullable, func(r *Record) *[]byte { return &r.Value }),
		fixed("expect", u64[uint64](), func(r *Record) *uint64 { return &r.Expect }),
		fixed("not last", boolean, func(r *Record) *bool { return &r.NotLast }),
		fixed("class", text, func(r *Record) *string { return &r.Class }),
		fixed("max", count, func(r *Record) *int { return &r.Max }),
		fixed("expires", millis, func(r *Record) *int64 { return &r.ExpiresMillis }),
	).checked(func(r *Record) bool { return r.ID != "" && len(r.ID) <= RecordIDMax && len(r.Class) <= classMax })
)

// classMax bounds the class of a record in bytes.
const classMax = 255

// nullable is the kind of bytes that may be nil: whether they are there, and the bytes.
var nullable = sequence("bytes or nothing", 1,
	func(dst, v []byte) []byte {
		if v == nil {
			return AppendBool(dst, false)
		}
		return AppendBytes(AppendBool(dst, true), v)
	},
	func(d *Decoder) []byte {
		if !d.Bool() {
			return nil
		}
		return append([]byte{}, d.Bytes()...)
	})

// count is the kind of a number from 0 to math.MaxInt32.
var count = scalar("u32", 4,
	func(dst []byte, n int) []byte { return binary.LittleEndian.AppendUint32(dst, clampU32(n)) },
	func(d *Decoder) int { return int(min(d.U32(), math.MaxInt32)) })

// AppendPutRecords appends a PutRecords.
func AppendPutRecords(dst []byte, nowMillis int64, p *PutRecords) []byte {
	return appendCommand(dst, OpPutRecords, nowMillis, putRecords, p)
}

// ReadPutRecords reads a PutRecords.
func ReadPutRecords(c *Command) (PutRecords, error) { return readCommand(c, putRecords) }

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
	_ // 27 to 29 were kinds that no release wrote.
	_
	_
	RecordSegment
	RecordSegmentIndex
	RecordMarketplace // The highest assigned ordinal of a marketplace.
	RecordAnswer      // The sealed answer to a request with an Idempotency-Key.
	RecordConsoleUser
	RecordConsoleUserIndex
	RecordLoginSession // The key is the hash of the cookie's secret.
)

// The kinds that all plain resources share: those which only the management API reads. The id of a record begins with the
// resource's name, and its class is that name, so a further plain resource needs nothing here.
const (
	RecordPlain RecordKind = 128 + iota
	RecordPlainIndex
)
