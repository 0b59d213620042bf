package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Bounds of the audit log of one marketplace.
const (
	AuditRetention = 30 * 24 * time.Hour // BOUND: how long an entry is kept.
	AuditMax       = 100_000             // BOUND: entries; the oldest are removed first.
)

// AuditEntry describes one change that was requested through the management API.
type AuditEntry struct {
	ID        ids.UUID
	Millis    int64
	KeyID     string // The API key that requested the change; empty for a person.
	UserID    string `json:",omitempty"` // The console user who made the change; empty for a key.
	UserEmail string `json:",omitempty"` // Of that user at the time.
	Operation string
	Method    string
	Path      string          // With its query.
	Status    int             // HTTP status of the answer; 0 while the request runs, and for good when its node ended before it was written.
	RequestID string          // Of the answer.
	Before    json.RawMessage // The resource before the change; empty where it cannot be read by the same path.
	After     json.RawMessage // The body of the answer; empty after a deletion.
	// Withdrawn removes the entry from the log, because the request was refused without a change.
	Withdrawn bool `json:"-"`
}

// ListPosition is the entry's position in lists.
func (e *AuditEntry) ListPosition() string { return positionOf(e.Millis, e.ID) }

// Bounds of one command of the audit log.
const (
	AuditBatch = 200 // BOUND: entries.
	// AuditCommandMax is the most bytes of a command of entries. BOUND: far below what a command may have, so that entries do not
	// delay the changes that share a Raft log with them.
	AuditCommandMax = 1 << 20
)

const attemptLen = 24 // Bytes that command.AppendAttempt adds.

// Audit writes entries, and fills in missing ids. Entries that are in the log already are replaced. The entries may need several
// commands; after an error any of them may be written, and the caller may write all of them again.
func (t Tenant) Audit(ctx context.Context, entries []AuditEntry) error {
	var some []command.Record
	empty := len(command.AppendPutRecords(nil, 0, &command.PutRecords{}))
	const countLen = 1 // Bytes that the number of entries may need beyond that of none.
	size := empty + countLen + attemptLen
	for i := range entries {
		entries[i].assignID()
		entries[i].truncate()
		next := entries[i].record(t.marketplace)
		more := len(command.AppendPutRecords(nil, 0, &command.PutRecords{Records: []command.Record{next}})) - empty
		if len(some) == AuditBatch || len(some) > 0 && size+more > AuditCommandMax {
			if err := t.putRecords(ctx, some); err != nil {
				return err
			}
			some, size = nil, empty+countLen+attemptLen
		}
		some, size = append(some, next), size+more
	}
	if len(some) == 0 {
		return nil
	}
	return t.putRecords(ctx, some)
}

// AuditLog lists the entries for which keep returns true, newest first.
func (t Tenant) AuditLog(_ context.Context, p Page, keep func(*AuditEntry) bool) ([]AuditEntry, bool, error) {
	got, err := read(t, t.store.Groups.Meta(), func(b shard.Queries) (out page[AuditEntry]) {
		for after, more := p.After, true; more; {
			var records []shard.StoredRecord
			records, more = b.Records(command.RecordAudit, t.marketplace, after, scanStep)
			for i := range records {
				after = records[i].ID
				e := decoded[AuditEntry](records[i].Value)
				if !keep(&e) {
					continue
				}
				if out.more = len(out.items) == p.Limit; out.more {
					return out
				}
				out.items = append(out.items, e)
			}
		}
		return out
	})
	return got.items, got.more, err
}

// pruneStep is how many entries one command removes.
const pruneStep = 1_000

// PruneAudit removes entries that are older than AuditRetention, and the oldest beyond most entries. It returns how many it removed.
func (t Tenant) PruneAudit(ctx context.Context, most int) (removed int, err error) {
	last := ids.UUID{}
	for i := range last {
		last[i] = 0xff
	}
	oldest := positionOf(t.now()-AuditRetention.Milliseconds(), last)
	for {
		old, err := read(t, t.store.Groups.Meta(), func(b shard.Queries) (old []command.Record) {
			after, kept := "", 0
			for more := true; more && len(old) < pruneStep; {
				var records []shard.StoredRecord
				records, more = b.Records(command.RecordAudit, t.marketplace, after, pruneStep)
				for i := range records {
					if after = records[i].ID; kept < most && after <= oldest {
						kept++
						continue
					}
					old = append(old, command.Record{Kind: command.RecordAudit, Marketplace: t.marketplace, ID: after, Expect: command.Any})
				}
			}
			return old
		})
		if err != nil || len(old) == 0 {
			return removed, err
		}
		if err := t.putRecords(ctx, old); err != nil {
			return removed, err
		}
		removed += len(old)
	}
}
