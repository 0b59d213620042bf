package main_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// statuses reports events with detail=true and returns the status of each, by array.
func (s *testClient) statuses(body string) map[string][]string {
	s.Helper()
	r := s.do("POST", s.node.AuctionURL+"/v2/events?detail=true", s.node.Keys.AuctionKey, body)
	var detail map[string][]struct{ ID, Status string }
	if s.decode(r, &detail); r.status != 200 {
		s.Fatalf("%s: %d %s", body, r.status, r.body)
	}
	list := map[string][]string{}
	for array, events := range detail {
		for _, e := range events {
			list[array] = append(list[array], e.ID+" "+e.Status)
		}
	}
	return list
}

// An event counts once per marketplace, array and id; its first version is kept; a refused batch changes nothing.
func TestConformanceIdempotency(t *testing.T) {
	s := startNode(t, "--groups", "4") // Events of one body go to several groups.
	campaign := s.shop()
	event := func(id, more string) string {
		return fmt.Sprintf(`{"id":%q,"occurredAt":%q,"opaqueUserId":"u"%s}`, id, "2026-01-02T03:04:05Z", more)
	}
	fresh := strings.NewReplacer("2026-01-02T03:04:05Z", time.Now().UTC().Format(time.RFC3339))
	all := fresh.Replace(`{"impressions":[` + event("a", "") + `,` + event("b", "") + `],"clicks":[` + event("a", "") + `],"purchases":[` +
		event("a", `,"items":[{"productId":"p1"}]`) + `],"pageviews":[` + event("a", `,"page":{"type":"home"}`) + `,` + event("a", `,"page":{"type":"cart"}`) + `]}`)
	check := func(what, body string, want map[string][]string) {
		t.Helper()
		got := s.statuses(body)
		for array, w := range want {
			if !slices.Equal(got[array], w) {
				t.Errorf("%s: %s are %q, want %q", what, array, got[array], w)
			}
		}
	}
	broken := strings.Replace(all, `"page":{"type":"cart"}`, `"page":{}`, 1)
	s.events(400, broken)
	check("first", all, map[string][]string{
		"impressions": {"a recorded", "b recorded"}, "clicks": {"a recorded"}, "purchases": {"a recorded"}, "pageviews": {"a recorded", "a duplicate"},
	})
	check("again", all, map[string][]string{
		"impressions": {"a duplicate", "b duplicate"}, "clicks": {"a duplicate"}, "purchases": {"a duplicate"}, "pageviews": {"a duplicate", "a duplicate"},
	})
	check("mixed", fresh.Replace(`{"impressions":[`+event("a", `,"deviceType":"mobile"`)+`,`+event("A", "")+`,`+event("a ", "")+`]}`), map[string][]string{
		"impressions": {"a duplicate", "A recorded", "a  recorded"},
	})
	check("stamped again, hours and days earlier", `{"purchases":[`+
		strings.ReplaceAll(event("a", `,"items":[{"productId":"p1"}]`), "2026-01-02T03:04:05Z", time.Now().UTC().Add(-2*time.Hour).Format(time.RFC3339))+`,`+
		strings.ReplaceAll(event("a", `,"items":[{"productId":"p1"}]`), "2026-01-02T03:04:05Z", time.Now().UTC().Add(-50*time.Hour).Format(time.RFC3339))+`]}`,
		map[string][]string{"purchases": {"a duplicate", "a duplicate"}})
	check("ids of any text", fresh.Replace(`{"clicks":[`+event(`"\<é`, "")+`]}`), map[string][]string{"clicks": {`"\<é recorded`}})
	check("old", strings.ReplaceAll(`{"clicks":[`+event("old", "")+`,`+event("old", "")+`]}`, "2026-01-02", "2020-01-02"),
		map[string][]string{"clicks": {"old late", "old late"}})

	token := s.token("p1")
	forged := token[:len(token)-2] + "00"
	if forged == token {
		forged = token[:len(token)-2] + "11"
	}
	for name, bad := range map[string]string{
		"a forged token": touch("x", forged), "a future event": strings.Replace(touch("x", token), time.Now().UTC().Format("2006"), "2999", 1),
		"no user": strings.Replace(touch("x", token), `"opaqueUserId":"u"`, `"opaqueUserId":""`, 1),
	} {
		s.events(400, `{"impressions":[`+touch("good", token)+`],"clicks":[`+touch("good", token)+`,`+bad+`]}`)
		if f := s.report("campaigns/" + campaign); f.Impressions.Total+f.Clicks.Total != 0 {
			t.Errorf("a batch with %s was recorded in part: %+v", name, f)
		}
	}
	late := strings.Replace(touch("late", token), time.Now().UTC().Format("2006-01-02T"), time.Now().UTC().AddDate(0, 0, -31).Format("2006-01-02T"), 1)
	check("an old click of a good token", `{"clicks":[`+late+`]}`, map[string][]string{"clicks": {"late late"}})
	if f := s.report("campaigns/" + campaign); f.Clicks.Total != 0 {
		t.Errorf("a click of a month ago is in the report: %+v", f)
	}
	check("a charge", `{"clicks":[`+touch("good", token)+`]}`, map[string][]string{"clicks": {"good recorded"}})
	check("another click", `{"clicks":[`+touch("good2", token)+`,`+touch("good", token)+`]}`, map[string][]string{"clicks": {"good2 recorded", "good duplicate"}})

	for query, want := range map[string]string{"": "{}", "?detail=false": "{}", "?detail": "{}", "?x=1": "{}"} {
		if r := s.do("POST", s.node.AuctionURL+"/v2/events"+query, s.node.Keys.AuctionKey, all); r.status != 200 || string(r.body) != want {
			t.Errorf("events%s: %d %s", query, r.status, r.body)
		}
	}
	r := s.do("POST", s.node.ManageURL+"/v2/events?x=1&detail=true", s.node.Keys.AuctionKey, `{"clicks":[]}`)
	var detail map[string]json.RawMessage
	if s.decode(r, &detail); r.status != 200 || string(detail["clicks"]) != "[]" {
		t.Errorf("details of nothing: %d %s", r.status, r.body)
	}
}

// In one body the first version of an id is kept, also when the repeat has another token or time.
func TestConformanceRepeatsInABody(t *testing.T) {
	s := startNode(t, "--groups", "4")
	var campaigns, tokens []string
	for _, v := range []string{"a", "b", "c", "d"} { // Vendors of several groups.
		s.vendor(v, 100)
		s.product(v, v, "", "")
		campaigns = append(campaigns, s.campaign(v, first, bid(v, 50)))
		tokens = append(tokens, s.token(v))
	}
	var clicks []string
	for _, token := range tokens {
		clicks = append(clicks, touch("same", token))
	}
	now, then := time.Now().UTC(), time.Now().UTC().Add(-3*time.Hour)
	plain := fmt.Sprintf(`{"id":"same","occurredAt":%q,"opaqueUserId":"u"}`, now.Format(time.RFC3339))
	early := strings.Replace(plain, now.Format(time.RFC3339), then.Format(time.RFC3339), 1)
	for round, want := range []string{"same recorded", "same duplicate"} {
		got := s.statuses(`{"impressions":[` + plain + `,` + early + `],"clicks":[` + strings.Join(clicks, ",") + `,` + plain + `]}`)
		if got["impressions"][0] != want || got["impressions"][1] != "same duplicate" {
			t.Errorf("round %d: impressions are %q", round, got["impressions"])
		}
		if got["clicks"][0] != want || slices.Contains(got["clicks"][1:], "same recorded") {
			t.Errorf("round %d: clicks are %q", round, got["clicks"])
		}
	}
	s.checkCharges(campaigns[0], "clicks", 1, 1, "50")
	for _, other := range campaigns[1:] {
		s.checkCharges(other, "clicks", 0, 0, "0")
	}
	s.events(400, `{"clicks":[`+touch("new", tokens[0])+`,`+touch("new", "forged")+`]}`)
	s.checkCharges(campaigns[0], "clicks", 1, 1, "50")
}
