package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Bounds of the audit log of one marketplace.
const (
	AuditKept = 30 * 24 * time.Hour // BOUND: how far it goes back.
	AuditMax  = 100_000             // BOUND: entries; the oldest go first.
)

// AuditEntry is one change that somebody made through the management API.
type AuditEntry struct {
	ID        ids.UUID
	Millis    int64
	KeyID     string
	Operation string
	Method    string
	Path      string // With its query.
	Status    int
	RequestID string
	Before    json.RawMessage // What the resource was; empty where it cannot be read by the same path.
	After     json.RawMessage // What was answered; empty after a deletion.
}

// Place is the entry's position in lists.
func (e *AuditEntry) Place() string { return placeOf(e.Millis, e.ID) }

// Audit writes entries down, and fills in their ids.
func (t Tenant) Audit(ctx context.Context, entries []AuditEntry) error {
	records := make([]command.Record, len(entries))
	for i := range entries {
		e := &entries[i]
		var entropy [10]byte
		_, _ = rand.Read(entropy[:]) // Never fails: it ends the process instead.
		e.ID = ids.Mint(e.Millis, entropy, 0)
		records[i] = command.Record{Kind: command.RecordAudit, Marketplace: t.marketplace, ID: e.Place(), Value: encoded(e), Expect: command.Any}
	}
	return t.putRecords(ctx, records)
}

// AuditLog lists the entries that a filter keeps, newest first.
func (t Tenant) AuditLog(_ context.Context, p Page, keep func(*AuditEntry) bool) ([]AuditEntry, bool, error) {
	got, err := read(t, t.store.Groups.Meta(), func(b shard.Books) (out page[AuditEntry]) {
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

// PruneAudit removes entries past the bounds of the log, and returns how many.
func (t Tenant) PruneAudit(ctx context.Context, most int) (gone int, err error) {
	last := ids.UUID{}
	for i := range last {
		last[i] = 0xff
	}
	oldest := placeOf(t.now()-AuditKept.Milliseconds(), last)
	for {
		old, err := read(t, t.store.Groups.Meta(), func(b shard.Books) (old []command.Record) {
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
			return gone, err
		}
		if err := t.putRecords(ctx, old); err != nil {
			return gone, err
		}
		gone += len(old)
	}
}
