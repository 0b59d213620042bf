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

// Bounds of one entry of the audit log. Callers choose some of its texts, so none of them may have any length. An entry has less
// than 32 KiB by these bounds, as JSON, where a byte of a text may become six.
const (
	AuditPartMax     = 4 << 10 // BOUND: bytes of Before and of After: the log is about who did what, and bodies have megabytes.
	AuditPathMax     = 2 << 10 // BOUND: bytes of Path; a request head may have 16 KiB.
	auditWordMax     = 128     // BOUND: bytes of the other texts; names of operations are the longest.
	auditRequestMax  = 64      // BOUND: characters of a request id, of the interface.
	auditNotRecorded = 0       // Status of an entry whose request has not ended, or ended with its node.
)

// AuditRequest is the audit entry of one management request while the request runs.
//
// The entry is in the log before anything that the request changes, or together with it: the first command that changes records
// carries the entry as one record more, in one Raft entry; before any other command the entry is committed by itself. Only when
// that is done is the command proposed. What the request was answered is not known by then, so the entry says auditNotRecorded
// until End and Tenant.Audit complete it.
//
// INVARIANT: whatever a request changed, its entry is in the log, also when the process ends at any moment.
//
// The price is a commit more before a change of a campaign, bid, wallet, category or product. Rejected: one flag in every command
// with the entry behind it, which the machine would keep in the command's own group. That saves the commit, and needs a new
// feature level, a log that is read from all groups, and a stored form that can be changed no more.
type AuditRequest struct {
	marketplace uint16

	mu       sync.Mutex
	entry    AuditEntry
	recorded bool // The entry is in the state.
	doubtful bool // A command with the entry was proposed, and its outcome is unknown.
	changed  bool // A command of the request was carried out, or its outcome is unknown.
}

// NewAuditRequest makes the entry of a request. Texts that are longer than their bounds are cut.
func NewAuditRequest(marketplace uint16, e AuditEntry) *AuditRequest {
	e.identify()
	e.bound()
	e.Status = auditNotRecorded
	return &AuditRequest{marketplace: marketplace, entry: e}
}

type auditKey struct{}

// WithAudit returns a context whose commands are those of a request.
func WithAudit(ctx context.Context, a *AuditRequest) context.Context {
	return context.WithValue(ctx, auditKey{}, a)
}

// auditOf is the entry of the request that a context belongs to; nil: none, as for the work of jobs.
func auditOf(ctx context.Context) *AuditRequest {
	a, _ := ctx.Value(auditKey{}).(*AuditRequest)
	return a
}

// Doubt says that nobody knows what the request changed, because its handler did not return.
func (a *AuditRequest) Doubt() { a.note(func() { a.changed = true }) }

// End returns the entry as it has to be written now, with what the request was answered. write is false when nothing has to be:
// the request was refused and changed nothing. A request that was refused after a part of it was done has an entry with the
// refusal. LOCKS: no command of the request runs any more.
func (a *AuditRequest) End(status int, after json.RawMessage) (e AuditEntry, write bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e = a.entry
	e.Status, e.After = status, after
	e.bound()
	good := status >= 200 && status <= 299
	e.Withdrawn = !good && !a.changed
	return e, !e.Withdrawn || a.recorded || a.doubtful
}

// ahead commits the entry by itself, unless it is in the log.
func (a *AuditRequest) ahead(ctx context.Context, t Tenant) error {
	record, missing := a.missing()
	if !missing {
		return nil
	}
	t.session = nil // A client need not wait for the entry on other nodes.
	r, err := t.putRecordsOnce(ctx, []command.Record{record})
	done, unknown := outcome(r.Refusal, err)
	a.note(func() { a.recorded, a.doubtful = a.recorded || done, a.doubtful || unknown })
	return err
}

// missing returns the record of the entry, and whether it is missing in the log.
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

// note changes what is known of the request.
func (a *AuditRequest) note(change func()) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// outcome tells whether a command was carried out, and whether nobody knows. It is neither when it was refused.
func outcome(r command.Refusal, err error) (done, unknown bool) {
	switch {
	case r == command.Expired, r == command.Done && err != nil: // Without an answer r is zero.
		return false, true
	default:
		return r == command.Done, false
	}
}

// commitAudited commits a command of a request after its entry.
func (t Tenant) commitAudited(ctx context.Context, g ids.Group, cmd []byte) ([]byte, error) {
	a := auditOf(ctx)
	if err := a.ahead(ctx, t); err != nil {
		return nil, err
	}
	raw, err := t.send(ctx, g, cmd)
	refusal := command.Done
	if len(raw) > 0 {
		refusal = command.Refusal(raw[0]) // Every answer of the machine starts with it.
	}
	done, unknown := outcome(refusal, err)
	a.note(func() { a.changed = a.changed || done || unknown })
	return raw, err
}

// proposeRecords commits records, together with the entry of the request when it is missing in the log.
func (t Tenant) proposeRecords(ctx context.Context, records []command.Record) (command.Result, error) {
	a := auditOf(ctx)
	entry, missing := a.missing()
	if missing {
		records = append(slices.Clip(records), entry)
	}
	r, err := t.putRecordsOnce(ctx, records)
	done, unknown := outcome(r.Refusal, err)
	a.note(func() {
		a.changed = a.changed || done || unknown
		a.recorded, a.doubtful = a.recorded || done, a.doubtful || unknown && missing
	})
	return r, err
}

func (e *AuditEntry) identify() {
	if e.ID == (ids.UUID{}) {
		var entropy [10]byte
		_, _ = rand.Read(entropy[:]) // Never fails: it ends the process instead.
		e.ID = ids.Mint(e.Millis, entropy, 0)
	}
}

// bound cuts what is longer than its bound.
func (e *AuditEntry) bound() {
	e.Path = shortened(e.Path, AuditPathMax)
	e.RequestID = shortened(e.RequestID, auditRequestMax)
	for _, word := range []*string{&e.KeyID, &e.Operation, &e.Method} {
		*word = shortened(*word, auditWordMax)
	}
	for _, part := range []*json.RawMessage{&e.Before, &e.After} {
		if len(*part) > AuditPartMax {
			*part = AuditOmitted(len(*part))
		}
	}
}

// AuditOmitted stands for a part of an entry that is too large.
func AuditOmitted(size int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"omittedBytes":%d}`, size))
}

// shortened cuts a text to at most so many bytes, of which the last ones say how many are missing.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const longest = len("… (18446744073709551615 bytes more)")
	kept := strings.ToValidUTF8(text[:max(0, most-longest)], "")
	return fmt.Sprintf("%s… (%d bytes more)", kept, len(text)-len(kept))
}

func (e *AuditEntry) record(marketplace uint16) command.Record {
	r := command.Record{Kind: command.RecordAudit, Marketplace: marketplace, ID: e.Place(), Expect: command.Any}
	if !e.Withdrawn {
		r.Value = encoded(e)
	}
	return r
}
