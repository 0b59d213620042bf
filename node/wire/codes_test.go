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
	"github.com/gavel-ads/gavel/shard/model"
)

// TestGoldenShowsEveryCode compares the codes in the golden files with the codes that the interface lists for the bodies
// of auctions and events, except those of CheckMarketplace and of the token.
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
		purchase_item_quantity_less_or_equal_than_zero missing_context missing_placement invalid_travel_type
		invalid_travel_category invalid_travel_date_range invalid_date_format too_many_passengers invalid_traveler_type
		missing_variation_id missing_flight_travel_context`)
	for _, code := range raised {
		if !shown[code] {
			t.Errorf("no golden body is answered with %s", code)
		}
	}
	for code := range shown {
		if !slices.Contains(raised, code) {
			t.Errorf("%s is not a code of these bodies", code)
		}
	}
}

func TestCheckMarketplace(t *testing.T) {
	f := func(m model.Marketplace, auctions string, want apierr.Code, message string) {
		t.Helper()
		req := auction.Request{Body: []byte(`{"auctions":[{"type":"listings","slots":1,"category":"c"},` + auctions + `]}`)}
		var fault Fault
		if code := ParseAuctions(&req, &fault); code != apierr.OK {
			t.Fatal(code)
		}
		if code := CheckMarketplace(&req, &m, &fault); code != want {
			t.Errorf("%+v, %s: %s, want %s", m, auctions, code, want)
		} else if code != apierr.OK && (string(fault.AppendMessage(nil)) != message || fault.Code() != want) {
			t.Errorf("%s: %s", fault.Code(), fault.AppendMessage(nil))
		}
	}
	demand := func(source string) string {
		return `{"type":"listings","slots":1,"category":"c","demandSources":[{"source":"good","bids":[]},{"source":"` + source + `","bids":[]}]}`
	}
	at := func(location string) string {
		return `{"type":"listings","slots":1,"category":"c","geoTargeting":` + location + `}`
	}
	open := model.Marketplace{ExternalDemand: model.ExternalDemand{OwnValue: "gavel"}}
	f(open, demand("any"), apierr.OK, "")
	f(open, demand("gavel"), apierr.InvalidDemandSource,
		`auctions[1].demandSources[1].source must be a source that the marketplace allows (got gavel)`)
	listed := model.Marketplace{ExternalDemand: model.ExternalDemand{OwnValue: "gavel", Sources: []string{"good", "better"}}}
	f(listed, demand("better"), apierr.OK, "")
	f(listed, demand("other"), apierr.InvalidDemandSource,
		`auctions[1].demandSources[1].source must be a source that the marketplace allows (got other)`)
	closed := model.Marketplace{H3: true, ExternalDemand: model.ExternalDemand{Disabled: true}}
	const unauthorized = `auctions[1].demandSources is not allowed: the marketplace takes no external demand`
	f(closed, demand("any"), apierr.UnauthorizedExternalDemand, unauthorized)
	f(closed, `{"type":"banners","slots":1,"slotId":"s"}`, apierr.OK, "")

	cells := model.Marketplace{H3: true}
	f(cells, at(`{"locations":["8928308280fffff","891F1D48177FFFF"]}`), apierr.OK, "")
	f(cells, at(`"Berlin"`), apierr.InvalidLocationCell, `auctions[1].geoTargeting must be an H3 cell (got BERLIN)`)
	f(cells, at(`{"locations":["8928308280fffff","8928308280ffffe"]}`), apierr.InvalidLocationCell,
		`auctions[1].geoTargeting must be an H3 cell (got 8928308280FFFFE)`)
	f(open, at(`"Berlin"`), apierr.OK, "")
	f(closed, demand("any")+","+at(`"Berlin"`), apierr.UnauthorizedExternalDemand, unauthorized)
}
