package store_test

import (
	"math"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// A connector reports what it wants, and sums of it stay at the largest number instead of turning negative.
func TestOffsiteSumsSaturate(t *testing.T) {
	const most = math.MaxInt64
	tenant, campaign := managetest.New(t).Store.Tenant(managetest.Main), ids.UUID{1}
	rows := []store.OffsiteRow{
		{Date: "2026-01-01", ProductID: "p", Impressions: most, Clicks: most, Spent: most, Purchases: most, PurchaseAmount: most, PurchaseQuantity: most},
		{Date: "2026-01-02", ProductID: "p", Impressions: 1, Clicks: 1, Spent: 1, Purchases: 1, PurchaseAmount: 1, PurchaseQuantity: 1},
	}
	if err := tenant.PutOffsiteRows(t.Context(), campaign, rows); err != nil {
		t.Fatal(err)
	}
	sums, _, err := tenant.OffsiteProducts(t.Context(), campaign, store.Dates{From: "2026-01-01", To: "2026-01-31"}, store.Page{Limit: 10})
	if err != nil || len(sums) != 1 {
		t.Fatal(sums, err)
	}
	want := rows[0]
	want.Date = sums[0].Date
	if sums[0] != want {
		t.Errorf("got %+v, want %+v", sums[0], want)
	}
}
