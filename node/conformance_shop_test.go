package main_test

import (
	"encoding/json"
	"fmt"
	"time"
)

// What the conformance tests need of a market: it is made through the management API, like everything here.

// vendor makes a vendor with money on its wallet, in major units.
func (s *stranger) vendor(id string, major float64) {
	s.Helper()
	s.manage(200, "PUT", "catalog-search-service/catalogs/vendors", fmt.Sprintf(`{"vendors":[{"id":%q,"name":"Vendor"}]}`, id))
	if major > 0 {
		s.manage(200, "POST", "billing-service/vendors/"+id+"/balance", fmt.Sprintf(`{"balance":%v}`, major))
	}
}

// product makes or replaces a product; more are further members, each with a comma in front.
func (s *stranger) product(id, vendor, categories, more string) {
	s.Helper()
	s.manage(200, "PUT", "catalog-search-service/catalogs/products",
		fmt.Sprintf(`{"products":[{"id":%q,"name":"Product","vendors":[%q],"categories":[%s]%s}]}`, id, vendor, categories, more))
}

// campaign makes a campaign and returns its id; fields are members beside name, type and bids.
func (s *stranger) campaign(vendor, fields string, bids string) string {
	s.Helper()
	if fields != "" {
		fields = "," + fields
	}
	r := s.manage(201, "POST", "campaign-service/campaigns?vendor_id="+vendor,
		fmt.Sprintf(`{"name":"Campaign","campaignType":"manual"%s,"bids":[%s]}`, fields, bids))
	id, _ := r.member("campaignId").(string)
	return id
}

// bid is a listing bid on a product with the triggers that it has by default.
func bid(product string, amount int) string {
	return fmt.Sprintf(`{"target":{"type":"product","id":%q},"amount":%d}`, product, amount)
}

// shop is a vendor with money, a product p1 and a campaign on it.
func (s *stranger) shop() (campaign string) {
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

// ids are the ids of the winners, best first.
func (r result) ids() []string {
	list := []string{}
	for _, w := range r.Winners {
		list = append(list, w.ID)
	}
	return list
}

// auctions runs a request with these auctions on the auction listener.
func (s *stranger) auctions(elements string) []result {
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
func (s *stranger) win(slots int, members string) result {
	s.Helper()
	return s.auctions(fmt.Sprintf(`{"type":"listings","slots":%d,%s}`, slots, members))[0]
}

// token is the resolvedBidId of the winner of an auction on a product.
func (s *stranger) token(product string) string {
	s.Helper()
	r := s.win(1, fmt.Sprintf(`"products":{"ids":[%q]}`, product))
	if len(r.Winners) != 1 {
		s.Fatalf("nobody won on %s", product)
	}
	return r.Winners[0].ResolvedBidID
}

// events reports events on the auction listener.
func (s *stranger) events(want int, body string) reply {
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

// figures are what a campaign's report says.
type figures struct {
	Impressions, Clicks struct {
		Total, Charged, AdSpent int
		AdSpentDecimal          string
	}
	Purchases struct{ Amount, Count, Quantity int }
}

// report is the report of yesterday to tomorrow of what ("campaigns/ID", "products/ID", "marketplace").
func (s *stranger) report(what string) (f figures) {
	s.Helper()
	day := func(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) }
	s.decode(s.manage(200, "GET", "reporting-service/"+what+"?start_date="+day(-1)+"&end_date="+day(1), ""), &f)
	return f
}
