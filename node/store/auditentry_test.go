package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

// sizes records the sizes of commands.
type sizes struct {
	groups
	all []int
}

func (s *sizes) ProposeAt(ctx context.Context, g ids.Group, cmd []byte) ([]byte, uint64, error) {
	s.all = append(s.all, len(cmd))
	return s.groups.ProposeAt(ctx, g, cmd)
}

// TestAuditCommands: entries go into as few commands as their bytes and number allow, and a command of exactly the most
// bytes is accepted. One byte is reserved for the number of entries.
func TestAuditCommands(t *testing.T) {
	w := managetest.New(t)
	watched := &sizes{groups: w.Store.Groups}
	tenant := (&store.Store{Groups: watched, Now: w.Now, View: w.Store.View}).Tenant(managetest.Main)
	sizesOf := func(entries []store.AuditEntry) []int {
		t.Helper()
		watched.all = nil
		if err := tenant.Audit(t.Context(), entries); err != nil {
			t.Fatal(err)
		}
		return slices.Clone(watched.all)
	}
	part := json.RawMessage(`"` + strings.Repeat("x", store.AuditPartMax-2) + `"`)
	const path = store.AuditPathMax / 2
	some := func(n int) []store.AuditEntry {
		entries := make([]store.AuditEntry, n)
		for i := range entries {
			id := ids.UUID(bytes.Repeat([]byte{100}, len(ids.UUID{}))) // Ids are stored as numbers, so all must have the same length.
			id[15] += byte(i)
			entries[i] = store.AuditEntry{ID: id, Millis: w.Now().UnixMilli(), Before: part, After: part, Path: strings.Repeat("x", path)}
		}
		return entries
	}
	const most = store.AuditCommandMax - 1
	one, two := sizesOf(some(1))[0], sizesOf(some(2))[0]
	each := two - one
	fit := (most - (one - each)) / each
	entries := some(fit)
	missing := most - (one - each) - fit*each
	for i := range entries { // Until the command is exactly full.
		more := min(missing, store.AuditPathMax-path)
		entries[i].Path += strings.Repeat("x", more)
		missing -= more
	}
	if full := sizesOf(entries); fit >= store.AuditBatch || !slices.Equal(full, []int{most}) {
		t.Errorf("%d entries in commands of %v bytes, want one of %d", fit, full, most)
	}
	entries[fit-1].Path += "x"
	if over := sizesOf(entries); len(over) != 2 || max(over[0], over[1]) > store.AuditCommandMax {
		t.Errorf("a byte more: commands of %v bytes", over)
	}
	if many := sizesOf(make([]store.AuditEntry, 2*store.AuditBatch+1)); len(many) != 3 {
		t.Errorf("%d commands for two batches and one entry", len(many))
	}
}

// TestTheLargestEntryFits: an entry with the longest texts that clients can send is far smaller than a command.
func TestTheLargestEntryFits(t *testing.T) {
	w := managetest.New(t)
	watched := &sizes{groups: w.Store.Groups}
	tenant := (&store.Store{Groups: watched, Now: w.Now, View: w.Store.View}).Tenant(managetest.Main)
	long := strings.Repeat("<", 1<<20)
	part, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	e := store.AuditEntry{KeyID: long, Operation: long, Method: long, Path: long, RequestID: long, Before: part, After: part}
	if err := tenant.Audit(t.Context(), []store.AuditEntry{e}); err != nil || watched.all[0] > 32<<10 {
		t.Errorf("a command of %v bytes, %v", watched.all, err)
	}
}

// TestAnEntryIsWrittenAhead: the entry of a request is in the log before a campaign is changed; without the entry there is no
// change. Records carry it themselves.
func TestAnEntryIsWrittenAhead(t *testing.T) {
	w := managetest.New(t)
	watched := &sizes{groups: w.Store.Groups}
	tenant := (&store.Store{Groups: watched, Now: w.Now, View: w.Store.View}).Tenant(managetest.Main)
	entries := func() int {
		t.Helper()
		all, _, err := tenant.AuditLog(t.Context(), store.Page{Limit: 100}, func(*store.AuditEntry) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	begin := func() (context.Context, *store.AuditRequest) {
		a := store.NewAuditRequest(managetest.Main, store.AuditEntry{Millis: w.Now().UnixMilli(), KeyID: "k", Operation: "test"})
		return store.WithAudit(t.Context(), a), a
	}
	ctx, a := begin()
	if err := tenant.PutVendors(ctx, []market.Vendor{{ID: "v1", Name: "V"}}); err != nil || entries() != 1 || len(watched.all) != 1 {
		t.Errorf("records: %d entries, %d commands, %v", entries(), len(watched.all), err)
	}
	if e, write := a.End(200, nil); !write || e.Withdrawn || e.Status != 200 {
		t.Errorf("the end of a change: %+v, %v", e, write)
	}

	watched.all = nil
	c, bids := campaign("v1", "C"), []market.Bid{{Target: "p", Amount: 5, Active: true}}
	w.FailWritesAfter(0)
	ctx, a = begin()
	if err := tenant.CreateCampaign(ctx, c, bids); err == nil || len(watched.all) != 1 {
		t.Errorf("without its entry a campaign was made with %d commands, %v", len(watched.all), err)
	}
	if e, write := a.End(503, nil); !write || !e.Withdrawn {
		t.Errorf("an entry without a change: %+v, %v", e, write)
	}
	w.FailWritesAfter(1) // The entry can be written; whether the campaign was is unknown.
	ctx, a = begin()
	if err := tenant.CreateCampaign(ctx, c, bids); err == nil || entries() != 2 {
		t.Errorf("an unknown outcome: %d entries, %v", entries(), err)
	}
	if e, write := a.End(503, nil); !write || e.Withdrawn || e.Status != 503 {
		t.Errorf("the end of a change of an unknown outcome: %+v, %v", e, write)
	}
	w.FailWrites(false)
	ctx, a = begin()
	if err := tenant.PatchCampaign(ctx, &command.PatchCampaign{Campaign: ids.UUID{1}}); err == nil || entries() != 3 {
		t.Errorf("a refused change: %d entries, %v", entries(), err)
	}
	e, write := a.End(404, nil)
	if err := tenant.Audit(t.Context(), []store.AuditEntry{e}); err != nil || !write || entries() != 2 {
		t.Errorf("a refused change leaves %d entries, %v, %v", entries(), write, err)
	}
	ctx, a = begin()
	if _, write := a.End(422, nil); write || ctx == nil {
		t.Error("a request that proposed nothing and was refused has an entry")
	}
}
