package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

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
	Status    int             // HTTP status of the answer. 0: see auditNotRecorded.
	RequestID string          // Of the answer.
	Before    json.RawMessage // The resource before the change; empty where it cannot be read by the same path.
	After     json.RawMessage // The body of the answer; empty after a deletion, and when the node ended before it was written.
	// Group is the group whose state has the entry; 0 means the meta group.
	Group ids.Group `json:"-"`
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

// Audit writes entries to the groups that have them, and fills in missing ids. Entries that are in the log already are replaced. The
// entries may need several commands, so their order may change; after an error any of them may be written, and the caller may write
// all of them again.
func (t Tenant) Audit(ctx context.Context, entries []AuditEntry) error {
	slices.SortStableFunc(entries, func(a, b AuditEntry) int { return cmp.Compare(a.Group, b.Group) })
	var some []command.Record
	empty := len(command.AppendPutRecords(nil, 0, &command.PutRecords{}))
	const countLen = 1 // Bytes that the number of entries may need beyond that of none.
	size := empty + countLen + attemptLen
	for i := range entries {
		entries[i].assignID()
		entries[i].truncate()
		next := entries[i].record(t.marketplace)
		more := len(command.AppendPutRecords(nil, 0, &command.PutRecords{Records: []command.Record{next}})) - empty
		full := len(some) == AuditBatch || size+more > AuditCommandMax
		if len(some) > 0 && (full || entries[i].Group != entries[i-1].Group) {
			if err := t.putEntries(ctx, entries[i-1].Group, some); err != nil {
				return err
			}
			some, size = nil, empty+countLen+attemptLen
		}
		some, size = append(some, next), size+more
	}
	if len(some) == 0 {
		return nil
	}
	return t.putEntries(ctx, entries[len(entries)-1].Group, some)
}

// putEntries writes the records of entries to a group; 0 means the meta group.
func (t Tenant) putEntries(ctx context.Context, g ids.Group, some []command.Record) error {
	if g == 0 {
		g = t.store.Groups.Meta()
	}
	_, err := t.putRecordsIn(ctx, g, some)
	return err
}

// AuditLog lists the entries for which keep returns true, newest first.
func (t Tenant) AuditLog(_ context.Context, p Page, keep func(*AuditEntry) bool) (all []AuditEntry, more bool, err error) {
	log := t.scanAudit(p.After, scanStep)
	for {
		e, found, err := log.next()
		if err != nil || !found {
			return all, false, err
		}
		if !keep(&e) {
			continue
		}
		if len(all) == p.Limit {
			return all, true, nil
		}
		all = append(all, e)
	}
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
	log, kept := t.scanAudit("", scanStep), 0
	old := map[ids.Group][]command.Record{}
	for {
		h, err := log.newest()
		if err != nil {
			return removed, err
		}
		if h == nil {
			break
		}
		at := h.take().ID
		if kept < most && at <= oldest {
			kept++
			continue
		}
		old[h.group] = append(old[h.group], command.Record{Kind: command.RecordAudit, Marketplace: t.marketplace, ID: at, Expect: command.Any})
		if len(old[h.group]) == pruneStep {
			if err := t.putEntries(ctx, h.group, old[h.group]); err != nil {
				return removed, err
			}
			removed, old[h.group] = removed+pruneStep, nil
		}
	}
	for _, g := range t.store.Groups.Groups() {
		if len(old[g]) == 0 {
			continue
		}
		if err := t.putEntries(ctx, g, old[g]); err != nil {
			return removed, err
		}
		removed += len(old[g])
	}
	return removed, nil
}
