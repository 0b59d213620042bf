package wire

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
)

// TestGoldenShowsEveryCode compares the codes that the golden files show with those that the interface gives for the
// bodies of auctions and events, the ones of CheckDemand and of the token aside.
func TestGoldenShowsEveryCode(t *testing.T) {
	shown := map[string]bool{}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^=> ([a-z_]+):`).FindAllStringSubmatch(string(text), -1) {
			shown[m[1]] = true
		}
	}
	raised := strings.Fields(`invalid_json empty_request bad_request missing_auctions too_many_auctions missing_slots too_few_slots
		missing_promotion_type invalid_promotion_type invalid_context invalid_placement_id missing_slot_id invalid_category
		invalid_opaque_user_id no_products no_products_or_category too_many_products missing_product_id product_info_mismatch
		invalid_quality_score non_positive_price invalid_geo_targeting too_many_locations invalid_device
		too_many_search_query_words experiment_variant_too_long invalid_demand_source invalid_external_bid too_many_external_bids
		invalid_external_demand_ad_type invalid_event_time invalid_event_type invalid_resolved_bid_id
		invalid_use_of_external_campaign_id no_purchase_items missing_purchased_at
		purchase_item_quantity_less_or_equal_than_zero`)
	for _, code := range raised {
		if !shown[code] {
			t.Errorf("no golden body is answered with %s", code)
		}
	}
	for code := range shown {
		if !slices.Contains(raised, code) {
			t.Errorf("%s is no code of these bodies", code)
		}
	}
}

func TestCheckDemand(t *testing.T) {
	f := func(policy market.ExternalDemand, source string, want apierr.Code, message string) {
		t.Helper()
		req := auction.Request{Body: []byte(`{"auctions":[{"type":"listings","slots":1,"category":"c"},{"type":"listings","slots":1,"category":"c",` +
			`"demandSources":[{"source":"good","bids":[]},{"source":"` + source + `","bids":[]}]}]}`)}
		var fault Fault
		if code := ParseAuctions(&req, &fault); code != apierr.OK {
			t.Fatal(code)
		}
		if code := CheckDemand(&req, &policy, &fault); code != want {
			t.Errorf("%+v, %s: %s, want %s", policy, source, code, want)
		} else if code != apierr.OK && (string(fault.AppendMessage(nil)) != message || fault.Code() != want) {
			t.Errorf("%s: %s", fault.Code(), fault.AppendMessage(nil))
		}
	}
	open := market.ExternalDemand{OwnValue: "gavel"}
	f(open, "any", apierr.OK, "")
	f(open, "gavel", apierr.InvalidDemandSource, `auctions[1].demandSources[1].source must be a source that the marketplace allows (got gavel)`)
	listed := market.ExternalDemand{OwnValue: "gavel", Sources: []string{"good", "better"}}
	f(listed, "better", apierr.OK, "")
	f(listed, "other", apierr.InvalidDemandSource, `auctions[1].demandSources[1].source must be a source that the marketplace allows (got other)`)
	f(market.ExternalDemand{Disabled: true}, "any", apierr.UnauthorizedExternalDemand,
		`auctions[1].demandSources is not allowed: the marketplace takes no external demand`)

	banners := auction.Request{Body: []byte(`{"auctions":[{"type":"banners","slots":1,"slotId":"s"}]}`)}
	var fault Fault
	if code := ParseAuctions(&banners, &fault); code != apierr.OK {
		t.Fatal(code)
	}
	if code := CheckDemand(&banners, &market.ExternalDemand{Disabled: true}, &fault); code != apierr.OK {
		t.Errorf("a request without external demand: %s", code)
	}
}
