package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// clicks reports clicks on tokens, each with a new id.
func (s *testClient) clicks(tokens ...string) {
	s.Helper()
	var list []string
	for _, token := range tokens {
		list = append(list, touch(fmt.Sprintf("click-%d", unique.Add(1)), token))
	}
	s.events(200, `{"clicks":[`+strings.Join(list, ",")+`]}`)
}

// checkCharges checks how many clicks or impressions of a campaign were counted and charged, and the amount in minor
// units.
func (s *testClient) checkCharges(campaign, kind string, total, charged int, spent string) {
	s.Helper()
	f := s.report("campaigns/" + campaign)
	got := f.Clicks
	if kind == "impressions" {
		got = f.Impressions
	}
	if got.Total != total || got.Charged != charged || got.AdSpentDecimal != spent {
		s.Errorf("%d %s of which %d charged %s, want %d, %d and %s", got.Total, kind, got.Charged, got.AdSpentDecimal, total, charged, spent)
	}
}

const (
	rich  = `"budget":{"amount":100000,"type":"daily"}`
	first = `"priceRule":"first"`
)

// CPC charges the first click of a token, once, whatever else is reported and however often.
func TestConformanceClickCharge(t *testing.T) {
	s := startNode(t)
	s.vendor("v1", 100)
	s.product("p1", "v1", "", "")
	campaign := s.campaign("v1", rich+","+first, bid("p1", 50))
	token := s.token("p1")
	s.events(200, `{"impressions":[`+touch("i", token)+`]}`)
	s.checkCharges(campaign, "impressions", 1, 0, "0")
	s.checkCharges(campaign, "clicks", 0, 0, "0")
	one := touch("c", token)
	for range 3 {
		s.events(200, `{"clicks":[`+one+`,`+one+`]}`)
	}
	s.checkCharges(campaign, "clicks", 1, 1, "50")
	s.clicks(token, token)
	s.checkCharges(campaign, "clicks", 3, 1, "50")
	s.do("POST", s.node.ManageURL+"/v2/events", s.node.Keys.AuctionKey, `{"clicks":[`+touch("c2", token)+`,`+one+`]}`)
	s.checkCharges(campaign, "clicks", 4, 1, "50")
	s.clicks(s.token("p1"))
	s.checkCharges(campaign, "clicks", 5, 2, "100")
}

// CPM charges the first impression of a token, with a thousandth of the price.
func TestConformanceImpressionCharge(t *testing.T) {
	s := startNode(t)
	s.vendor("v1", 100)
	s.product("p1", "v1", "", "")
	campaign := s.campaign("v1", `"chargeType":"CPM",`+rich+","+first, bid("p1", 1234))
	token := s.token("p1")
	s.clicks(token)
	s.checkCharges(campaign, "clicks", 1, 0, "0")
	s.events(200, `{"impressions":[`+touch("i1", token)+`,`+touch("i2", token)+`,`+touch("i1", token)+`]}`)
	s.events(200, `{"impressions":[`+touch("i3", token)+`]}`)
	s.checkCharges(campaign, "impressions", 3, 1, "1.234")
}

// The second price is the lowest one that keeps the rank: the next bid's score divided by the winner's quality, plus a
// micro-unit. Without a next bid it is the minimum price. The first price is the bid.
func TestConformancePrices(t *testing.T) {
	s := startNode(t)
	for _, v := range []string{"a", "b", "c"} {
		s.vendor(v, 100)
		s.product("p"+v, v, "", "")
	}
	campaigns := map[string]string{
		"pa": s.campaign("a", "", bid("pa", 50)),
		"pb": s.campaign("b", "", bid("pb", 30)),
		"pc": s.campaign("c", first, bid("pc", 20)),
	}
	spent := map[string]string{}
	for _, w := range s.win(3, `"products":{"ids":["pa","pb","pc"]}`).Winners {
		s.clicks(w.ResolvedBidID)
		spent[w.ID] = s.report("campaigns/" + campaigns[w.ID]).Clicks.AdSpentDecimal
	}
	for id, want := range map[string]string{"pa": "30.0001", "pb": "20.0001", "pc": "20"} {
		if spent[id] != want {
			t.Errorf("%s paid %s, want %s", id, spent[id], want)
		}
	}
	r := s.win(1, `"products":{"ids":["pa","pb"],"qualityScores":[0.5,1]}`) // 25 against 30.
	s.clicks(r.Winners[0].ResolvedBidID)
	s.checkCharges(campaigns["pb"], "clicks", 2, 2, "45.0002")
	s.clicks(s.token("pa"))
	s.checkCharges(campaigns["pa"], "clicks", 2, 2, "31.0001")
}

// A charge is limited to what is left of budget and wallet; the event counts all the same.
func TestConformanceClipping(t *testing.T) {
	s := startNode(t)
	for name, row := range map[string]struct {
		wallet float64
		budget int
	}{"budget": {100, 120}, "wallet": {1.2, 10_000}} {
		t.Run(name, func(t *testing.T) {
			s := s.inSubtest(t)
			s.vendor(name, row.wallet)
			s.product(name, name, "", "")
			campaign := s.campaign(name, fmt.Sprintf(`"budget":{"amount":%d,"type":"total"},%s`, row.budget, first), bid(name, 50))
			var tokens []string
			for range 4 {
				tokens = append(tokens, s.token(name))
			}
			for i, spent := range []string{"50", "100", "120", "120"} {
				s.clicks(tokens[i])
				s.checkCharges(campaign, "clicks", i+1, min(i+1, 3), spent)
			}
			if r := s.win(1, `"products":{"ids":["`+name+`"]}`); len(r.Winners) > 0 {
				t.Error("a campaign without money won")
			}
			s.clicks(tokens[3]) // Its decision has been made, also when there is money again.
			s.vendor(name, 100)
			s.manage(200, "PATCH", "campaign-service/campaigns/"+campaign, `{"budget":{"amount":100000}}`)
			s.clicks(tokens[3])
			s.checkCharges(campaign, "clicks", 6, 3, "120")
			s.clicks(s.token(name))
			s.checkCharges(campaign, "clicks", 7, 4, "170")
		})
	}
}

// A campaign that may not serve does not win from the next auction on. What it won before is charged after a pause, but
// not after a deletion.
func TestConformanceEligibility(t *testing.T) {
	s := startNode(t)
	s.vendor("v1", 100)
	s.vendor("poor", 0)
	s.product("p1", "v1", "", "")
	s.product("p2", "poor", "", "")
	wins := func(product string) bool { return len(s.win(1, `"products":{"ids":["`+product+`"]}`).Winners) > 0 }
	day := func(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.RFC3339) }
	for name, fields := range map[string]string{
		"paused": `"isActive":false`, "pending": `"status":"pending"`, "rejected": `"status":"rejected"`,
		"not begun": `"startDate":"` + day(1) + `"`, "over": `"startDate":"` + day(-3) + `","endDate":"` + day(-1) + `"`,
	} {
		id := s.campaign("v1", fields, bid("p1", 50))
		if wins("p1") {
			t.Errorf("a campaign that is %s won", name)
		}
		s.manage(204, "DELETE", "campaign-service/campaigns/"+id, "")
	}
	s.campaign("poor", rich, bid("p2", 50))
	if wins("p2") {
		t.Error("a vendor without money won")
	}
	s.vendor("poor", 1)
	if !wins("p2") {
		t.Error("a vendor with money lost")
	}
	s.campaign("v1", "", `{"target":{"type":"product","id":"p1"},"amount":50,"isActive":false}`)
	if wins("p1") {
		t.Error("a paused bid won")
	}

	campaign := s.campaign("v1", rich+","+first, bid("p1", 50))
	path := "campaign-service/campaigns/" + campaign
	paused, deleted := s.token("p1"), s.token("p1")
	s.manage(200, "PATCH", path, `{"isActive":false}`)
	if wins("p1") {
		t.Error("a campaign won after it was paused")
	}
	s.clicks(paused)
	s.checkCharges(campaign, "clicks", 1, 1, "50")
	s.manage(200, "PATCH", path, `{"isActive":true,"budget":{"amount":1}}`)
	if wins("p1") {
		t.Error("a campaign won with a budget that is below what it spent")
	}
	s.checkCharges(campaign, "clicks", 1, 1, "50")
	s.manage(200, "PATCH", path, `{"budget":{"amount":1000}}`)
	if !wins("p1") {
		t.Error("a campaign with a larger budget lost")
	}
	s.manage(204, "DELETE", path, "")
	if r := s.manage(200, "GET", path, ""); r.member("status") != "terminated" {
		t.Errorf("deleted: %s", r.body)
	}
	if wins("p1") {
		t.Error("a campaign won after it was deleted")
	}
	s.clicks(deleted)
	if f := s.report("campaigns/" + campaign); f.Clicks.Charged != 1 || f.Clicks.AdSpentDecimal != "50" {
		t.Errorf("a click on a deleted campaign was charged: %+v", f.Clicks)
	}
}

// An externalCampaignId counts for its campaign and is never charged.
func TestConformanceExternalCampaign(t *testing.T) {
	s := startNode(t, "--groups", "4")
	s.vendor("v1", 100)
	s.product("p1", "v1", "", "")
	campaign := s.campaign("v1", `"externalCampaignId":"offsite-7"`, bid("p1", 50))
	var clicks, impressions []string
	for i := range 20 {
		e := fmt.Sprintf(`{"id":"e%d","occurredAt":%q,"opaqueUserId":"u","externalCampaignId":"offsite-7"}`, i, time.Now().UTC().Format(time.RFC3339))
		clicks, impressions = append(clicks, e), append(impressions, strings.Replace(e, "offsite-7", "unknown", 1))
	}
	for range 2 {
		s.events(200, `{"clicks":[`+strings.Join(clicks, ",")+`],"impressions":[`+strings.Join(impressions, ",")+`]}`)
	}
	s.checkCharges(campaign, "clicks", 20, 0, "0")
	s.checkCharges(campaign, "impressions", 0, 0, "0")
}

// Pacing holds nothing back while nothing is known of a campaign: a new bid of first price pays itself, however much
// later than its campaign the auction is, and a small budget is spent by two clicks.
func TestConformanceNewCampaignsAreNotPaced(t *testing.T) {
	s := startNode(t)
	s.vendor("v1", 100_000)
	s.product("p1", "v1", "", "")
	s.product("p2", "v1", "", "")
	large := s.campaign("v1", rich+","+first, bid("p1", 50))
	small := s.campaign("v1", `"budget":{"amount":100,"type":"daily"},`+first, bid("p2", 50))
	for range 2 {
		time.Sleep(1500 * time.Millisecond) // The controllers decide once a second.
		s.clicks(s.token("p1"), s.token("p2"))
	}
	s.checkCharges(large, "clicks", 2, 2, "100")
	s.checkCharges(small, "clicks", 2, 2, "100")
}
