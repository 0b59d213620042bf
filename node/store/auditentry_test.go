package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
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

// auditing is a tenant that makes changes with audit entries, and the sizes of its commands.
type auditing struct {
	*testing.T
	store.Tenant
	w       *managetest.Environment
	watched *sizes
}

func newAuditing(t *testing.T, level command.Level) *auditing {
	w := managetest.NewAt(t, level)
	watched := &sizes{groups: w.Store.Groups}
	return &auditing{t, (&store.Store{Groups: watched, Now: w.Now, View: w.Store.View}).Tenant(managetest.Main), w, watched}
}

// log is the audit log of the tenant.
func (x *auditing) log() []store.AuditEntry {
	x.Helper()
	all, _, err := x.AuditLog(x.Context(), store.Page{Limit: 100}, func(*store.AuditEntry) bool { return true })
	if err != nil {
		x.Fatal(err)
	}
	return all
}

// begin begins a request that is answered 201 when it succeeds.
func (x *auditing) begin() (context.Context, *store.AuditRequest) {
	x.watched.all = nil
	e := store.AuditEntry{Millis: x.w.Now().UnixMilli(), KeyID: "k", Operation: "test", Status: 201}
	a := store.NewAuditRequest(managetest.Main, e)
	return store.WithAudit(x.Context(), a), a
}

// expect compares the log with the status of each entry, newest first, and the number of commands since begin.
func (x *auditing) expect(when string, commands int, statuses ...int) {
	x.Helper()
	var got []int
	for _, e := range x.log() {
		got = append(got, e.Status)
	}
	if slices.Sort(got); !slices.Equal(got, statuses) || len(x.watched.all) != commands {
		x.Fatalf("%s: entries with the statuses %v, want %v; %d commands, want %d", when, got, statuses, len(x.watched.all), commands)
	}
}

// TestAChangeCarriesItsEntry: one command makes a change and stores its entry, with the status of success, in whatever group. A
// refused command and a repeat leave no entry. Afterwards the answer is added, in the same group.
func TestAChangeCarriesItsEntry(t *testing.T) {
	x := newAuditing(t, command.LevelNewest)
	ctx, a := x.begin()
	if err := x.PutVendors(ctx, []model.Vendor{{ID: "v1", Name: "V"}}); err != nil {
		t.Fatal(err)
	}
	x.expect("records", 1, 201)
	if _, write := a.End(201, nil); write {
		t.Error("an entry that says everything is written again")
	}

	c := campaign("v1", "C")
	ctx, a = x.begin()
	if err := x.CreateCampaign(ctx, c, []model.Bid{{Target: "p", Amount: 5, Active: true}}); err != nil {
		t.Fatal(err)
	}
	x.expect("a campaign", 1, 201, 201)
	e, write := a.End(201, json.RawMessage(`{"campaignId":"c"}`))
	if !write || e.Group != c.Group || c.Group == 0 {
		t.Errorf("the answer belongs to group %d, that of the campaign is %d; written: %t", e.Group, c.Group, write)
	}
	if err := x.Audit(t.Context(), []store.AuditEntry{e}); err != nil {
		t.Fatal(err)
	}
	x.expect("with its answer", 2, 201, 201)

	again := *c
	ctx, a = x.begin()
	if err := x.CreateCampaign(ctx, &again, nil); err != nil {
		t.Fatal(err)
	}
	x.expect("a repeat", 1, 201, 201)
	if _, write := a.End(201, json.RawMessage(`{}`)); write {
		t.Error("the entry of a repeat is written")
	}

	ctx, a = x.begin()
	if err := x.PatchCampaign(ctx, &command.PatchCampaign{Campaign: ids.UUID{1}}); err == nil {
		t.Error("an unknown campaign was changed")
	}
	x.expect("a refused change", 1, 201, 201)
	if _, write := a.End(404, nil); write {
		t.Error("a request that was refused without a change has an entry")
	}

	ctx, a = x.begin()
	if err := x.PatchCampaign(ctx, &command.PatchCampaign{Campaign: ids.UUID{1}}); err == nil {
		t.Error("an unknown campaign was changed")
	}
	for range 2 {
		if _, err := x.Adjust(ctx, "v1", ids.UUID{}, 5, true, ""); err != nil {
			t.Fatal(err)
		}
	}
	x.expect("a refused command and then two others", 3, 201, 201, 201)
	if e, write := a.End(409, nil); !write || e.Withdrawn || e.Status != 409 {
		t.Errorf("a request that was refused after a part of it was done: %+v, %t", e, write)
	}

	ctx, a = x.begin()
	if _, err := x.UpdateSegmentUsers(ctx, "s", command.SegmentReplace, []uint64{1, 2}); err != nil {
		t.Fatal(err)
	}
	x.expect("staged and committed users of a segment", 2, 201, 201, 201, 201)
	if _, write := a.End(201, nil); write {
		t.Error("an entry that says everything is written again")
	}

	x.w.FailWrites(true)
	ctx, a = x.begin()
	if _, err := x.Adjust(ctx, "v1", ids.UUID{}, 5, true, ""); err == nil {
		t.Error("a change without a leader succeeded")
	}
	if e, write := a.End(503, nil); !write || e.Withdrawn || e.Status != 503 {
		t.Errorf("a change of an unknown outcome: %+v, %t", e, write)
	}
}

// TestAnEntryOfTwoGroupsIsListedOnce: when a command had an unknown outcome and the request went on in another group, both may have
// the entry. It is listed once, with the answer. Pages and bounds of the log count the entries of all groups in one order.
func TestAnEntryOfTwoGroupsIsListedOnce(t *testing.T) {
	x := newAuditing(t, command.LevelNewest)
	now := x.w.Now().UnixMilli()
	var all []store.AuditEntry
	for i := range 5 {
		id := ids.UUID{15: byte(i + 1)}
		all = append(all, store.AuditEntry{ID: id, Millis: now - int64(i), Status: 200, Group: ids.Group(i), RequestID: fmt.Sprint(i)}) // A handful.
	}
	twice := all[1]
	twice.Group, twice.Status, twice.After = 3, 409, json.RawMessage(`{}`)
	if err := x.Audit(t.Context(), append(slices.Clone(all), twice)); err != nil {
		t.Fatal(err)
	}
	var pages []string
	for after, more := "", true; more; {
		var page []store.AuditEntry
		var err error
		page, more, err = x.AuditLog(t.Context(), store.Page{After: after, Limit: 2}, func(e *store.AuditEntry) bool { return e.RequestID != "3" })
		if err != nil {
			t.Fatal(err)
		}
		for i := range page {
			after = page[i].ListPosition()
			pages = append(pages, fmt.Sprint(page[i].RequestID, " ", page[i].Status))
		}
		pages = append(pages, "end")
	}
	if want := "0 200,1 409,end,2 200,4 200,end"; strings.Join(pages, ",") != want {
		t.Errorf("pages %q, want %s", pages, want)
	}
	if removed, err := x.PruneAudit(t.Context(), 3); err != nil || removed != 3 { // The entry of two groups counts twice.
		t.Errorf("%d were removed, %v", removed, err)
	}
	if left := x.log(); len(left) != 2 || left[0].RequestID != "0" || left[1].RequestID != "1" {
		t.Errorf("left are %+v", left)
	}
}

// TestBelowTheLevelAnEntryIsWrittenAhead: while a node of an older version is in the cluster, the entry of a request is in the log
// before a campaign is changed; without the entry there is no change. Records carry it themselves.
func TestBelowTheLevelAnEntryIsWrittenAhead(t *testing.T) {
	x := newAuditing(t, command.LevelAuditEntries-1)
	tenant, w, watched := x.Tenant, x.w, x.watched
	entries := func() int { return len(x.log()) }
	ctx, a := x.begin()
	if err := tenant.PutVendors(ctx, []model.Vendor{{ID: "v1", Name: "V"}}); err != nil || entries() != 1 || len(watched.all) != 1 {
		t.Errorf("records: %d entries, %d commands, %v", entries(), len(watched.all), err)
	}
	if _, write := a.End(201, nil); write {
		t.Error("an entry that says everything is written again")
	}

	c, bids := campaign("v1", "C"), []model.Bid{{Target: "p", Amount: 5, Active: true}}
	w.FailWritesAfter(0)
	ctx, a = x.begin()
	if err := tenant.CreateCampaign(ctx, c, bids); err == nil || len(watched.all) != 1 {
		t.Errorf("without its entry a campaign was made with %d commands, %v", len(watched.all), err)
	}
	if e, write := a.End(503, nil); !write || !e.Withdrawn {
		t.Errorf("an entry without a change: %+v, %v", e, write)
	}
	w.FailWritesAfter(1) // The entry can be written; whether the campaign was is unknown.
	ctx, a = x.begin()
	if err := tenant.CreateCampaign(ctx, c, bids); err == nil || entries() != 2 {
		t.Errorf("an unknown outcome: %d entries, %v", entries(), err)
	}
	if e, write := a.End(503, nil); !write || e.Withdrawn || e.Status != 503 {
		t.Errorf("the end of a change of an unknown outcome: %+v, %v", e, write)
	}
	w.FailWrites(false)
	ctx, a = x.begin()
	if err := tenant.PatchCampaign(ctx, &command.PatchCampaign{Campaign: ids.UUID{1}}); err == nil || entries() != 3 {
		t.Errorf("a refused change: %d entries, %v", entries(), err)
	}
	e, write := a.End(404, nil)
	if err := tenant.Audit(t.Context(), []store.AuditEntry{e}); err != nil || !write || entries() != 2 {
		t.Errorf("a refused change leaves %d entries, %v, %v", entries(), write, err)
	}
	ctx, a = x.begin()
	if _, write := a.End(422, nil); write || ctx == nil {
		t.Error("a request that proposed nothing and was refused has an entry")
	}
}
