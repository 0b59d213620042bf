package wire

import (
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/event"
)

// list returns a JSON array of n elements. The first of them is not read by a fast path.
func list(n int, first, element string) string {
	return "[" + first + strings.Repeat(","+element, n-1) + "]"
}

// TestArraysStopGrowing sends arrays far over their bounds: they must be refused without being stored.
func TestArraysStopGrowing(t *testing.T) {
	many := 20_000
	bid := `{"chargeType":"CPC","entity":{"type":"product","id":"p"},"bidAmount":1}`
	a := `{"type":"listings","slots":1,"products":{"ids":` + list(many, `"\u0070"`, `"p"`) + `,"qualityScores":` + list(many, "1", "1") + `},` +
		`"category":{"ids":` + list(many, `"c"`, `"c"`) + `,"disjunctions":` + list(many, list(many, `"d"`, `"d"`), `["d"]`) + `},` +
		`"geoTargeting":{"locations":` + list(many, `"l"`, `"l"`) + `},"filter":{"attributes":` + list(many, `"k:v"`, `"k:v"`) +
		`,"promotions":` + list(many, `"s"`, `"s"`) + `},"demandSources":` + list(many, `{"source":"s","bids":`+list(many, bid, bid)+`}`, `{}`) + `}`
	req := auction.Request{Body: []byte(`{"auctions":` + list(20, a, "{}") + `}`)}
	var f Fault
	ParseAuctions(&req, &f)
	got := req.Auctions[0]
	for name, length := range map[string][2]int{
		"auctions": {len(req.Auctions), auction.AuctionsMax}, "ids": {len(got.Products), auction.ProductsMax},
		"scores": {len(got.Quality), auction.ProductsMax}, "categories": {len(got.Category.IDs), auction.CategoryArrayMax * (auction.CategoryArrayMax + 1)},
		"disjunctions": {len(got.Category.Ends), auction.CategoryArrayMax}, "locations": {len(got.Locations), auction.LocationsMax},
		"attributes": {len(got.Filter.Attributes), auction.FilterAttributeMax}, "promotions": {len(got.Filter.Promotions), auction.FilterPromotionMax},
		"sources": {len(got.Sources), auction.ExternalBidsMax}, "bids": {len(got.External), auction.ExternalBidsMax},
	} {
		if length[0] > length[1] || length[0] == 0 {
			t.Errorf("%d %s were kept of a request that may have %d", length[0], name, length[1])
		}
	}

	batch := event.Batch{Body: []byte(`{"clicks":` + list(many, "{}", "{}") + `,"purchases":[{"items":` + list(many, "{}", "{}") + `}]}`)}
	ParseEvents(&batch, goldenNow, &f)
	if len(batch.Events) != event.PerArrayMax+1 || len(batch.Items) != event.ItemsMax {
		t.Errorf("%d events and %d items were kept", len(batch.Events), len(batch.Items))
	}
}

// TestPiecesCanBeSummed: however many pieces of an item a client reports as bought or returned, those of all items have a sum. Returns
// are carried out by such sums.
func TestPiecesCanBeSummed(t *testing.T) {
	for _, c := range []struct{ returnOf, quantity string }{{"", "99999999999999999999"}, {`"returnOf":"s",`, "-99999999999999999999"}} {
		item := `{"productId":"p","quantity":` + c.quantity + `}`
		batch := event.Batch{Body: []byte(`{"purchases":[{"id":"r","occurredAt":"2026-03-01T11:00:00Z","opaqueUserId":"u",` + c.returnOf +
			`"items":` + list(event.ItemsMax, item, item) + `}]}`)}
		var f Fault
		if code := ParseEvents(&batch, goldenNow, &f); code != apierr.OK || len(batch.Items) != event.ItemsMax {
			t.Fatalf("%s: %v, %d items", c.quantity, code, len(batch.Items))
		}
		sum := int64(0)
		for _, item := range batch.Items {
			if item.Quantity < 1 || sum+item.Quantity < sum {
				t.Fatalf("%s: %d pieces cannot be added to %d", c.quantity, item.Quantity, sum)
			}
			sum += item.Quantity
		}
	}
}
