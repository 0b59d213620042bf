package manage_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
)

func auditLog(t *testing.T, w *managetest.Environment) []store.AuditEntry {
	t.Helper()
	all, _, err := w.Store.Tenant(managetest.Main).AuditLog(t.Context(), store.Page{Limit: 100_000}, func(*store.AuditEntry) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEveryChangeIsAudited sends the smallest valid request of every operation and compares the answer with the log: one
// entry for every change, none for reads and refusals. It covers new operations automatically.
func TestEveryChangeIsAudited(t *testing.T) {
	w := managetest.New(t)
	want := map[string]int{}
	changes := 0
	for _, o := range operations(t) {
		if o.v2() {
			continue
		}
		body := ""
		if o.body() != nil {
			body = encode(t, example(o.body()))
		}
		rec := call(w, o.method, o.target(), o.key("management"), body)
		if o.method != "GET" && rec.Code < 300 {
			want[o.id]++
			changes++
		}
	}
	if changes < 10 {
		t.Errorf("only %d changes were made: the test says little", changes)
	}
	got := map[string]int{}
	for _, e := range auditLog(t, w) {
		got[e.Operation]++
		if len(e.KeyID) != 8 || e.Method == "GET" || e.Status < 200 || e.Status > 299 || len(e.Before) > 4<<10 || len(e.After) > 4<<10 {
			t.Errorf("%+v", e)
		}
	}
	for id := range want {
		if got[id] != want[id] {
			t.Errorf("%s was done %d times and is %d times in the log", id, want[id], got[id])
		}
	}
	if len(got) != len(want) {
		t.Errorf("the log has %v, done were %v", got, want)
	}
}

// TestPrune: the log keeps 30 days, and the newest entries up to its bound.
func TestPrune(t *testing.T) {
	w := managetest.New(t)
	tenant := w.Store.Tenant(managetest.Main)
	for range 3 {
		var day []store.AuditEntry
		for i := range 1500 {
			day = append(day, store.AuditEntry{Millis: w.Now().UnixMilli() + int64(i), KeyID: "k"})
		}
		if err := tenant.Audit(t.Context(), day); err != nil {
			t.Fatal(err)
		}
		w.Advance(15 * 24 * time.Hour)
	}
	if removed, err := tenant.PruneAudit(t.Context(), 100_000); removed != 1500 || err != nil {
		t.Errorf("by age: %d, %v", removed, err)
	}
	if removed, err := tenant.PruneAudit(t.Context(), 10); removed != 2990 || err != nil {
		t.Errorf("by count: %d, %v", removed, err)
	}
	left := auditLog(t, w)
	newest := w.Now().Add(-15*24*time.Hour).UnixMilli() + 1499
	if len(left) != 10 || left[0].Millis != newest || !slices.IsSortedFunc(left, func(a, b store.AuditEntry) int { return int(b.Millis - a.Millis) }) {
		t.Errorf("left are %d, the newest of %d", len(left), left[0].Millis-newest)
	}
}

// TestAChangeIsNeverWithoutItsEntry sends the smallest valid request of every operation to a process that ends before it writes how
// the request ended, as after a kill -9. Every change has its entry in the log, with the status of success and without an answer.
func TestAChangeIsNeverWithoutItsEntry(t *testing.T) {
	w := managetest.New(t)
	w.AuditTo(func(uint16, store.AuditEntry) {})
	changed, entries := 0, 0
	for _, o := range operations(t) {
		if o.v2() || o.method == "GET" {
			continue
		}
		body := ""
		if o.body() != nil {
			body = encode(t, example(o.body()))
		}
		before := w.Written()
		rec := call(w, o.method, o.target(), o.key("management"), body)
		log := auditLog(t, w)
		switch {
		case w.Written() == before:
		case len(log) != entries+1:
			t.Errorf("%s was answered %d, and the log has %d entries of it", o.id, rec.Code, len(log)-entries)
		default:
			changed++
		}
		entries = len(log)
	}
	for _, e := range auditLog(t, w) {
		if e.Status < 200 || e.Status > 299 || string(e.After) != "null" || e.Operation == "" || e.RequestID == "" {
			t.Errorf("%+v", e)
		}
	}
	if changed < 10 {
		t.Errorf("only %d changes were made: the test says little", changed)
	}
}

// TestRefusedChangesLeaveNoEntry: a refused change makes no entry. While a node of an older version is in the cluster, an entry that
// was written before the change is removed.
func TestRefusedChangesLeaveNoEntry(t *testing.T) {
	for level, commands := range map[command.Level]int64{command.LevelNewest: 0, command.LevelAuditEntries - 1: 2} {
		w := managetest.NewAt(t, level)
		if rec := call(w, "PUT", "/public/v1/catalog-search-service/catalogs/vendors", "management", `{"vendors":[{"id":"v1","name":"Acme"}]}`); rec.Code != 200 {
			t.Fatal(rec.Code, rec.Body)
		}
		before, entries := w.Written(), len(auditLog(t, w))
		rec := call(w, "POST", "/public/v1/billing-service/vendors/v1/balance/burn", "management", `{"balance": 1}`)
		if log := auditLog(t, w); w.Written()-before != commands || rec.Code != 400 || len(log) != entries {
			t.Errorf("level %d: %d, %d commands, want %d; log %+v", level, rec.Code, w.Written()-before, commands, log)
		}
	}
}

// TestAPanicLeavesNoOpenEntry: of a request whose handler panicked after its entry was written, the entry says 500 and stays, whether
// or not anything was changed, because that is unknown.
func TestAPanicLeavesNoOpenEntry(t *testing.T) {
	for _, x := range []struct {
		level   command.Level
		changes int // Commands beside the one with the entry.
	}{{command.LevelNewest, 0}, {command.LevelAuditEntries - 1, 0}, {command.LevelAuditEntries - 1, 1}} {
		changes, w := x.changes, managetest.NewAt(t, x.level)
		send(w, "PUT", catalogs+"/vendors", `{"vendors":[{"id":"v","name":"V"}]}`)
		send(w, "PUT", catalogs+"/products", `{"products":[{"id":"p","name":"P","vendors":["v"],"categories":[]}]}`)
		var got []store.AuditEntry
		w.AuditTo(func(_ uint16, e store.AuditEntry) { got = append(got, e) })
		w.BeforeNextCommand(func() { // The entry is written.
			if changes == 0 {
				w.PanicOnReads()
				return
			}
			w.BeforeNextCommand(w.PanicOnReads) // The campaign is made, and cannot be read for the answer.
		})
		before := w.Written()
		status, answer := send(w, "POST", "/campaign-service/campaigns?vendor_id=v",
			`{"name":"c","campaignType":"manual","bids":[{"target":{"type":"product","id":"p"},"amount":1}]}`)
		if written := w.Written() - before; status != 500 || written != int64(1+changes) {
			t.Fatalf("%d %v, %d commands", status, answer, written)
		}
		if len(got) != 1 || got[0].Status != 500 || got[0].Withdrawn {
			t.Errorf("level %d, after %d changes: the request was ended with %+v", x.level, changes, got)
		}
	}
}

// TestTextsOfAnEntry: texts that clients choose are cut before they are stored, and the request id is that of the answer.
func TestTextsOfAnEntry(t *testing.T) {
	w := managetest.New(t)
	r := httptest.NewRequest("PUT", "/public/v1/catalog-search-service/catalogs/vendors?x="+strings.Repeat("<&\"", 5_000), strings.NewReader(`{"vendors":[{"id":"v1","name":"Acme"}]}`))
	r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
	r.Header.Set("X-Request-Id", strings.Repeat("<", 15_000))
	rec := httptest.NewRecorder()
	if w.ServeHTTP(rec, r); rec.Code != 200 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	log := auditLog(t, w)
	if len(log) != 1 {
		t.Fatalf("%d entries", len(log))
	}
	if e := log[0]; e.RequestID != rec.Header().Get("X-Request-Id") || len(e.RequestID) != 36 {
		t.Errorf("the request id is %.100q, the answer's is %q", e.RequestID, rec.Header().Get("X-Request-Id"))
	}
	if e := log[0]; len(e.Path) > 2<<10 || !strings.HasSuffix(e.Path, " bytes more)") || !strings.HasPrefix(e.Path, "/public/v1/catalog") {
		t.Errorf("the path has %d bytes: %.100q", len(e.Path), e.Path)
	}
}
