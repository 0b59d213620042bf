package store_test

import (
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/money"
)

// The newest purchases are those of which something was credited, newest first, of the own marketplace and of a week.
func TestTheNewestPurchases(t *testing.T) {
	w := newShopping(t)
	tenant := w.Store.Tenant(managetest.Main)
	w.touch(event.Click, 0, 1)
	w.touch(event.Click, 2, 3)
	var bought [][16]byte
	for _, products := range [][]int{{0, 2}, {0}, {99}} { // Nothing of the last one is credited.
		w.Advance(time.Minute)
		w.buy(products...)
		bought = append(bought, [16]byte{byte(w.events), 1})
	}
	w.credit(time.Minute, w.data()...)
	newest, complete, err := tenant.NewestPurchases(10)
	if err != nil || !complete || len(newest) != 2 {
		t.Fatalf("%+v, complete %v, %v", newest, complete, err)
	}
	first, second := newest[1], newest[0]
	if first.Key != bought[0] || first.Items != 2 || first.Sales != 6*money.PerMajor || len(first.Campaigns) != 2 {
		t.Errorf("the first purchase is %+v", first)
	}
	if second.Key != bought[1] || second.Items != 1 || second.CreatedMillis <= first.CreatedMillis || len(second.Campaigns) != 1 {
		t.Errorf("the second purchase is %+v", second)
	}
	if newest, _, _ = tenant.NewestPurchases(1); len(newest) != 1 || newest[0].Key != bought[1] {
		t.Errorf("the newest one is %+v", newest)
	}
	if newest, _, _ = w.Store.Tenant(managetest.Other).NewestPurchases(10); len(newest) > 0 {
		t.Errorf("another marketplace sees %+v", newest)
	}
	w.Advance(7 * 24 * time.Hour)
	if newest, _, _ = tenant.NewestPurchases(10); len(newest) > 0 {
		t.Errorf("a week later: %+v", newest)
	}
}
