package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/gavel-ads/gavel/node/store"
)

// Bounds of the audit log's writer.
const (
	auditQueue  = 10_000                 // BOUND: entries that wait; a change waits for a place.
	auditBatch  = 200                    // BOUND: entries of one command, at most 2 MiB.
	auditEvery  = 100 * time.Millisecond // How long an entry waits for others.
	auditTries  = 50                     // BOUND: a quorum that is gone for longer loses entries, and the log of the node says so.
	auditDrain  = 3 * time.Second        // BOUND: how long an orderly stop waits for a quorum that may be stopping, too.
	auditPrunes = 5 * time.Minute
)

// trail writes the audit log, many entries at a time: a line for each change that is written and fsynced by itself would
// halve what the management API can do.
//
// An entry is on disk 100 ms after its change, or with the drain of an orderly stop. A crash loses those that wait.
type trail struct {
	store *store.Store
	log   *slog.Logger
	queue chan trailed
	stop  chan struct{}
	ended chan struct{}
	// writing ends when an orderly stop has no more time.
	writing context.Context //nolint:containedctx // Of the writer's goroutine, not of a call.
	abandon context.CancelFunc
}

type trailed struct {
	marketplace uint16
	entry       store.AuditEntry
}

func newTrail(s *store.Store, log *slog.Logger) *trail {
	a := &trail{store: s, log: log, queue: make(chan trailed, auditQueue), stop: make(chan struct{}), ended: make(chan struct{})}
	a.writing, a.abandon = context.WithCancel(context.Background())
	go a.run()
	return a
}

// add takes an entry. What comes after the end, of a request that outlived the drain, is lost.
func (a *trail) add(marketplace uint16, e store.AuditEntry) {
	select {
	case a.queue <- trailed{marketplace, e}:
	case <-a.ended:
	}
}

// close writes what waits and ends. Where all nodes stop at once the quorum goes first: what cannot be written soon is lost.
func (a *trail) close(ctx context.Context) {
	close(a.stop)
	ctx, cancel := context.WithTimeout(ctx, auditDrain)
	defer cancel()
	defer context.AfterFunc(ctx, a.abandon)()
	<-a.ended
}

func (a *trail) run() {
	defer close(a.ended)
	for {
		select {
		case first := <-a.queue:
			a.flush(first)
			continue
		case <-a.stop:
		}
		select { // At the end, what is left.
		case first := <-a.queue:
			a.flush(first)
		default:
			return
		}
	}
}

// flush writes an entry with those that come within the time that it waits.
func (a *trail) flush(first trailed) {
	batch := map[uint16][]store.AuditEntry{first.marketplace: {first.entry}}
	timer := time.NewTimer(auditEvery)
	defer timer.Stop()
collect:
	for range auditBatch - 1 {
		select {
		case next := <-a.queue:
			batch[next.marketplace] = append(batch[next.marketplace], next.entry)
		case <-timer.C:
			break collect
		}
	}
	for marketplace, entries := range batch {
		a.write(marketplace, entries)
	}
}

func (a *trail) write(marketplace uint16, entries []store.AuditEntry) {
	var err error
	for range auditTries {
		if err = a.store.Tenant(marketplace).Audit(a.writing, entries); err == nil {
			return
		}
		select {
		case <-time.After(auditEvery):
			continue
		case <-a.writing.Done():
		}
		break
	}
	a.log.Error("audit_entries_lost", slog.Int("entries", len(entries)), slog.Any("err", err))
}

// pruneAudit keeps the audit logs within their bounds, as the leader of the meta group.
func (n *node) pruneAudit(ctx context.Context, leads func() bool) {
	ticker := time.NewTicker(auditPrunes)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, m := range n.ordinals() {
			if !leads() {
				break
			}
			if _, err := n.store.Tenant(m).PruneAudit(ctx, store.AuditMax); err != nil && ctx.Err() == nil {
				n.log.Warn("audit_log_not_pruned", slog.Any("err", err))
			}
		}
	}
}
