package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Bounds of one entry of the audit log. Clients choose some of its texts, so each has a bound. With these bounds an entry has less
// than 32 KiB as JSON, where a byte of a text may become six.
const (
	AuditPartMax     = 4 << 10 // BOUND: bytes of Before and of After. The log says who did what; bodies may have megabytes.
	AuditPathMax     = 2 << 10 // BOUND: bytes of Path; a request head may have 16 KiB.
	auditFieldMax    = 128     // BOUND: bytes of the other texts. Names of operations are the longest of them.
	auditRequestMax  = 64      // BOUND: characters of a request id, of the interface.
	auditNotRecorded = 0       // Status of an entry that was committed before its change, until the request ends.
)

// AuditRequest is the audit entry of one management request while the request runs.
//
// The first command of the request that changes something carries the entry (command.AuditEntry, or one record more), so the group
// of that command stores both or neither. A command that is refused, or that the state machine takes for the repeat of an earlier
// one, leaves no entry, and then the next command carries it. The entry has the status that the request is answered with when it
// succeeds. End says whether anything is to be added to the stored entry after that: the body of the answer, or another status,
// when a later command of the request fails.
//
// INVARIANT: whatever a request changed, its entry is in the log, once, even if the process ends at any moment.
//
// While the group has not reached command.LevelAuditEntries, the entry is committed by itself before any command but that of
// records, with the status 0 (commitFirst).
type AuditRequest struct {
	marketplace uint16

	mu       sync.Mutex
	entry    AuditEntry
	recorded bool // The entry is in the state.
	unknown  bool // A command with the entry was proposed, and its outcome is unknown.
	changed  bool // A command of the request was carried out, or its outcome is unknown.
	repeated bool // A change of the request had been made before, by an equal request.
}

// NewAuditRequest makes the entry of a request. e.Status is that of success. Texts that are longer than their bounds are cut.
func NewAuditRequest(marketplace uint16, e AuditEntry) *AuditRequest {
	e.assignID()
	e.truncate()
	return &AuditRequest{marketplace: marketplace, entry: e}
}

type auditKey struct{}

// WithAudit returns a context whose commands belong to a request.
func WithAudit(ctx context.Context, a *AuditRequest) context.Context {
	return context.WithValue(ctx, auditKey{}, a)
}

// auditOf returns the entry of the request that a context belongs to, or nil when there is none, as in background jobs.
func auditOf(ctx context.Context) *AuditRequest {
	a, _ := ctx.Value(auditKey{}).(*AuditRequest)
	return a
}

// Author is who made a change through the management API. It is zero for a change that no request made.
type Author struct {
	KeyID     string `json:",omitempty"` // The API key; empty for a console user.
	UserID    string `json:",omitempty"` // The console user; empty for a key.
	UserEmail string `json:",omitempty"` // Of that user at the time.
}

// authorOf returns who makes the request that a context belongs to, as its audit entry says.
func authorOf(ctx context.Context) Author {
	e, _ := auditOf(ctx).missing()
	return Author{KeyID: e.KeyID, UserID: e.UserID, UserEmail: e.UserEmail}
}

// MarkUnknown records that the request may have changed something, because its handler panicked.
func (a *AuditRequest) MarkUnknown() { a.update(func() { a.changed = true }) }

// markRepeated records that a change of the request had been made before, by an equal request, whose entry says so.
func markRepeated(ctx context.Context) {
	a := auditOf(ctx)
	a.update(func() { a.repeated = true })
}

// End returns the entry as it has to be written now, with the answer to the request. write is false when nothing has to be written:
// the stored entry says everything, or the request changed nothing because it was refused or is a repeat. A request that was refused
// after a part of it was done keeps its entry, with the refusal. REQUIRES: no command of the request runs any more.
func (a *AuditRequest) End(status int, after json.RawMessage) (e AuditEntry, write bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e = a.entry
	e.Status, e.After = status, after
	e.truncate()
	good := status >= 200 && status <= 299
	e.Withdrawn = !good && !a.changed
	switch {
	case e.Withdrawn:
		return e, a.recorded || a.unknown
	case a.recorded:
		return e, status != a.entry.Status || len(after) > 0
	default:
		return e, a.changed || !a.repeated
	}
}

// missing returns the entry, and whether the log lacks it.
func (a *AuditRequest) missing() (AuditEntry, bool) {
	if a == nil {
		return AuditEntry{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.entry, !a.recorded
}

// update changes the state of the request under its lock.
func (a *AuditRequest) update(change func()) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// outcome reports whether a command was carried out, and whether that is unknown. Both are false when it was refused.
func outcome(r command.Refusal, err error) (done, unknown bool) {
	switch {
	case r == command.Expired, r == command.Done && err != nil: // Without an answer r is zero.
		return false, true
	default:
		return r == command.Done, false
	}
}

// commitAudited commits a command. The command carries the audit entry of its request when the log lacks it.
func (t Tenant) commitAudited(ctx context.Context, g ids.Group, cmd []byte) ([]byte, error) {
	a := auditOf(ctx)
	entry, missing := a.missing()
	if missing {
		carries, err := t.carriesEntries(g)
		if err == nil && !carries {
			missing, err = false, a.commitFirst(ctx, t)
		}
		if err != nil {
			return nil, err
		}
	}
	if missing {
		r := entry.record(a.marketplace)
		cmd = command.AppendAuditEntry(cmd, &command.AuditEntry{Marketplace: r.Marketplace, ID: r.ID, Value: r.Value})
	}
	raw, err := t.proposeOnce(ctx, g, cmd)
	refusal := command.Done
	if len(raw) > 0 {
		refusal = command.Refusal(raw[0]) // Every answer of the state machine starts with the refusal.
	}
	done, unknown := outcome(refusal, err)
	changed := a.proposed(done, unknown, missing, g)
	if done && missing && !t.isStored(g, a.marketplace, &entry) {
		a.update(func() { a.recorded, a.repeated, a.changed = false, true, changed })
	}
	return raw, err
}

// proposed records the outcome of a command of a group. with says that the command carried the entry. It returns whether the
// request had changed something before.
func (a *AuditRequest) proposed(done, unknown, with bool, g ids.Group) (changed bool) {
	a.update(func() {
		changed = a.changed
		a.changed = a.changed || done || unknown
		if with && (done || unknown) {
			a.recorded, a.unknown, a.entry.Group = done, unknown, g
		}
	})
	return changed
}

// carriesEntries reports whether the commands of a group may carry entries. It asks this node's copy of the group, which may be
// older than the group: the feature level never goes back.
func (t Tenant) carriesEntries(g ids.Group) (bool, error) {
	t.session = nil
	return t.reached(g, command.LevelAuditEntries)
}

// isStored reports whether a command that was carried out stored the entry that it carried: the state machine stores none for a
// repeat. REQUIRES: this node has applied the command. A state that cannot be read counts as one with the entry.
func (t Tenant) isStored(g ids.Group, marketplace uint16, e *AuditEntry) bool {
	t.session = nil
	stored, err := readManaged(t, g, func(b shard.Queries) bool {
		_, found := b.Record(command.RecordAudit, marketplace, e.ListPosition())
		return found
	})
	return stored || err != nil
}

// commitFirst commits the entry by itself, with the status 0, because the change that follows may be refused.
func (a *AuditRequest) commitFirst(ctx context.Context, t Tenant) error {
	t.session = nil // The entry is not part of what a client may wait for on other nodes.
	a.update(func() { a.entry.Status = auditNotRecorded })
	entry, _ := a.missing()
	r, err := t.putRecordsOnce(ctx, []command.Record{entry.record(a.marketplace)})
	done, unknown := outcome(r.Refusal, err)
	a.update(func() { a.recorded, a.unknown = a.recorded || done, a.unknown || unknown })
	return err
}

// proposeRecords commits records, together with the request's audit entry when the log lacks it.
func (t Tenant) proposeRecords(ctx context.Context, records []command.Record) (command.Result, error) {
	a := auditOf(ctx)
	entry, missing := a.missing()
	if missing {
		records = append(slices.Clip(records), entry.record(a.marketplace))
	}
	r, err := t.putRecordsOnce(ctx, records)
	done, unknown := outcome(r.Refusal, err)
	a.proposed(done, unknown, missing, t.store.Groups.Meta())
	return r, err
}

func (e *AuditEntry) assignID() {
	if e.ID == (ids.UUID{}) {
		var entropy [10]byte
		_, _ = rand.Read(entropy[:]) // crypto/rand never returns an error.
		e.ID = ids.Mint(e.Millis, entropy, 0)
	}
}

// truncate cuts what is longer than its bound.
func (e *AuditEntry) truncate() {
	e.Path = truncated(e.Path, AuditPathMax)
	e.RequestID = truncated(e.RequestID, auditRequestMax)
	for _, word := range []*string{&e.KeyID, &e.UserID, &e.UserEmail, &e.Operation, &e.Method} {
		*word = truncated(*word, auditFieldMax)
	}
	for _, part := range []*json.RawMessage{&e.Before, &e.After} {
		if len(*part) > AuditPartMax {
			*part = AuditOmitted(len(*part))
		}
	}
}

// AuditOmitted stands in an entry for a part that was too large; size is in bytes.
func AuditOmitted(size int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"omittedBytes":%d}`, size))
}

// truncated cuts a text to at most that many bytes. The last of them say how many are missing.
func truncated(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const longest = len("… (18446744073709551615 bytes more)")
	kept := strings.ToValidUTF8(text[:max(0, most-longest)], "")
	return fmt.Sprintf("%s… (%d bytes more)", kept, len(text)-len(kept))
}

func (e *AuditEntry) record(marketplace uint16) command.Record {
	r := command.Record{Kind: command.RecordAudit, Marketplace: marketplace, ID: e.ListPosition(), Expect: command.Any}
	if !e.Withdrawn {
		r.Value = encoded(e)
	}
	return r
}
