package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

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
	auditNotRecorded = 0       // Status of an entry whose request has not ended, or whose node ended before the request did.
)

// AuditRequest is the audit entry of one management request while the request runs.
//
// The entry is in the log before anything that the request changes, or together with it: the first command that changes records
// carries the entry as one record more, in one Raft entry; before any other command the entry is committed by itself. Only then is
// the command proposed. The answer to the request is not known by then, so the entry says auditNotRecorded until End and
// Tenant.Audit complete it.
//
// INVARIANT: whatever a request changed, its entry is in the log, even if the process ends at any moment.
//
// The price is one more commit before a change of a campaign, bid, wallet, category or product. Rejected: a flag in every command
// with the entry behind it, which the state machine would keep in the command's own group. That saves the commit, but needs a new
// feature level, a log that is read from all groups, and a stored form that can never be changed.
type AuditRequest struct {
	marketplace uint16

	mu       sync.Mutex
	entry    AuditEntry
	recorded bool // The entry is in the state.
	unknown  bool // A command with the entry was proposed, and its outcome is unknown.
	changed  bool // A command of the request was carried out, or its outcome is unknown.
}

// NewAuditRequest makes the entry of a request. Texts that are longer than their bounds are cut.
func NewAuditRequest(marketplace uint16, e AuditEntry) *AuditRequest {
	e.assignID()
	e.truncate()
	e.Status = auditNotRecorded
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

// MarkUnknown records that the request may have changed something, because its handler panicked.
func (a *AuditRequest) MarkUnknown() { a.update(func() { a.changed = true }) }

// End returns the entry as it has to be written now, with the answer to the request. write is false when nothing has to be written:
// the request was refused and changed nothing. A request that was refused after a part of it was done keeps its entry, with the
// refusal. REQUIRES: no command of the request runs any more.
func (a *AuditRequest) End(status int, after json.RawMessage) (e AuditEntry, write bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e = a.entry
	e.Status, e.After = status, after
	e.truncate()
	good := status >= 200 && status <= 299
	e.Withdrawn = !good && !a.changed
	return e, !e.Withdrawn || a.recorded || a.unknown
}

// commitFirst commits the entry by itself, unless it is in the log already.
func (a *AuditRequest) commitFirst(ctx context.Context, t Tenant) error {
	record, missing := a.missing()
	if !missing {
		return nil
	}
	t.session = nil // The entry is not part of what a client may wait for on other nodes.
	r, err := t.putRecordsOnce(ctx, []command.Record{record})
	done, unknown := outcome(r.Refusal, err)
	a.update(func() { a.recorded, a.unknown = a.recorded || done, a.unknown || unknown })
	return err
}

// missing returns the record of the entry, and whether the log lacks it.
func (a *AuditRequest) missing() (command.Record, bool) {
	if a == nil {
		return command.Record{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.recorded {
		return command.Record{}, false
	}
	return a.entry.record(a.marketplace), true
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

// commitAudited commits a command after the audit entry of its request.
func (t Tenant) commitAudited(ctx context.Context, g ids.Group, cmd []byte) ([]byte, error) {
	a := auditOf(ctx)
	if err := a.commitFirst(ctx, t); err != nil {
		return nil, err
	}
	raw, err := t.proposeOnce(ctx, g, cmd)
	refusal := command.Done
	if len(raw) > 0 {
		refusal = command.Refusal(raw[0]) // Every answer of the state machine starts with the refusal.
	}
	done, unknown := outcome(refusal, err)
	a.update(func() { a.changed = a.changed || done || unknown })
	return raw, err
}

// proposeRecords commits records, together with the request's audit entry when the log lacks it.
func (t Tenant) proposeRecords(ctx context.Context, records []command.Record) (command.Result, error) {
	a := auditOf(ctx)
	entry, missing := a.missing()
	if missing {
		records = append(slices.Clip(records), entry)
	}
	r, err := t.putRecordsOnce(ctx, records)
	done, unknown := outcome(r.Refusal, err)
	a.update(func() {
		a.changed = a.changed || done || unknown
		a.recorded, a.unknown = a.recorded || done, a.unknown || unknown && missing
	})
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
