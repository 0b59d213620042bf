package main_test

import (
	"fmt"
	"testing"
	"time"
)

// sold is what a report says about attributed sales.
type sold struct {
	Amount, Count, Quantity   int
	Direct, Halo, Click, View struct{ Amount, Count, Quantity int }
	Charged, AdSpent          int
	ROAS                      *float64
	// Of the report's purchases:
	purchaseAmount, purchaseCount int
	countByProduct                map[string]int
}

// awaitSold reads a report until it has a number of attributed items, for as long as attribution may take.
func (s *testClient) awaitSold(what string, count int) sold {
	s.Helper()
	const attributionMax = time.Minute
	day := func(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) }
	query := "?start_date=" + day(-1) + "&end_date=" + day(1) + "&purchase_count_by_product=true"
	for deadline := time.Now().Add(attributionMax); ; time.Sleep(100 * time.Millisecond) {
		var f struct {
			Attributed sold
			Purchases  struct {
				Amount, Count  int
				CountByProduct map[string]int
			}
		}
		s.decode(s.manage(200, "GET", "reporting-service/"+what+query, ""), &f)
		if f.Attributed.Count == count {
			f.Attributed.countByProduct = f.Purchases.CountByProduct
			f.Attributed.purchaseAmount, f.Attributed.purchaseCount = f.Purchases.Amount, f.Purchases.Count
			return f.Attributed
		}
		if time.Now().After(deadline) {
			s.Fatalf("%s: %+v, want %d attributed items", what, f, count)
		}
	}
}

// buy reports a purchase of one item, as clients do.
func (s *testClient) buy(id, user, product, vendor string, quantity int, price float64) {
	s.Helper()
	s.events(200, fmt.Sprintf(`{"purchases":[{"id":%q,"occurredAt":%q,"opaqueUserId":%q,"items":[{"productId":%q,"vendorId":%q,"quantity":%d,"unitPrice":%v}]}]}`,
		id, time.Now().UTC().Format(time.RFC3339Nano), user, product, vendor, quantity, price))
}

// A purchase is credited to the last click of its user on the product or, if there is none, on its vendor. A campaign that
// is paid by purchases is charged for the first one that is credited to an ad.
func TestConformanceAttribution(t *testing.T) {
	s := startNode(t)
	s.vendor("shoes", 100)
	s.vendor("hats", 100)
	s.product("shoe", "shoes", "", "")
	s.product("boot", "shoes", "", "")
	s.product("hat", "hats", "", "")
	perPurchase := s.campaign("shoes", `"chargeType":"CPA","budget":{"amount":700,"type":"total"},`+first, bid("shoe", 500))
	perClick := s.campaign("hats", rich+","+first, bid("hat", 50))

	s.clicks(s.token("shoe"), s.token("hat")) // By user u.
	s.buy("order-1", "u", "shoe", "shoes", 2, 10)
	s.buy("order-2", "u", "boot", "shoes", 1, 30)   // Halo: the vendor of the shoe.
	s.buy("order-3", "u", "hat", "hats", 1, 5)      // Its campaign is paid by clicks.
	s.buy("order-4", "someone", "shoe", "", 1, 100) // Nobody who clicked.
	s.buy("order-1", "u", "shoe", "shoes", 2, 10)   // A repeat.

	got := s.awaitSold("campaigns/"+perPurchase, 2)
	switch {
	case got.Amount != 5_000 || got.Quantity != 3 || got.Direct.Amount != 2_000 || got.Halo.Amount != 3_000 || got.Click.Count != 2 || got.View.Count != 0:
		t.Errorf("attributed: %+v", got)
	case got.Charged != 1 || got.AdSpent != 500 || got.ROAS == nil || *got.ROAS != 10:
		t.Errorf("two purchases after one click cost %+v, want the price of the click once", got)
	case got.purchaseCount != 2 || got.purchaseAmount != 5_000 || got.countByProduct["shoe"] != 1 || got.countByProduct["boot"] != 1:
		t.Errorf("purchases of the campaign: %+v", got)
	}
	if got := s.awaitSold("campaigns/"+perClick, 1); got.Charged != 0 || got.Amount != 500 || got.ROAS == nil || *got.ROAS != 10 {
		t.Errorf("a campaign that is paid by clicks: %+v", got)
	}
	for what, count := range map[string]int{"vendors/shoes": 2, "products/shoe": 2, "products/hat": 1, "marketplace": 3} {
		s.awaitSold(what, count)
	}
	if all := s.awaitSold("marketplace", 3); all.purchaseCount != 4 {
		t.Errorf("the marketplace has %d purchases, want all four", all.purchaseCount)
	}

	// Another ad of the campaign is charged as far as its budget goes, after a restart too.
	s.clicks(s.token("shoe"))
	s.buy("order-5", "u", "shoe", "shoes", 1, 10)
	for _, step := range []func() error{s.node.Kill, s.node.Start, func() error { return s.node.WaitReady(t.Context()) }} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.awaitSold("campaigns/"+perPurchase, 3); got.Charged != 2 || got.AdSpent != 700 {
		t.Errorf("after a second ad: %+v, want 700 of the budget of 700", got)
	}
}
