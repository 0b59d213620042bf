package main_test

import (
	"encoding/json"
	"fmt"
	"time"
)

// This file creates what the conformance tests need of a market, through the management API.

// vendor creates a vendor with money in its wallet, in major units.
func (s *testClient) vendor(id string, major float64) {
	s.Helper()
	s.manage(200, "PUT", "catalog-search-service/catalogs/vendors", fmt.Sprintf(`{"vendors":[{"id":%q,"name":"Vendor"}]}`, id))
	if major > 0 {
		s.manage(200, "POST", "billing-service/vendors/"+id+"/balance", fmt.Sprintf(`{"balance":%v}`, major))
	}
}

// product creates or replaces a product; more are additional members, each after a comma.
func (s *testClient) product(id, vendor, categories, more string) {
	s.Helper()
	s.manage(200, "PUT", "catalog-search-service/catalogs/products",
		fmt.Sprintf(`{"products":[{"id":%q,"name":"Product","vendors":[%q],"categories":[%s]%s}]}`, id, vendor, categories, more))
}

// campaign creates a campaign and returns its id; fields are members beside name, type and bids.
func (s *testClient) campaign(vendor, fields string, bids string) string {
	s.Helper()
	if fields != "" {
		fields = "," + fields
	}
	r := s.manage(201, "POST", "campaign-service/campaigns?vendor_id="+vendor,
		fmt.Sprintf(`{"name":"Campaign","campaignType":"manual"%s,"bids":[%s]}`, fields, bids))
	id, _ := r.member("campaignId").(string)
	return id
}

// bid is a listing bid on a product with the default triggers.
func bid(product string, amount int) string {
	return fmt.Sprintf(`{"target":{"type":"product","id":%q},"amount":%d}`, product, amount)
}

// shop creates a vendor with money, a product p1 and a campaign on it.
func (s *testClient) shop() (campaign string) {
	s.Helper()
	s.vendor("v1", 1000)
	s.product("p1", "v1", `"c1"`, `,"price":12.5`)
	return s.campaign("v1", `"budget":{"amount":100000,"type":"daily"}`, bid("p1", 50))
}

// result is one result of an auction request.
type result struct {
	ResultType string   `json:"resultType"`
	Winners    []winner `json:"winners"`
	Error      *bool    `json:"error"`
}

type winner struct {
	Rank          int             `json:"rank"`
	Type          string          `json:"type"`
	ID            string          `json:"id"`
	ResolvedBidID string          `json:"resolvedBidId"`
	CampaignID    *string         `json:"campaignId"`
	DemandSource  *string         `json:"demandSource"`
	Metadata      json.RawMessage `json:"metadata"`
}

// ids returns the ids of the winners, best first.
func (r result) ids() []string {
	list := []string{}
	for _, w := range r.Winners {
		list = append(list, w.ID)
	}
	return list
}

// auctions runs a request with these auctions on the auction listener.
func (s *testClient) auctions(elements string) []result {
	s.Helper()
	r := s.do("POST", s.node.AuctionURL+"/v2/auctions", s.node.Keys.AuctionKey, `{"auctions":[`+elements+`]}`)
	var answer struct {
		Results []result `json:"results"`
	}
	if s.decode(r, &answer); r.status != 201 || len(answer.Results) == 0 {
		s.Fatalf("%s: %d %s", elements, r.status, r.body)
	}
	return answer.Results
}

// win runs one listings auction with the given members and returns its result.
func (s *testClient) win(slots int, members string) result {
	s.Helper()
	return s.auctions(fmt.Sprintf(`{"type":"listings","slots":%d,%s}`, slots, members))[0]
}

// token returns the resolvedBidId of the winner of an auction on a product.
func (s *testClient) token(product string) string {
	s.Helper()
	r := s.win(1, fmt.Sprintf(`"products":{"ids":[%q]}`, product))
	if len(r.Winners) != 1 {
		s.Fatalf("nobody won on %s", product)
	}
	return r.Winners[0].ResolvedBidID
}

// events reports events on the auction listener.
func (s *testClient) events(want int, body string) reply {
	s.Helper()
	r := s.do("POST", s.node.AuctionURL+"/v2/events", s.node.Keys.AuctionKey, body)
	if r.status != want {
		s.Fatalf("%s: %d %s", body, r.status, r.body)
	}
	return r
}

// touch is an impression or a click on a token.
func touch(id, token string) string {
	return fmt.Sprintf(`{"id":%q,"occurredAt":%q,"opaqueUserId":"u","resolvedBidId":%q}`, id, time.Now().UTC().Format(time.RFC3339Nano), token)
}

// figures are the numbers of a campaign's report.
type figures struct {
	Impressions, Clicks struct {
		Total, Charged, AdSpent int
		AdSpentDecimal          string
	}
	Purchases struct{ Amount, Count, Quantity int }
}

// report returns the report from yesterday to tomorrow of what ("campaigns/ID", "products/ID", "marketplace").
func (s *testClient) report(what string) (f figures) {
	s.Helper()
	day := func(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) }
	s.decode(s.manage(200, "GET", "reporting-service/"+what+"?start_date="+day(-1)+"&end_date="+day(1), ""), &f)
	return f
}

// made creates a resource by POST and returns the member of its answer that is its id.
func (s *testClient) made(status int, path, body, member string) string {
	s.Helper()
	id, _ := s.manage(status, "POST", path, body).member(member).(string)
	if id == "" {
		s.Fatalf("POST %s answered without %s", path, member)
	}
	return id
}

// slot creates a banner slot of the given size on both devices.
func (s *testClient) slot(id string, width, height int) {
	s.Helper()
	size := fmt.Sprintf(`{"width":%d,"height":%d}`, width, height)
	s.manage(200, "POST", "media-service/slots",
		fmt.Sprintf(`{"slotId":%q,"position":"landing","dimensions":{"desktop":%s,"mobile":%s}}`, id, size, size))
}

// template creates a JSON template of a format ("banner", "sponsored_brand") that accepts any object with a text
// headline, and returns its id.
func (s *testClient) template(name, format string) string {
	s.Helper()
	return s.made(201, "campaign-service/json-templates", fmt.Sprintf(
		`{"name":%q,"description":"Any text","adFormat":%q,"jsonSchema":{"type":"object","properties":{"headline":{"type":"string"}}}}`, name, format), "id")
}

// placement creates a placement of sponsored brands with a template of its own, whose id it returns.
func (s *testClient) placement(externalID string) (template string) {
	s.Helper()
	template = s.template(externalID, "sponsored_brand")
	s.manage(201, "POST", "placement-service/placements",
		fmt.Sprintf(`{"externalPlacementId":%q,"name":"Placement","jsonTemplateId":%q,"products":{"min":0}}`, externalID, template))
	return template
}

// bannerBid is a bid in a slot with one picture; more are further members of the bid, each with a comma in front.
func bannerBid(slot, targetType, target string, amount int, more string) string {
	return fmt.Sprintf(`{"target":{"type":%q,"id":%q},"amount":%d,"formatProperties":{"adFormat":"banner","slotId":%q,"bannerAssets":[{"url":"https://img.example/%s.png"}]}%s}`,
		targetType, target, amount, slot, slot, more)
}

// filledBannerBid is a bid in a slot with a filled template.
func filledBannerBid(slot, targetType, target string, amount int, template, content string) string {
	return fmt.Sprintf(`{"target":{"type":%q,"id":%q},"amount":%d,"formatProperties":{"adFormat":"banner","slotId":%q,"bannerAssets":[{"url":"https://img.example/%s.json","jsonTemplateId":%q,"content":%s}]}}`,
		targetType, target, amount, slot, slot, template, content)
}

// brandBid is a bid of a sponsored brand in a placement; products are JSON strings with commas between them.
func brandBid(placement, template, targetType, target string, amount int, content, products, more string) string {
	return fmt.Sprintf(`{"target":{"type":%q,"id":%q},"amount":%d,"formatProperties":{"adFormat":"sponsored_brand","slotId":%q,"jsonTemplateId":%q,"title":"Title","content":%s,"productIds":[%s]}%s}`,
		targetType, target, amount, placement, template, content, products, more)
}

// keywords are triggers for bids, as a further member: each of them is "matchType words".
func keywords(matchType string, words ...string) string {
	text, err := json.Marshal(words)
	if err != nil {
		panic("words are texts: " + err.Error())
	}
	return fmt.Sprintf(`,"triggers":[{"type":"keyword","value":{"words":%s,"matchType":%q}}]`, text, matchType)
}

// travel creates a hotel or flight ("hotels", "flights") of a site.
func (s *testClient) travel(id, vendor, kind, site string) {
	s.Helper()
	s.product(id, vendor, `"c1"`, fmt.Sprintf(`,"metadata":{"travelType":%q,"site":%q}`, kind, site))
}

// adShop creates a shop with every format: vendor v1 with the listing p1, a banner in the slot s1 that leads to p1, a
// sponsored brand b1 in the placement b-row, a keyword on p2 ("running shoes", phrase), a hotel h1 and a flight f1 of
// the site "site".
func (s *testClient) adShop() {
	s.Helper()
	s.shop()
	s.product("p2", "v1", `"c1"`, `,"brand":{"id":"b1","name":"Brand"}`)
	s.travel("h1", "v1", "hotels", "site")
	s.travel("f1", "v1", "flights", "site")
	s.slot("s1", 1200, 300)
	template := s.placement("b-row")
	s.campaign("v1", `"adFormat":"banner"`, bannerBid("s1", "product", "p1", 900, ""))
	s.campaign("v1", `"adFormat":"sponsored_brand"`, brandBid("b-row", template, "brand", "b1", 300, `{"headline":"All of it"}`, `"p1","p2"`, ""))
	s.campaign("v1", "", fmt.Sprintf(`{"target":{"type":"product","id":"p2"},"amount":60%s}`, keywords("phrase", "running", "shoes")))
	s.campaign("v1", "", bid("h1", 70)+","+bid("f1", 80))
}
