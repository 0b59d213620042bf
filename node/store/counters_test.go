package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// busy is an environment in a time zone with half hours. It has campaigns of six vendors over all groups, impressions that named
// them by external id and so lie in any group, and purchases in any group, all within the last two days.
func busy(t *testing.T) (*managetest.Environment, store.Tenant) {
	t.Helper()
	w := managetest.New(t)
	tenant := w.Store.Tenant(managetest.Main)
	m := tenant.Settings()
	m.TimeZone = "Asia/Kolkata"
	m.UpdatedMillis++
	propose(t, w, command.AppendPutMarketplace(nil, w.Now().UnixMilli(), &m), w.Store.Groups.Meta())
	if err := tenant.PutProducts(t.Context(), []model.Product{
		{ID: "p0", Name: "n", Vendors: []string{"v0"}},
		{ID: "p1", Name: "n", Vendors: []string{"v1", "v2"}},
		{ID: "p2", Name: "n", Vendors: []string{"v2", "v2"}},
	}); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		c := campaign(fmt.Sprintf("v%d", i), "c")
		if err := tenant.CreateCampaign(t.Context(), c, nil); err != nil {
			t.Fatal(err)
		}
		var all []command.EventRecord
		for j := range 8 {
			when := w.Now().Add(-time.Duration(7*j*(i+1)%47) * time.Hour)
			shown := command.EventRecord{
				Key: [16]byte{1, byte(i), byte(j)}, Kind: event.Impression, Bucket: uint32(when.Unix() / 3600), OccurredMillis: when.UnixMilli(),
				Cell: localHour(when), ExternalCampaign: c.ID,
			}
			bought := shown
			bought.Key[0], bought.Kind, bought.ExternalCampaign = 2, event.Purchase, ids.UUID{}
			bought.Items = []command.PurchaseItem{{ProductID: fmt.Appendf(nil, "p%d", j%4), Quantity: int64(i) + 1, UnitPrice: 10_000}}
			all = append(all, shown, bought)
		}
		e := command.Events{Marketplace: managetest.Main, Records: all}
		propose(t, w, command.AppendEvents(nil, w.Now().UnixMilli(), &e), w.Store.Groups.GroupOf(ids.Shard(i)))
	}
	return w, tenant
}

// localHour is the cell of the hour in a zone of UTC+5:30.
func localHour(at time.Time) uint32 {
	const half = 1800
	return uint32((at.Unix() - (at.Unix()+half)%3600) / rollup.CellSeconds)
}

// TestPagesOfInteractions: whatever the page size, the pages together are the list; newest first, nothing twice.
func TestPagesOfInteractions(t *testing.T) {
	w, tenant := busy(t)
	for _, by := range []store.Grouping{store.ByVendor, store.ByCampaign, store.ByProduct} {
		for _, hourly := range []bool{false, true} {
			q := store.Interactions{From: w.Now().Add(-40*time.Hour - 7*time.Minute), To: w.Now(), By: by, Hourly: hourly, Page: store.Page{Limit: 1_000}}
			want, more, err := tenant.Interactions(t.Context(), &q)
			if err != nil || more || len(want) < 4 {
				t.Fatalf("by %s: %d lines, more %t, %v", by, len(want), more, err)
			}
			if !slices.IsSortedFunc(want, func(a, b store.Interaction) int { return int(b.Millis - a.Millis) }) {
				t.Errorf("by %s: not the newest first", by)
			}
			for _, limit := range []int{1, 3, len(want) - 1, len(want)} {
				if got := pages(t, tenant, q, limit); !reflect.DeepEqual(got, want) {
					t.Errorf("by %s, hourly %t, %d a page: %d lines, want %d", by, hourly, limit, len(got), len(want))
				}
			}
		}
	}
}

func pages(t *testing.T, tenant store.Tenant, q store.Interactions, limit int) (all []store.Interaction) {
	t.Helper()
	q.Limit = limit
	for {
		page, more, err := tenant.Interactions(t.Context(), &q)
		if err != nil || more && len(page) != limit {
			t.Fatalf("a page of %d with more %t: %v", len(page), more, err)
		}
		all = append(all, page...)
		if !more {
			return all
		}
		q.After = page[len(page)-1].ListPosition()
	}
}

// TestNumbersAgree: days add up to sums; vendors, campaigns and lines add up to the marketplace; nothing is counted twice.
func TestNumbersAgree(t *testing.T) {
	w, tenant := busy(t)
	d := store.Dates{From: "2026-03-14", To: "2026-03-18"}
	whole := sumOf(tenant.MarketplaceCounters(t.Context(), d, store.Whole, true))
	if whole.Impressions != 48 || whole.Purchases != 48 || whole.PurchaseQuantity != 8*(1+2+3+4+5+6) || whole.PurchaseAmount != 10_000*8*21 {
		t.Fatalf("the marketplace has %+v", whole)
	}
	if days := sumOf(tenant.MarketplaceCounters(t.Context(), d, store.Daily, false)); days != whole {
		t.Errorf("days add up to %+v, the sum is %+v", days, whole)
	}
	if hours := sumOf(tenant.MarketplaceCounters(t.Context(), d, store.Hourly, false)); hours != whole {
		t.Errorf("hours add up to %+v, the sum is %+v", hours, whole)
	}

	var vendors, products rollup.Counters
	for i := range 6 {
		c := sumOf(tenant.VendorCounters(t.Context(), fmt.Sprintf("v%d", i), d, store.Daily))
		vendors.Add(&c)
	}
	for i := range 4 {
		c := sumOf(tenant.ProductCounters(t.Context(), fmt.Sprintf("p%d", i), d, store.Daily))
		products.Add(&c)
	}
	if vendors.Impressions != 48 || vendors.Purchases != 24 {
		t.Errorf("vendors have %+v; of four products, v0 and v2 have one each to themselves", vendors)
	}
	if products.Purchases != 48 || products.PurchaseAmount != whole.PurchaseAmount || products.Impressions != 0 {
		t.Errorf("products have %+v; no impression was of a bid", products)
	}

	for by, want := range map[store.Grouping][2]int64{store.ByVendor: {48, 48}, store.ByCampaign: {48, 0}, store.ByProduct: {0, 48}} {
		lines, _, err := tenant.Interactions(t.Context(), &store.Interactions{
			From: w.Now().Add(-72 * time.Hour), To: w.Now().Add(time.Second), By: by, Page: store.Page{Limit: 1_000},
		})
		if err != nil {
			t.Fatal(err)
		}
		var sum rollup.Counters
		for i := range lines {
			sum.Add(&lines[i].Counters)
		}
		if sum.Impressions != want[0] || sum.Purchases != want[1] {
			t.Errorf("lines by %s have %d impressions and %d purchases, want %v", by, sum.Impressions, sum.Purchases, want)
		}
	}
}

func sumOf(rows []store.CounterRow, err error) (sum rollup.Counters) {
	if err != nil {
		panic(err)
	}
	for i := range rows {
		sum.Add(&rows[i].Counters)
	}
	return sum
}
