package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

type groups = store.Groups

// recordingGroups refuse commands that are larger than real groups accept, and record the marketplaces of which records
// were written.
type recordingGroups struct {
	groups
	mu      sync.Mutex
	largest int
	turns   []uint16
}

func (b *recordingGroups) ProposeAt(ctx context.Context, g ids.Group, cmd []byte) ([]byte, uint64, error) {
	b.mu.Lock()
	b.largest = max(b.largest, len(cmd))
	if c, err := command.Open(cmd); err == nil && c.Op == command.OpPutRecords {
		if p, err := command.ReadPutRecords(&c); err == nil {
			b.turns = append(b.turns, p.Records[0].Marketplace)
		}
	}
	b.mu.Unlock()
	if len(cmd) > raftstore.CommandBytesMax {
		return nil, 0, raftstore.ErrTooLarge
	}
	return b.groups.ProposeAt(ctx, g, cmd)
}

func recordGroups(w *managetest.Environment) *recordingGroups {
	b := &recordingGroups{groups: w.Store.Groups}
	w.Store.Groups = b
	return b
}

func auditLog(t *testing.T, w *managetest.Environment, marketplace uint16) []store.AuditEntry {
	t.Helper()
	got, _, err := w.Store.Tenant(marketplace).AuditLog(t.Context(), store.Page{Limit: 100_000}, func(*store.AuditEntry) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestNoRequestIDEmptiesTheAuditLog makes 400 changes at one moment, with request ids of 15 KB whose JSON is six times
// as long: all of them are in the log.
func TestNoRequestIDEmptiesTheAuditLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := managetest.New(t)
		watched := recordGroups(w)
		writer := newAuditWriter(w.Store, slog.New(slog.DiscardHandler))
		w.AuditTo(writer.add)
		const changes = 400
		answered := map[string]bool{}
		for i := range changes {
			method, path, body := "PUT", "/public/v1/catalog-search-service/catalogs/vendors", fmt.Sprintf(`{"vendors":[{"id":"v1","name":"V%d"}]}`, i)
			switch i {
			case 1:
				method, path, body = "POST", "/public/v1/billing-service/vendors/v1/balance", `{"balance": 10}`
			case 2:
				method, path, body = "POST", "/public/v1/billing-service/vendors/v1/balance/burn", `{"balance": 10}`
			}
			r := httptest.NewRequest(method, path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
			r.Header.Set("X-Request-Id", strings.Repeat("<", 15_000))
			rec := httptest.NewRecorder()
			if w.ServeHTTP(rec, r); rec.Code != 200 {
				t.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
			}
			answered[rec.Header().Get("X-Request-Id")] = true
		}
		writer.close(t.Context())
		got := auditLog(t, w, managetest.Main)
		burns := 0
		for _, e := range got {
			if !answered[e.RequestID] || e.Status != 200 {
				t.Errorf("an entry of request %.100q with status %d", e.RequestID, e.Status)
			}
			delete(answered, e.RequestID)
			if strings.HasSuffix(e.Path, "/burn") {
				burns++
			}
		}
		if len(got) != changes || burns != 1 {
			t.Errorf("%d of %d changes are in the log, %d of 1 burns", len(got), changes, burns)
		}
		if watched.largest > store.AuditCommandMax {
			t.Errorf("a command had %d bytes", watched.largest)
		}
	})
}

// TestAuditWriter: entries that were added before the end are in the log, however many goroutines add at the same time;
// an entry that is added afterwards is written too.
func TestAuditWriter(t *testing.T) {
	w := managetest.New(t)
	writer := newAuditWriter(w.Store, slog.New(slog.DiscardHandler))
	var all sync.WaitGroup
	for m := range uint16(2) {
		for range 3 {
			all.Go(func() {
				for range auditQueueMax {
					writer.add(m+1, store.AuditEntry{Millis: w.Now().UnixMilli(), KeyID: "k"})
				}
			})
		}
	}
	all.Wait()
	writer.close(t.Context())
	writer.add(2, store.AuditEntry{Millis: w.Now().UnixMilli(), KeyID: "late"})
	for m := range uint16(2) {
		if got := auditLog(t, w, m+1); len(got) != 3*auditQueueMax+int(m) {
			t.Errorf("marketplace %d has %d entries", m+1, len(got))
		}
	}
}

// TestMarketplacesTakeTurns: while the queue of one marketplace is full and its requests wait, the entry of another is
// written with the second command at the latest.
func TestMarketplacesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := managetest.New(t)
		watched := recordGroups(w)
		writer := newAuditWriter(w.Store, slog.New(slog.DiscardHandler))
		flood := func() { writer.add(1, store.AuditEntry{Millis: w.Now().UnixMilli(), KeyID: "k"}) }
		for range 5 * auditQueueMax {
			go flood()
		}
		synctest.Wait() // All of them are queued or wait. No time has passed, so nothing is written.
		writer.add(2, store.AuditEntry{Millis: w.Now().UnixMilli(), KeyID: "k"})
		writer.close(t.Context())
		synctest.Wait() // Entries that still waited for a place when the writer closed are written by those who added them.
		if len(watched.turns) < 3 || watched.turns[0] != 2 && watched.turns[1] != 2 {
			t.Errorf("the commands are of marketplaces %v", watched.turns)
		}
		if got := len(auditLog(t, w, 1)); got != 5*auditQueueMax {
			t.Errorf("%d entries of the flood are in the log, want %d", got, 5*auditQueueMax)
		}
	})
}

// TestAuditWriterRepeats: entries survive a minute without a quorum, and each is in the log once. The node logs each
// failure once.
func TestAuditWriterRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := managetest.New(t)
		var logged strings.Builder
		writer := newAuditWriter(w.Store, slog.New(slog.NewTextHandler(&logged, nil)))
		w.FailWrites(true)
		for range 3 * store.AuditBatch {
			writer.add(1, store.AuditEntry{Millis: w.Now().UnixMilli(), KeyID: "k"})
		}
		time.Sleep(time.Minute)
		w.FailWrites(false)
		w.FailWritesAfter(1) // One command is carried out, the others fail again.
		time.Sleep(10 * time.Second)
		w.FailWrites(false)
		time.Sleep(time.Second)
		if got := len(auditLog(t, w, 1)); got != 3*store.AuditBatch {
			t.Errorf("%d entries are in the log", got)
		}
		writer.close(t.Context())
		if n := strings.Count(logged.String(), "audit_write_failed"); n != 2 || strings.Contains(logged.String(), "not_recorded") {
			t.Errorf("the node logged: %s", logged.String())
		}
	})
}

// TestAuditWriterWithoutQuorum: the writer of a node whose peers have stopped ends in time, and logs how many entries
// it could not record.
func TestAuditWriterWithoutQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := managetest.New(t)
		var logged strings.Builder
		writer := newAuditWriter(w.Store, slog.New(slog.NewTextHandler(&logged, nil)))
		w.FailWrites(true)
		for range 3 * store.AuditBatch {
			writer.add(1, store.AuditEntry{Millis: w.Now().UnixMilli(), KeyID: "k"})
		}
		started := time.Now()
		writer.close(t.Context())
		if took := time.Since(started); took > auditDrainTimeout+time.Second {
			t.Errorf("the end took %v", took)
		}
		if !strings.Contains(logged.String(), "audit_outcomes_not_recorded entries=600") {
			t.Errorf("the node logged: %s", logged.String())
		}
	})
}

// failingGroup is the state as a node sees it while one group has no leader.
type failingGroup struct {
	groups
	failing atomic.Uint32
}

func (f *failingGroup) ProposeAt(ctx context.Context, g ids.Group, cmd []byte) ([]byte, uint64, error) {
	if uint32(g) == f.failing.Load() {
		return nil, 0, store.ErrUnavailable
	}
	return f.groups.ProposeAt(ctx, g, cmd)
}

// TestAGroupWithoutLeaderDelaysNoOther: entries go to the group of their change, and while one group commits nothing those of the
// others are written.
func TestAGroupWithoutLeaderDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := managetest.New(t)
		state := &failingGroup{groups: w.Store.Groups}
		w.Store.Groups = state
		state.failing.Store(1)
		writers := newAuditWriters(w.Store, slog.New(slog.DiscardHandler))
		for _, g := range []ids.Group{1, 0, 2} {
			for range auditQueueMax {
				writers.add(1, store.AuditEntry{Millis: w.Now().UnixMilli(), KeyID: "k", Group: g})
			}
		}
		time.Sleep(time.Minute)
		if got := len(auditLog(t, w, 1)); got != 2*auditQueueMax || writers.count() != auditQueueMax {
			t.Errorf("%d entries are in the log and %d are queued while a group has no leader", got, writers.count())
		}
		state.failing.Store(1_000)
		time.Sleep(time.Minute)
		writers.close(t.Context())
		if got := len(auditLog(t, w, 1)); got != 3*auditQueueMax || writers.count() != 0 {
			t.Errorf("%d entries are in the log and %d are queued afterwards", got, writers.count())
		}
	})
}
