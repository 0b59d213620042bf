package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/node/store"
)

// Bounds of the audit log's writer.
const (
	auditQueue  = 1_000                  // BOUND: entries of one marketplace that wait; its next request waits for a place.
	auditEvery  = 100 * time.Millisecond // How long an entry waits for others, and a failed command for its next attempt.
	auditDrain  = 3 * time.Second        // BOUND: how long an orderly stop waits for a quorum that may be stopping, too.
	auditPrunes = 5 * time.Minute
)

// auditWriter completes the audit log in the background, many entries with one command: how the requests ended whose entries are in
// the log since before their changes (store.AuditRequest), and the entries of requests that were answered 2xx and changed nothing.
//
// Marketplaces take turns: a turn is one command of at most store.AuditBatch entries, so what one marketplace does delays another's
// entry by one command at most. A command that fails is repeated until it is written, with the same ids, so that a repetition
// writes nothing twice. Each marketplace has a bounded queue; a request of a marketplace whose queue is full waits.
//
// A process that is killed leaves what waits as it is in the log: entries without an outcome, none without an entry. So does
// an orderly stop without a quorum, which says how many they are.
type auditWriter struct {
	store *store.Store
	log   *slog.Logger
	wake  chan struct{}
	stop  chan struct{}
	ended chan struct{}
	// writing ends when an orderly stop has no more time.
	writing context.Context //nolint:containedctx // Of the writer's goroutine, not of a call.
	abandon context.CancelFunc

	mu      sync.Mutex
	space   *sync.Cond                    // A queue has become shorter, or the writer has ended.
	waiting map[uint16][]store.AuditEntry // By marketplace; absent when nothing waits.
	turns   []uint16                      // The marketplaces in waiting, the next one first.
	over    bool                          // The writer has ended.
	failing bool                          // The last command failed, and the log of the node says so. Of the writer's goroutine.
}

func newAuditWriter(s *store.Store, log *slog.Logger) *auditWriter {
	a := &auditWriter{
		store: s, log: log, wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
		waiting: map[uint16][]store.AuditEntry{},
	}
	a.space = sync.NewCond(&a.mu)
	a.writing, a.abandon = context.WithCancel(context.Background()) //nolint:gosec // close calls it.
	go a.run()
	return a
}

// add queues an entry. It waits while the marketplace's queue is full. After the end, for a request that outlived the drain, it
// writes the entry itself.
func (a *auditWriter) add(marketplace uint16, e store.AuditEntry) {
	a.mu.Lock()
	for len(a.waiting[marketplace]) >= auditQueue && !a.over {
		a.space.Wait()
	}
	if a.over {
		a.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), auditDrain)
		defer cancel()
		if err := a.store.Tenant(marketplace).Audit(ctx, []store.AuditEntry{e}); err != nil {
			a.log.Error("audit_outcomes_not_recorded", slog.Int("entries", 1), slog.Any("err", err))
		}
		return
	}
	a.put(marketplace, append(a.waiting[marketplace], e))
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default: // It is awake.
	}
}

// put sets the queue of a marketplace. LOCKS: mu is held.
func (a *auditWriter) put(marketplace uint16, queue []store.AuditEntry) {
	if len(queue) == 0 {
		delete(a.waiting, marketplace)
		return
	}
	if a.waiting[marketplace] == nil {
		a.turns = append(a.turns, marketplace)
	}
	a.waiting[marketplace] = queue
}

// close writes what waits and ends. Where all nodes stop at once the quorum goes first: the outcomes that cannot be written soon
// stay open.
func (a *auditWriter) close(ctx context.Context) {
	close(a.stop)
	ctx, cancel := context.WithTimeout(ctx, auditDrain)
	defer cancel()
	defer context.AfterFunc(ctx, a.abandon)()
	<-a.ended
}

func (a *auditWriter) run() {
	defer close(a.ended)
	for stopping := false; !stopping; {
		select {
		case <-a.wake:
			a.pause()
		case <-a.stop:
			stopping = true
		}
		for a.turn() {
		}
	}
	for !a.end() {
		a.turn()
	}
}

// turn writes one command of the marketplace whose turn it is. It is false when nothing waits.
func (a *auditWriter) turn() bool {
	marketplace, batch := a.next()
	if len(batch) == 0 {
		return false
	}
	err := a.store.Tenant(marketplace).Audit(a.writing, batch)
	if err == nil {
		a.failing = false
		return true
	}
	a.mu.Lock()
	a.put(marketplace, append(batch[:len(batch):len(batch)], a.waiting[marketplace]...))
	a.mu.Unlock()
	if a.writing.Err() != nil {
		return false
	}
	if !a.failing {
		a.failing = true
		a.log.Warn("audit_write_failed", slog.Int("marketplace", int(marketplace)), slog.Int("entries", len(batch)), slog.Any("err", err),
			slog.String("effect", "it is repeated until it succeeds"))
	}
	a.pause()
	return true
}

// next takes the entries of the next command, and puts the marketplace behind the others.
func (a *auditWriter) next() (marketplace uint16, batch []store.AuditEntry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.turns) == 0 {
		return 0, nil
	}
	marketplace = a.turns[0]
	a.turns = a.turns[1:]
	queue := a.waiting[marketplace]
	delete(a.waiting, marketplace)
	n := min(len(queue), store.AuditBatch)
	a.put(marketplace, queue[n:])
	a.space.Broadcast()
	return marketplace, queue[:n:n]
}

// pause waits until more entries may have come, or the quorum is back. An orderly stop does not wait for entries.
func (a *auditWriter) pause() {
	timer := time.NewTimer(auditEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.writing.Done():
	}
}

// end ends the writer when nothing waits, or there is no more time. From then on add writes by itself.
func (a *auditWriter) end() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := a.length()
	if left > 0 && a.writing.Err() == nil {
		return false
	}
	if left > 0 {
		a.log.Error("audit_outcomes_not_recorded", slog.Int("entries", left),
			slog.String("effect", "their requests are in the audit log with status 0"))
	}
	a.over = true
	a.space.Broadcast()
	return true
}

// count returns how many entries wait.
func (a *auditWriter) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.length()
}

// length is count. LOCKS: mu is held.
func (a *auditWriter) length() (n int) {
	for _, queue := range a.waiting {
		n += len(queue)
	}
	return n
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
