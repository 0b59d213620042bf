package daemon

import (
	"context"
	"log/slog"
	"sync"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// auditWriters complete the audit log. Each group has a writer, because entries are stored in the group of their change: a group
// without a leader delays no entry of another group. Without writers, which a node has before its management listener is open,
// count and close do nothing.
type auditWriters struct {
	meta ids.Group
	of   map[ids.Group]*auditWriter
}

func newAuditWriters(s *store.Store, log *slog.Logger) auditWriters {
	all := auditWriters{s.Groups.Meta(), map[ids.Group]*auditWriter{}}
	for _, g := range s.Groups.Groups() {
		all.of[g] = newAuditWriter(s, log)
	}
	return all
}

// add queues an entry, as auditWriter.add does.
func (a auditWriters) add(marketplace uint16, e store.AuditEntry) {
	g := e.Group
	if g == 0 { // An entry of no group belongs to the meta group.
		g = a.meta
	}
	a.of[g].add(marketplace, e)
}

// count returns the number of queued entries.
func (a auditWriters) count() (n int) {
	for _, w := range a.of {
		n += w.count()
	}
	return n
}

// close writes the queued entries and ends the writers, within auditDrainTimeout.
func (a auditWriters) close(ctx context.Context) {
	var ended sync.WaitGroup
	for _, w := range a.of {
		ended.Go(func() { w.close(ctx) })
	}
	ended.Wait()
}
