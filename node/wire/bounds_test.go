package wire

import (
	"strings"
	"testing"

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
