package daemon

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

// TestTrail: what was handed over before the end is in the log, however many hand over at once; afterwards nothing hangs.
func TestTrail(t *testing.T) {
	w := managetest.New(t)
	trail := newTrail(w.Store, slog.New(slog.DiscardHandler))
	var all sync.WaitGroup
	for m := range uint16(2) {
		all.Go(func() {
			for range 500 {
				trail.add(m+1, store.AuditEntry{Millis: w.Now().UnixMilli(), KeyID: "k"})
			}
		})
	}
	all.Wait()
	trail.close(t.Context())
	for m := range uint16(2) {
		got, _, err := w.Store.Tenant(m+1).AuditLog(t.Context(), store.Page{Limit: 10_000}, func(*store.AuditEntry) bool { return true })
		if err != nil || len(got) != 500 {
			t.Errorf("marketplace %d has %d entries, %v", m+1, len(got), err)
		}
	}
	for range 2 * auditQueue {
		trail.add(1, store.AuditEntry{})
	}
}

// TestTrailWithoutQuorum: a node whose peers have stopped already, too, ends all the same, and says what is lost.
func TestTrailWithoutQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := managetest.New(t)
		var said strings.Builder
		trail := newTrail(w.Store, slog.New(slog.NewTextHandler(&said, nil)))
		w.Fail(true)
		for range 3 * auditBatch {
			trail.add(1, store.AuditEntry{Millis: w.Now().UnixMilli(), KeyID: "k"})
		}
		began := time.Now()
		trail.close(t.Context())
		if took := time.Since(began); took > auditDrain+time.Second {
			t.Errorf("the end took %v", took)
		}
		if got := strings.Count(said.String(), "entries=200"); got != 3 || !strings.Contains(said.String(), "audit_entries_lost") {
			t.Errorf("the log says: %s", said.String())
		}
	})
}
