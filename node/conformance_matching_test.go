package main_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Which bids an auction considers, and in which order they win.
func TestConformanceMatching(t *testing.T) {
	s := startNode(t)
	s.vendor("v1", 1000)
	s.manage(200, "PUT", "catalog-search-service/catalogs/categories",
		`{"categories":[{"id":"all","name":"A"},{"id":"shoes","name":"S","parentId":"all"},{"id":"run","name":"R","parentId":"shoes"},{"id":"hats","name":"H","parentId":"all"}]}`)
	s.product("run1", "v1", `"run"`, `,"metadata":{"color":"red","sizes":["S","M"],"promotions":["sale","new"],"year":2024,"url":"a:b"}`)
	s.product("shoe1", "v1", `"shoes"`, `,"metadata":{"color":"blue","promotions":"sale"}`)
	s.product("both1", "v1", `"run","hats"`, "")
	s.product("hat1", "v1", `"hats"`, "")
	s.product("lost1", "v1", "", "")
	s.product("off1", "v1", `"shoes"`, `,"active":false`)
	s.product("none1", "v1", `"shoes"`, "")
	s.product("cat1", "v1", `"hats"`, "")
	s.product("prod1", "v1", `"run"`, "")
	s.product("berlin1", "v1", `"run"`, "")
	s.product("koeln1", "v1", `"run"`, "")
	with := func(bid, more string) string { return strings.TrimSuffix(bid, "}") + "," + more + "}" }
	s.campaign("v1", "", strings.Join([]string{
		bid("run1", 90), bid("shoe1", 80), bid("both1", 70), bid("hat1", 60), bid("lost1", 50), bid("off1", 40),
		with(bid("cat1", 30), `"triggers":[{"type":"category","value":{"categoryId":"shoes"}}]`),
		with(bid("prod1", 20), `"trigger":{"type":"product","value":{"productId":"x9"}}`),
		with(bid("berlin1", 10), `"location":"Berlin"`),
		with(bid("koeln1", 9), `"location":"KÖLN"`),
	}, ","))

	text, err := os.ReadFile("testdata/conformance/matching.txt")
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(text)) {
		want, members, ok := strings.Cut(strings.TrimSpace(row), " <- ")
		if !ok || strings.HasPrefix(row, "#") {
			continue
		}
		got := strings.Join(s.win(40, members).ids(), " ")
		if got == "" {
			got = "-"
		}
		if got != want {
			t.Errorf("%s: %s won, want %s", members, got, want)
		}
	}
}

// The members of a result: its type, no error, ranks without gaps, a token for each winner and none twice.
func TestConformanceResults(t *testing.T) {
	s := startNode(t)
	campaign := s.shop()
	s.product("p2", "v1", `"c1"`, "")
	s.campaign("v1", "", bid("p2", 40))
	s.campaign("v1", "", bid("p2", 45)) // At most one winner per product.
	const listings = `{"type":"listings","slots":2,"products":{"ids":["p2","p1","p0"]}}`
	results := s.auctions(listings + `,{"type":"banners","slots":1,"slotId":"home"},` + listings + `,{"type":"listings","slots":1,"products":{"ids":["p0"]}},` +
		`{"type":"listings","slots":1,"products":{"ids":["p1","p2"]}}`)
	if len(results) != 5 {
		t.Fatalf("%d results", len(results))
	}
	seen := map[string]bool{}
	for i, want := range []string{"p1 p2", "", "p1 p2", "", "p1"} {
		r := results[i]
		if got := strings.Join(r.ids(), " "); got != want {
			t.Errorf("result %d: %s won, want %s", i, got, want)
		}
		if wantType := []string{"listings", "banners", "listings", "listings", "listings"}[i]; r.ResultType != wantType {
			t.Errorf("result %d is of type %s, want %s", i, r.ResultType, wantType)
		}
		if r.Error == nil || *r.Error || r.Winners == nil {
			t.Errorf("result %d: %+v", i, r)
		}
		for n, w := range r.Winners {
			token := w.ResolvedBidID
			if w.Rank != n+1 || w.Type != "product" || token == "" || len(token) > 128 || seen[token] ||
				strings.ContainsFunc(token, func(c rune) bool {
					return !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '_')
				}) {
				t.Errorf("result %d winner %d: %+v", i, n, w)
			}
			seen[token] = true
			if w.CampaignID == nil || w.ID == "p1" && *w.CampaignID != campaign || w.DemandSource != nil || w.Metadata != nil {
				t.Errorf("result %d winner %d: %+v", i, n, w)
			}
		}
	}
	if body := s.do("POST", s.node.AuctionURL+"/v2/auctions", s.node.Keys.AuctionKey, `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p0"]}}]}`).body; string(body) != `{"results":[{"resultType":"listings","winners":[],"error":false}]}` {
		t.Errorf("an auction nobody wins is answered with %s", body)
	}
}

// The number of winners is limited by slots, products and the interface.
func TestConformanceSlots(t *testing.T) {
	s := startNode(t)
	s.vendor("v1", 100)
	var products, bids, ids []string
	for i := range 45 {
		id := fmt.Sprintf("p%02d", i)
		ids = append(ids, `"`+id+`"`)
		products = append(products, fmt.Sprintf(`{"id":%q,"name":"P","vendors":["v1"],"categories":[]}`, id))
		bids = append(bids, bid(id, 100-i))
	}
	s.manage(200, "PUT", "catalog-search-service/catalogs/products", `{"products":[`+strings.Join(products, ",")+`]}`)
	s.campaign("v1", "", strings.Join(bids, ","))
	for slots, want := range map[string]int{"1": 1, "39": 39, "40": 40, "41": 40, "1000": 40, "99999999999999999999": 40} {
		r := s.auctions(`{"type":"listings","slots":` + slots + `,"products":{"ids":[` + strings.Join(ids, ",") + `]}}`)[0]
		if len(r.Winners) != want {
			t.Errorf("%s slots have %d winners, want %d", slots, len(r.Winners), want)
		}
		for i, w := range r.Winners {
			if w.Rank != i+1 || w.ID != fmt.Sprintf("p%02d", i) {
				t.Errorf("%s slots, winner %d is %+v", slots, i, w)
			}
		}
	}
}

// Among bids of equal worth the winner is chosen at random.
func TestConformanceTies(t *testing.T) {
	s := startNode(t)
	s.shop()
	s.product("p2", "v1", `"c1"`, "")
	s.campaign("v1", "", bid("p2", 50))
	won := map[string]int{}
	for range 60 {
		won[s.win(1, `"products":{"ids":["p1","p2"]}`).ids()[0]]++
	}
	if won["p1"] < 5 || won["p2"] < 5 { // Happens by chance once in 10^10 runs.
		t.Errorf("of 60 ties p1 won %d and p2 %d", won["p1"], won["p2"])
	}
}

// External bids compete with the marketplace's own, are returned as they were sent, and can be distinguished.
func TestConformanceExternalDemand(t *testing.T) {
	s := startNode(t)
	s.shop() // p1 bids 0.50.
	s.product("p2", "v1", "", "")
	s.product("off", "v1", "", `,"active":false`)
	external := func(product, amount, metadata string) string {
		return `{"chargeType":"CPC","entity":{"type":"product","id":"` + product + `"},"bidAmount":` + amount + metadata + `}`
	}
	demand := func(bids ...string) string {
		return `"products":{"ids":["p1","p2","off"],"qualityScores":[1,0.5,1]},"demandSources":[{"source":"dsp-1","bids":[` + strings.Join(bids, ",") + `]}]`
	}
	for name, row := range map[string]struct{ members, want string }{
		"lower":                {demand(external("p2", "0.9", "")), "p1 p2"},
		"higher":               {demand(external("p2", "1.1", "")), "p2 p1"},
		"on an own product":    {demand(external("p1", "0.6", "")), "p1"},
		"not among the ids":    {demand(external("p3", "9", "")), "p1"},
		"on an inactive one":   {demand(external("off", "9", "")), "p1"},
		"no bids":              {demand(), "p1"},
		"several on a product": {demand(external("p2", "0.2", ""), external("p2", "3", ""), external("p2", "0.1", "")), "p2 p1"},
	} {
		r := s.win(3, row.members)
		if got := strings.Join(r.ids(), " "); got != row.want || r.ResultType != "external_demand_listings" {
			t.Errorf("%s: %s won in %s, want %s", name, got, r.ResultType, row.want)
		}
	}
	if r := s.win(1, `"products":{"ids":["p1"]},"demandSources":[]`); r.ResultType != "listings" || r.Winners[0].DemandSource != nil {
		t.Errorf("no demand source: %+v", r)
	}

	const metadata = `{"clickUrl":"https://x.example/?a=1&b=<é>","n":[1.50,{"z":null,"a":"é\/"}]}`
	r := s.win(3, demand(external("p2", "2", `,"metadata":`+metadata)))
	if len(r.Winners) != 2 {
		t.Fatalf("%+v", r)
	}
	if w := r.Winners[0]; w.ID != "p2" || w.CampaignID != nil || w.DemandSource == nil || *w.DemandSource != "dsp-1" || string(w.Metadata) != metadata {
		t.Errorf("the external winner is %+v with metadata %s", w, w.Metadata)
	}
	if w := r.Winners[1]; w.ID != "p1" || w.CampaignID == nil || w.DemandSource == nil || *w.DemandSource != "gavel" || w.Metadata != nil {
		t.Errorf("the own winner is %+v", w)
	}
	before := s.report("campaigns/" + *r.Winners[1].CampaignID)
	s.events(200, `{"clicks":[`+touch("x1", r.Winners[0].ResolvedBidID)+`],"impressions":[`+touch("x2", r.Winners[0].ResolvedBidID)+`]}`)
	if after := s.report("campaigns/" + *r.Winners[1].CampaignID); after != before {
		t.Errorf("events on an external winner changed a campaign's report from %+v to %+v", before, after)
	}
}

// The settings of external demand: which sources are accepted, and how own winners are named.
func TestConformanceExternalDemandSettings(t *testing.T) {
	s := startNode(t)
	s.shop()
	demand := func(source string) string {
		return `"products":{"ids":["p1"]},"demandSources":[{"source":"` + source + `","bids":[]}]`
	}
	s.manage(200, "PATCH", "marketplace-service/settings", `{"externalDemand":{"ownValue":"topsort","sources":["dsp-1"]}}`)
	r := s.win(1, demand("dsp-1"))
	if len(r.Winners) != 1 || r.Winners[0].DemandSource == nil || *r.Winners[0].DemandSource != "topsort" || r.Winners[0].CampaignID == nil {
		t.Errorf("the own winner is %+v", r.Winners)
	}
	for _, source := range []string{"dsp-2", "topsort"} {
		for _, answer := range s.v2("/v2/auctions", `{"auctions":[{"type":"listings","slots":1,`+demand(source)+`}]}`) {
			if answer.status != 400 || answer.errCode() != "invalid_demand_source" {
				t.Errorf("%s: %d %s", source, answer.status, answer.body)
			}
		}
	}
	s.manage(200, "PATCH", "marketplace-service/settings", `{"externalDemand":{"enabled":false}}`)
	for _, source := range []string{"dsp-1", "A WRONG SOURCE"} {
		for _, answer := range s.v2("/v2/auctions", `{"auctions":[{"type":"listings","slots":1,`+demand(source)+`}]}`) {
			if answer.status != 400 || answer.errCode() != "unauthorized_external_demand" {
				t.Errorf("%s, switched off: %d %s", source, answer.status, answer.body)
			}
		}
	}
	if r := s.win(1, `"products":{"ids":["p1"]}`); r.list() != "p1" || r.Winners[0].DemandSource != nil {
		t.Errorf("without demand sources: %+v", r)
	}
}
