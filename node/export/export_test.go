package export_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/export"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/money"
)

// figures are what is compared between exports, reports and the journal.
type figures struct {
	Impressions, Clicks, SpentImpressions, SpentClicks, Overdelivery int64
	Items, Pieces, Sales                                             int64
}

// compare checks every row that was exported against the reports, the wallets and the journal of the groups.
func (w *shop) compare(all *exported) {
	w.t.Helper()
	counted, charged, credited := map[string]figures{}, map[string]figures{}, map[string]figures{}
	for _, r := range all.rollups {
		f := counted[r.CampaignID]
		f.Impressions, f.Clicks = f.Impressions+r.Impressions, f.Clicks+r.Clicks
		f.SpentImpressions, f.SpentClicks = f.SpentImpressions+r.SpentImpressions, f.SpentClicks+r.SpentClicks
		f.Overdelivery += r.Overdelivery
		f.Items, f.Pieces, f.Sales = f.Items+r.Attributed, f.Pieces+r.AttributedQuantity, f.Sales+r.AttributedAmount
		counted[r.CampaignID] = f
	}
	wallets, lines := map[string]money.Micros{}, map[string]bool{}
	for _, r := range all.journal {
		f := charged[r.CampaignID]
		switch r.Kind {
		case "click_charge":
			f.SpentClicks += r.Amount
			f.Overdelivery += r.Requested - r.Amount
		case "impression_charge":
			f.SpentImpressions += r.Amount
			f.Overdelivery += r.Requested - r.Amount
		}
		charged[r.CampaignID] = f
		wallets[r.WalletID] += money.Micros(r.Wallet)
		if line := fmt.Sprint(r.Group, "/", r.Line); lines[line] {
			w.t.Errorf("line %s was exported twice", line)
		} else {
			lines[line] = true
		}
	}
	for _, r := range all.conversions {
		f := credited[r.CampaignID]
		if r.Returned < r.Quantity {
			f.Items++
		}
		f.Pieces, f.Sales = f.Pieces+r.Quantity-r.Returned, f.Sales+r.Amount-r.ReturnedAmount
		credited[r.CampaignID] = f
	}
	w.compareEvents(all)
	if want := w.movements(); want != len(lines) {
		w.t.Errorf("%d lines were exported, the journals have %d", len(lines), want)
	}
	for _, c := range w.campaigns {
		sum, err := w.tenant.CampaignReport(w.t.Context(), c.ID, store.Dates{From: "2026-01-01", To: "2026-12-31"})
		if err != nil {
			w.t.Fatal(err)
		}
		id := c.ID.String()
		want := figures{
			sum.Impressions, sum.Clicks, int64(sum.SpentImpressions), int64(sum.SpentClicks), int64(sum.Overdelivery),
			sum.Attributed.Count, sum.Attributed.Quantity, int64(sum.Attributed.Amount),
		}
		if counted[id] != want {
			w.t.Errorf("%s: the rollups have %+v, the report %+v", c.VendorID, counted[id], want)
		}
		spent := figures{SpentImpressions: want.SpentImpressions, SpentClicks: want.SpentClicks, Overdelivery: want.Overdelivery}
		if charged[id] != spent {
			w.t.Errorf("%s: the journal has %+v, the report %+v", c.VendorID, charged[id], spent)
		}
		if sales := (figures{Items: want.Items, Pieces: want.Pieces, Sales: want.Sales}); credited[id] != sales {
			w.t.Errorf("%s: the conversions are %+v, the report has %+v", c.VendorID, credited[id], sales)
		}
		own, err := w.tenant.Wallets(w.t.Context(), c.VendorID)
		if err != nil || wallets[own[0].ID.String()] != own[0].Balance {
			w.t.Errorf("%s: the lines of the wallet sum to %d, its balance is %d (%v)", c.VendorID, wallets[own[0].ID.String()], own[0].Balance, err)
		}
	}
}

// compareEvents checks that every event was exported once, and has the charge that the journal has under its reference.
func (w *shop) compareEvents(all *exported) {
	w.t.Helper()
	lines := map[string]int64{}
	for _, r := range all.journal {
		if strings.HasSuffix(r.Kind, "_charge") {
			lines[r.Reference] = r.Amount
		}
	}
	charges := 0
	seen := map[string]bool{}
	for _, r := range all.events {
		if seen[r.EventID] {
			w.t.Errorf("event %s was exported twice", r.EventID)
		}
		seen[r.EventID] = true
		if r.Outcome == "charged" || r.Outcome == "clipped" || r.Outcome == "nothing_left" {
			if amount, found := lines[r.Reference]; !found || amount != r.Charged || r.CampaignID == "" || r.VendorID == "" || r.BidID == "" {
				w.t.Errorf("the journal has %d (%t) for the event %+v", amount, found, r)
			}
			charges++
		}
	}
	if len(seen) != int(w.events) || charges != len(lines)-w.purchaseCharges(all) {
		w.t.Errorf("%d events of %d were exported, with %d charges of %d", len(seen), w.events, charges, len(lines))
	}
}

// purchaseCharges counts the lines that charge purchases, which are charged when they are credited.
func (w *shop) purchaseCharges(all *exported) (n int) {
	for _, r := range all.journal {
		if r.Kind == "purchase_charge" {
			n++
		}
	}
	return n
}

// movements counts the lines of all journals that move money, or decide not to.
func (w *shop) movements() (n int) {
	for _, g := range w.data() {
		w.read(g, func(q shard.Queries) {
			q.Journal(1, func(l *ledger.Line) bool {
				if l.Kind != ledger.BudgetInForce && l.Kind != ledger.BudgetCarried && l.Kind != ledger.BillingMode {
					n++
				}
				return true
			})
		})
	}
	return n
}

// TestExportsAreTheReports: what is read back of the files has the money of the reports, of the journal and of the wallets, to the micro,
// and each line and item once.
func TestExportsAreTheReports(t *testing.T) {
	w := newShop(t)
	w.day(6, 20)
	w.pass(2 * time.Hour)
	to := newMemory()
	e := w.exporter(to)
	if failed := w.export(e); failed != 0 {
		t.Fatalf("%d hours failed", failed)
	}
	all := follow(t, to)
	if len(all.journal) < 60 || len(all.conversions) < 10 || len(all.rollups) < 20 {
		t.Fatalf("%d lines, %d conversions, %d counters: the test needs more", len(all.journal), len(all.conversions), len(all.rollups))
	}
	w.compare(&all)
	for path := range all.manifests {
		if want := w.tenant.Settings().ID.String(); path[:len(want)] != want {
			t.Errorf("%s: a marketplace without events has a manifest", path)
		}
	}
	rows := uint64(len(all.journal) + len(all.conversions) + len(all.rollups) + len(all.events))
	if s := e.Stats(); s.Rows != rows || s.Files == 0 || s.Failures != 0 || s.Lag > 2*time.Hour {
		t.Errorf("the exporter counts %+v", s)
	}
}

// TestStopsLoseAndDoubleNothing stops the export at every call of the target, before and after the call had its effect. The node that goes
// on leaves the same files, byte by byte.
func TestStopsLoseAndDoubleNothing(t *testing.T) {
	w := newShop(t)
	w.pass(2 * time.Hour)
	base := newMemory()
	w.export(w.exporter(base))
	w.day(2, 6)
	w.pass(2 * time.Hour)
	after := func() *memory { return &memory{files: maps.Clone(base.files)} }
	want := after()
	w.export(w.exporter(want))
	all := follow(t, want)
	w.compare(&all)
	step := 1
	if testing.Short() {
		step = 7
	}
	for n := 1; n <= want.calls; n += step {
		for _, late := range []bool{false, true} {
			m := after()
			m.failAt, m.late = n, late
			if failed := w.export(w.exporter(m)); failed != 1 {
				t.Fatalf("call %d: %d rounds failed", n, failed)
			}
			m.same(t, want)
			if t.Failed() {
				t.Fatalf("the export stopped at call %d (with its effect: %v)", n, late)
			}
		}
	}
}

// TestAnotherNodeGoesOn: leadership moves at random between two nodes, and for some rounds both believe to lead.
func TestAnotherNodeGoesOn(t *testing.T) {
	w := newShop(t)
	w.day(3, 6)
	w.pass(2 * time.Hour)
	want, got := newMemory(), newMemory()
	w.export(w.exporter(want))
	random := rand.New(rand.NewPCG(7, 8))
	nodes := []*export.Exporter{w.exporter(got), w.exporter(got)}
	leads := [2]bool{true, false}
	for i := range nodes {
		nodes[i].Leads = func(ids.Group) bool { return leads[i] }
	}
	for idle := 0; idle < 20; {
		idle++
		switch random.IntN(4) {
		case 0:
			leads = [2]bool{true, false}
		case 1:
			leads = [2]bool{false, true}
		case 2:
			leads = [2]bool{true, true}
		default:
			leads = [2]bool{}
		}
		for _, e := range nodes {
			for _, g := range w.data() {
				did, err := e.Round(t.Context(), g)
				if err != nil {
					t.Fatal(err)
				}
				if did {
					idle = 0
				}
			}
		}
	}
	got.same(t, want)
}

// manifestsOf returns the manifests of an hour of the main marketplace.
func (w *shop) manifestsOf(all *exported, hour time.Time) (found []export.Manifest) {
	for _, m := range all.manifests {
		if m.From.Equal(hour) && m.Marketplace == w.tenant.Settings().ID.String() {
			found = append(found, m)
		}
	}
	return found
}

// TestAnHourIsExportedWhenItIsComplete: 45 minutes after its end, and when its purchases are credited.
func TestAnHourIsExportedWhenItIsComplete(t *testing.T) {
	w := newShop(t)
	hour := managetest.Start.Truncate(time.Hour)
	to := newMemory()
	e := w.exporter(to)
	exported := func() int {
		t.Helper()
		w.export(e)
		all := follow(t, to)
		return len(w.manifestsOf(&all, hour))
	}
	w.touch(event.Click, 1, 500, 0)
	w.pass(hour.Add(105*time.Minute - time.Millisecond).Sub(w.Now()))
	if n := exported(); n != 0 {
		t.Errorf("%d groups exported the hour before its local hours were over", n)
	}
	w.pass(time.Millisecond)
	if n := exported(); n == 0 {
		t.Error("no group exported the hour when it was complete")
	}

	hour = w.Now().Truncate(time.Hour)
	w.buy(1)
	w.tick(4 * time.Hour)
	if n := exported(); n != 0 {
		t.Errorf("%d groups exported the hour before its purchase was credited", n)
	}
	w.pass(0)
	if n := exported(); n == 0 {
		t.Error("no group exported the hour of the purchase when it was credited")
	}
	if all := follow(t, to); len(all.conversions) != 1 {
		t.Errorf("%d conversions", len(all.conversions))
	}
}

// TestChangesMakeRevisions: an hour that changes after it was exported is exported again a day later; its journal stays, and the charge of
// a click that was reported late is in the journal of the hour in which it was committed.
func TestChangesMakeRevisions(t *testing.T) {
	w := newShop(t)
	hour := w.Now().Truncate(time.Hour)
	to := newMemory()
	e := w.exporter(to)
	w.touch(event.Click, 1, 500, 0)
	w.pass(time.Minute)
	bought := w.buy(1)
	w.pass(3 * time.Hour)
	w.export(e)
	all := follow(t, to)
	w.compare(&all)
	before := map[string]string{}
	for _, m := range w.manifestsOf(&all, hour) {
		for _, f := range m.Files {
			before[f.Path] = f.SHA256
		}
	}

	w.touch(event.Click, 1, 300, w.Now().Sub(hour)-time.Minute)
	w.giveBack(bought, 1)
	w.pass(30 * time.Hour)
	w.export(e)
	all = follow(t, to)
	w.compare(&all)
	changed := map[export.Dataset]int{}
	for _, m := range w.manifestsOf(&all, hour) {
		if m.Revision != 2 {
			t.Errorf("the manifest has revision %d", m.Revision)
		}
		for _, f := range m.Files {
			if want := map[bool]int{true: 1, false: 2}[f.Dataset == export.Journal || f.Dataset == export.Events]; f.Revision != want {
				t.Errorf("%s has revision %d", f.Path, f.Revision)
			}
			if before[f.Path] != f.SHA256 {
				changed[f.Dataset]++
			}
		}
	}
	// The purchase was counted in another group than the ad, perhaps.
	if changed[export.Journal] != 0 || changed[export.Events] != 0 || changed[export.Conversions] != 2 || changed[export.Rollups] < 2 {
		t.Errorf("other files than before, in both formats: %v", changed)
	}
}

// TestWriteIsTheSegments: what is exported on demand is what the segments have.
func TestWriteIsTheSegments(t *testing.T) {
	w := newShop(t)
	w.day(3, 8)
	w.pass(2 * time.Hour)
	to := newMemory()
	w.export(w.exporter(to))
	all := follow(t, to)
	span := shard.Span{From: 0, To: w.Now().AddDate(8_000, 0, 0).UnixMilli()}
	for d, want := range map[export.Dataset]int{
		export.Journal: len(all.journal), export.Conversions: len(all.conversions), export.Rollups: len(all.rollups),
		export.Events: len(all.events),
	} {
		for _, f := range []export.Format{export.NDJSON, export.Parquet} {
			var counter written
			rows, err := export.Write(t.Context(), w.tenant, w.data(), d, span, f, &counter)
			if err != nil || rows != int64(want) || counter == 0 {
				t.Errorf("%s as %s: %d rows in %d bytes, %v; the segments have %d", d, f, rows, counter, err, want)
			}
		}
	}
}

type written int

func (n *written) Write(b []byte) (int, error) {
	*n += written(len(b))
	return len(b), nil
}

// TestManyEventsOfAnHour: events of which an hour has more than are read at once, or whose items are more than that, are exported once
// each, in the order of their commits.
func TestManyEventsOfAnHour(t *testing.T) {
	w := newShop(t)
	const commands, each = 110, 50 // More than store.exportStep.
	g := w.data()[0]
	for range commands {
		e := command.Events{Marketplace: managetest.Main}
		for range each {
			e.Records = append(e.Records, w.record(event.Pageview, 0))
		}
		e.Records[0].Kind, e.Records[0].Items = event.Purchase, make([]command.PurchaseItem, 100)
		for i := range e.Records[0].Items {
			e.Records[0].Items[i] = command.PurchaseItem{ProductID: fmt.Append(nil, "p", i), Quantity: 1}
		}
		w.propose(g, command.AppendEvents(nil, w.Now().UnixMilli(), &e))
		w.Advance(time.Second)
	}
	w.pass(3 * time.Hour)
	for range commands * 100 / 4_096 { // A round credits that many items.
		w.pass(0)
	}
	to := newMemory()
	w.export(w.exporter(to))
	all := follow(t, to)
	w.compareEvents(&all)
	if len(all.events) != commands*each {
		t.Fatalf("%d events were exported, want %d", len(all.events), commands*each)
	}
	for i := range all.events {
		if r := &all.events[i]; r.Number != int64(i) || i > 0 && r.CommittedAt < all.events[i-1].CommittedAt {
			t.Fatalf("event %d is %+v", i, *r)
		}
	}
}
