package traffic_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/bench/traffic"
)

func TestSameSeedSameMarket(t *testing.T) {
	spec := traffic.MarketSpec{Products: 500, Vendors: 10, Campaigns: 20, BidsPerCampaign: 25}
	first, second := traffic.NewMarket(spec, 7), traffic.NewMarket(spec, 7)
	if !reflect.DeepEqual(first, second) {
		t.Fatal("two markets of one seed differ")
	}
	if reflect.DeepEqual(first, traffic.NewMarket(spec, 8)) {
		t.Fatal("two seeds gave one market")
	}
}

func TestCampaignsBidOnceOnProductsOfTheirOwnVendor(t *testing.T) {
	m := traffic.NewMarket(traffic.MarketSpec{Products: 1_000, Vendors: 10, Campaigns: 20, BidsPerCampaign: 50}, 1)
	if len(m.Products) != 1_000 || len(m.Vendors) != 10 || len(m.Campaigns) != 20 {
		t.Fatalf("%d products, %d vendors, %d campaigns", len(m.Products), len(m.Vendors), len(m.Campaigns))
	}
	bidOn := map[int]int{}
	for _, c := range m.Campaigns {
		if len(c.Bids) != 50 {
			t.Fatalf("%s has %d bids", c.Name, len(c.Bids))
		}
		for _, b := range c.Bids {
			bidOn[b.Product]++
			if m.Products[b.Product].Vendor != c.Vendor {
				t.Fatalf("%s bids on a product of another vendor", c.Name)
			}
			if b.AmountMinor < 1 || c.BudgetMinor < 1 {
				t.Fatalf("%s bids %d with budget %d", c.Name, b.AmountMinor, c.BudgetMinor)
			}
		}
	}
	// 20 campaigns of 50 bids over 1,000 products: each product exactly once.
	if len(bidOn) != 1_000 {
		t.Fatalf("%d products are bid on, want each once", len(bidOn))
	}
}

func TestAuctionBodiesHoldDifferentProducts(t *testing.T) {
	products := make([]string, 120)
	for i := range products {
		products[i] = "p" + string(rune('a'+i/26)) + string(rune('a'+i%26))
	}
	gen := traffic.NewAuctions(products, 3, 1)
	for _, ids := range []int{1, 50, 120, 500} {
		var body struct {
			Auctions []struct {
				Type     string
				Slots    int
				Products struct{ IDs []string }
			}
		}
		if err := json.Unmarshal(gen.Append(nil, 3, ids, 40), &body); err != nil {
			t.Fatal(err)
		}
		if len(body.Auctions) != 3 {
			t.Fatalf("%d auctions", len(body.Auctions))
		}
		for _, a := range body.Auctions {
			different := map[string]bool{}
			for _, id := range a.Products.IDs {
				different[id] = true
			}
			if want := min(ids, len(products)); len(a.Products.IDs) != want || len(different) != want || a.Slots != 40 {
				t.Fatalf("%d ids, %d different, want %d", len(a.Products.IDs), len(different), want)
			}
		}
	}
}

func TestAuctionBodiesDependOnSeedAndStreamOnly(t *testing.T) {
	products := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	body := func(seed, stream uint64) []byte {
		return traffic.NewAuctions(products, seed, stream).Append(nil, 5, 4, 2)
	}
	if !bytes.Equal(body(1, 1), body(1, 1)) {
		t.Fatal("same seed and stream, different bodies")
	}
	if bytes.Equal(body(1, 1), body(1, 2)) || bytes.Equal(body(1, 1), body(2, 1)) {
		t.Fatal("another stream or seed gave the same body")
	}
}

func TestEventBodiesAreJSON(t *testing.T) {
	var e traffic.Events
	ev := traffic.Event{
		ID: []byte("e1"), User: []byte("u1"), ResolvedBidID: []byte("tok"),
		Occurred: traffic.AppendTime(nil, time.Date(2026, 1, 2, 3, 4, 5, 67e6, time.UTC)),
	}
	plain := ev
	plain.ResolvedBidID = nil
	for range 2 { // The second round reuses the memory of the first.
		e.Reset()
		e.Impression(&ev)
		e.Impression(&ev)
		e.Click(&ev)
		e.Purchase(&plain, "p1", 2, 1_205)
		e.Pageview(&plain, "home", "h")
		const want = `{"impressions":[` +
			`{"id":"e1","occurredAt":"2026-01-02T03:04:05.067Z","opaqueUserId":"u1","resolvedBidId":"tok"},` +
			`{"id":"e1","occurredAt":"2026-01-02T03:04:05.067Z","opaqueUserId":"u1","resolvedBidId":"tok"}],"clicks":[` +
			`{"id":"e1","occurredAt":"2026-01-02T03:04:05.067Z","opaqueUserId":"u1","resolvedBidId":"tok"}],"purchases":[` +
			`{"id":"e1","occurredAt":"2026-01-02T03:04:05.067Z","opaqueUserId":"u1",` +
			`"items":[{"productId":"p1","quantity":2,"unitPrice":12.05}]}],"pageviews":[` +
			`{"id":"e1","occurredAt":"2026-01-02T03:04:05.067Z","opaqueUserId":"u1","page":{"type":"home","pageId":"h"}}]}`
		if got := e.Body(); string(got) != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		if e.Len() != 5 {
			t.Fatalf("Len %d", e.Len())
		}
	}
}

// TestTheLogNormalHasItsMean compares the mean of seeded values with the mean of the distribution. The result is the same in
// every run, so the tolerance is only for the finite number of values.
func TestTheLogNormalHasItsMean(t *testing.T) {
	const draws = 200_000
	mean := func(draw func() float64) float64 {
		var sum float64
		for range draws {
			sum += draw()
		}
		return sum / draws
	}
	r := traffic.New(1, 1)
	within := func(what string, got, want, share float64) {
		t.Helper()
		if math.Abs(got-want) > want*share {
			t.Errorf("mean of %s is %g, want %g", what, got, want)
		}
	}
	within("lognormal", mean(func() float64 { return traffic.LogNormal(r, 0, 0.5) }), math.Exp(0.125), 0.01)
}
