package manage_test

import (
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

func auditLog(t *testing.T, w *managetest.World) []store.AuditEntry {
	t.Helper()
	all, _, err := w.Store.Tenant(managetest.Main).AuditLog(t.Context(), store.Page{Limit: 100_000}, func(*store.AuditEntry) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEveryChangeIsAudited sends the smallest good request of every operation and compares what it answered with the log: one
// entry for every change that was made, none for reads and refusals, whatever operation is added.
func TestEveryChangeIsAudited(t *testing.T) {
	w := managetest.New(t)
	want := map[string]int{}
	changes := 0
	for _, o := range operations(t, w) {
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
		if len(e.KeyID) != 8 || e.Method == "GET" || e.Status > 299 || len(e.Before) > 4<<10 || len(e.After) > 4<<10 {
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

// TestPrune: the log keeps 30 days and no more entries than its bound, the newest.
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
		w.Pass(15 * 24 * time.Hour)
	}
	if gone, err := tenant.PruneAudit(t.Context(), 100_000); gone != 1500 || err != nil {
		t.Errorf("by age: %d, %v", gone, err)
	}
	if gone, err := tenant.PruneAudit(t.Context(), 10); gone != 2990 || err != nil {
		t.Errorf("by count: %d, %v", gone, err)
	}
	left := auditLog(t, w)
	newest := w.Now().Add(-15*24*time.Hour).UnixMilli() + 1499
	if len(left) != 10 || left[0].Millis != newest || !slices.IsSortedFunc(left, func(a, b store.AuditEntry) int { return int(b.Millis - a.Millis) }) {
		t.Errorf("left are %d, the newest of %d", len(left), left[0].Millis-newest)
	}
}
