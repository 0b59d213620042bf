package daemon

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/node/store"
)

// Bounds of the audit log's writer.
const (
	auditQueueMax      = 1_000                  // BOUND: queued entries of one marketplace; its next request waits until the queue is shorter.
	auditDelay         = 100 * time.Millisecond // Delay before a write, so that entries share commands, and before a failed command is repeated.
	auditDrainTimeout  = 3 * time.Second        // BOUND: how long an orderly stop waits for a quorum, whose nodes may be stopping, too.
	auditPruneInterval = 5 * time.Minute
)

// auditWriter completes the audit log of a group in the background, with many entries per command: the answers to requests whose
// entries were written with their changes (store.AuditRequest), and the entries of requests that were answered 2xx and
// changed nothing.
//
// Marketplaces take turns: a turn is one command of at most store.AuditBatch entries, so one marketplace delays
// another's entry by one command at most. A failed command is repeated until it succeeds, with the same ids, so that a
// repetition writes nothing twice. Each marketplace has a bounded queue; a request of a marketplace whose queue is full
// waits.
//
// When the process is killed, queued answers are lost: the log then has entries without the body of the answer, but no
// change without an entry. The same holds for an orderly stop without a quorum, which logs how many are missing.
type auditWriter struct {
	store *store.Store
	log   *slog.Logger
	wake  chan struct{}
	stop  chan struct{}
	ended chan struct{}
	// writing is canceled when an orderly stop has no more time.
	writing context.Context //nolint:containedctx // Of the writer's goroutine, not of a call.
	abandon context.CancelFunc

	mu       sync.Mutex
	space    *sync.Cond                    // Signals that a queue became shorter, or that the writer ended.
	waiting  map[uint16][]store.AuditEntry // Queues by marketplace; absent when empty.
	turns    []uint16                      // Marketplaces with a queue, the next one first.
	finished bool                          // The writer ended; add writes by itself.
	failing  bool                          // The last command failed and was logged. Only the writer's goroutine uses it.
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

// add queues an entry. It waits while the marketplace's queue is full. After the writer has ended, it writes the entry
// itself: that happens to requests that last longer than the drain.
func (a *auditWriter) add(marketplace uint16, e store.AuditEntry) {
	a.mu.Lock()
	for len(a.waiting[marketplace]) >= auditQueueMax && !a.finished {
		a.space.Wait()
	}
	if a.finished {
		a.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), auditDrainTimeout)
		defer cancel()
		if err := a.store.Tenant(marketplace).Audit(ctx, []store.AuditEntry{e}); err != nil {
			a.log.Error("audit_outcomes_not_recorded", slog.Int("entries", 1), slog.Any("err", err))
		}
		return
	}
	a.setQueue(marketplace, append(a.waiting[marketplace], e))
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default: // A wake-up is pending already.
	}
}

// setQueue sets the queue of a marketplace. LOCKS: mu is held.
func (a *auditWriter) setQueue(marketplace uint16, queue []store.AuditEntry) {
	if len(queue) == 0 {
		delete(a.waiting, marketplace)
		return
	}
	if a.waiting[marketplace] == nil {
		a.turns = append(a.turns, marketplace)
	}
	a.waiting[marketplace] = queue
}

// close writes the queued entries and ends the writer, within auditDrainTimeout. Where all nodes stop at once the
// quorum goes first: outcomes that cannot be written in that time are not recorded.
func (a *auditWriter) close(ctx context.Context) {
	close(a.stop)
	ctx, cancel := context.WithTimeout(ctx, auditDrainTimeout)
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
		for a.writeNext() {
		}
	}
	for !a.finish() {
		a.writeNext()
	}
}

// writeNext writes one command with entries of the marketplace whose turn it is. It returns false when nothing is
// queued or the stop has no more time.
func (a *auditWriter) writeNext() bool {
	marketplace, batch := a.nextBatch()
	if len(batch) == 0 {
		return false
	}
	err := a.store.Tenant(marketplace).Audit(a.writing, batch)
	if err == nil {
		a.failing = false
		return true
	}
	a.mu.Lock()
	a.setQueue(marketplace, append(slices.Clip(batch), a.waiting[marketplace]...))
	a.mu.Unlock()
	if a.writing.Err() != nil {
		return false
	}
	if !a.failing {
		a.failing = true
		a.log.Warn("audit_write_failed", slog.Int("marketplace", int(marketplace)), slog.Int("entries", len(batch)), slog.Any("err", err),
			slog.String("effect", "the write is repeated until it succeeds"))
	}
	a.pause()
	return true
}

// nextBatch takes the entries of the next command from their queue, and moves the marketplace to the end of the turns.
func (a *auditWriter) nextBatch() (marketplace uint16, batch []store.AuditEntry) {
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
	a.setQueue(marketplace, queue[n:])
	a.space.Broadcast()
	return marketplace, queue[:n:n]
}

// pause waits auditDelay, so that more entries share a command, or a quorum returns. It returns at once when the stop
// has no more time.
func (a *auditWriter) pause() {
	timer := time.NewTimer(auditDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.writing.Done():
	}
}

// finish ends the writer when nothing is queued or the stop has no more time, and reports whether it did.
func (a *auditWriter) finish() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := a.length()
	if left > 0 && a.writing.Err() == nil {
		return false
	}
	if left > 0 {
		a.log.Error("audit_outcomes_not_recorded", slog.Int("entries", left),
			slog.String("effect", "the audit log shows these requests without what was answered"))
	}
	a.finished = true
	a.space.Broadcast()
	return true
}

// count returns the number of queued entries of all marketplaces.
func (a *auditWriter) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.length()
}

// length returns what count returns. LOCKS: mu is held.
func (a *auditWriter) length() (n int) {
	for _, queue := range a.waiting {
		n += len(queue)
	}
	return n
}

// pruneAudit deletes the oldest entries of audit logs that are longer than store.AuditMax, and ended login sessions, while
// this node leads the meta group.
func (n *node) pruneAudit(ctx context.Context, leads func() bool) {
	ticker := time.NewTicker(auditPruneInterval)
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
				n.log.Warn("audit_log_prune_failed", slog.Int("marketplace", int(m)), slog.Any("err", err))
			}
		}
		if leads() {
			if _, err := n.store.People().PruneLogins(ctx); err != nil && ctx.Err() == nil {
				n.log.Warn("login_session_prune_failed", slog.Any("err", err))
			}
		}
	}
}
