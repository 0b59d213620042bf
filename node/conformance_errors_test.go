package main_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The docUrl of an error is a page of the same node that names the errCode, without a key and without the internet.
func TestConformanceDocURLs(t *testing.T) {
	s := startNode(t)
	codes := map[string]bool{}
	for _, file := range []string{"auctions.txt", "events.txt"} {
		for _, row := range exchanges(t, file, func(text string) string { return "" }) {
			codes[row.code] = row.code != "-"
		}
	}
	for _, sent := range []reply{
		s.do("POST", s.node.AuctionURL+"/v2/nope", "", ""), s.do("GET", s.node.AuctionURL+"/v2/auctions", "", ""),
		s.do("POST", s.node.AuctionURL+"/v2/auctions", "", ""),
	} {
		codes[sent.errCode()] = true
	}
	pages := map[string]string{}
	for code := range codes {
		if code == "-" {
			continue
		}
		url := s.node.ManageURL + "/docs/errors#" + code // checkAnswer checks this for every error.
		page, anchor, _ := strings.Cut(url, "#")
		if pages[page] == "" {
			r := s.do("GET", page, "", "")
			if r.status != http.StatusOK || !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
				t.Fatalf("%s: %d %s", page, r.status, r.header.Get("Content-Type"))
			}
			pages[page] = string(r.body)
		}
		if !strings.Contains(pages[page], `id="`+anchor+`"`) {
			t.Errorf("%s has no anchor %s", page, anchor)
		}
	}
	if len(codes) < 35 {
		t.Errorf("only %d errCodes: %s", len(codes), slices.Sorted(maps.Keys(codes)))
	}
}

// An error message names the member by its path.
func TestConformanceMessagesNameTheMember(t *testing.T) {
	s := startNode(t)
	const good = `{"type":"listings","slots":1,"products":{"ids":["p1"]}}`
	const event = `"opaqueUserId":"u","occurredAt":"2026-01-01T00:00:00Z"`
	for body, want := range map[string]string{
		`{"auctions":[` + good + `,{"type":"listings","slots":0,"products":{"ids":["p1"]}}]}`:                                 "auctions[1].slots ",
		`{"auctions":[{"type":"listings","slots":1,"products":{"ids":["a","b",""]}}]}`:                                        "auctions[0].products.ids[2] ",
		`{"auctions":[{"type":"listings","slots":1,"products":{"ids":["a","b"],"qualityScores":[1,7]}}]}`:                     "auctions[0].products.qualityScores[1] ",
		`{"auctions":[{"type":"listings","slots":1,"category":{"disjunctions":[["a"],["b",""]]}}]}`:                           "auctions[0].category.disjunctions[1][1] ",
		`{"auctions":[{"type":"banners","slots":1}]}`:                                                                         "auctions[0].slotId ",
		`{"impressions":[{"id":"1",` + event + `}],"clicks":[{"id":"1",` + event + `},{"id":"2","opaqueUserId":"u"}]}`:        "clicks[1].occurredAt ",
		`{"purchases":[{"id":"1",` + event + `,"items":[{"productId":"a"},{"productId":"b","quantity":0}]}]}`:                 "purchases[0].items[1].quantity ",
		`{"clicks":[{"id":"1",` + event + `,"resolvedBidId":""},{"id":"1",` + event + `,"resolvedBidId":"forged\u0000<b>"}]}`: "clicks[1].resolvedBidId ",
	} {
		path := "/v2/events"
		if strings.Contains(body, "auctions") {
			path = "/v2/auctions"
		}
		for _, r := range s.v2(path, body) {
			if message, _ := r.member("message").(string); !strings.HasPrefix(message, want) {
				t.Errorf("%s: message %q, want it to begin with %q", body, message, want)
			}
			if regexp.MustCompile(`[<\x00]`).Match(r.body) {
				t.Errorf("%s: what was sent came back: %s", body, r.body)
			}
		}
	}
}

// Management requests are limited per key; those of /v2 are not.
func TestConformanceRateLimits(t *testing.T) {
	s := startNode(t, "--ratelimit-management", "3", "--ratelimit-catalog", "2")
	limits := func(path, key string, limit string) {
		t.Helper()
		for range 40 { // The window may end between two requests.
			r := s.do("GET", s.node.ManageURL+"/public/v1/"+path, key, "")
			for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
				if !regexp.MustCompile(`^[0-9]+$`).MatchString(r.header.Get(name)) {
					t.Errorf("%s %d: %s is %q", path, r.status, name, r.header.Get(name))
				}
			}
			if got := r.header.Get("X-RateLimit-Limit"); got != limit {
				t.Errorf("%s: the limit is %s, want %s", path, got, limit)
			}
			if r.status == 429 {
				if wait := r.header.Get("Retry-After"); r.errCode() != "too_many_requests" || wait == "" || wait < "1" {
					t.Errorf("%s: %s, Retry-After %q", path, r.body, wait)
				}
				s.errorObject(r)
				return
			}
		}
		t.Errorf("%s: no limit", path)
	}
	limits("campaign-service/campaigns", s.node.Keys.ManagementKey, "3")
	limits("catalog-search-service/catalogs/vendors", s.node.Keys.ManagementKey, "2")
	limits("campaign-service/campaigns", "guessed", "3")
	for range 50 {
		for _, r := range s.v2("/v2/events", `{"clicks":[]}`) {
			if r.status != 200 {
				t.Fatalf("%d %s", r.status, r.body)
			}
		}
	}
	for range 10 {
		if r := s.do("GET", s.node.ManageURL+"/healthz", "", ""); r.status != 200 || r.header.Get("X-RateLimit-Limit") != "" {
			t.Errorf("healthz: %d %v", r.status, r.header)
		}
		if r := s.do("OPTIONS", s.node.ManageURL+"/public/v1/campaign-service/campaigns", "", ""); r.status != 204 || r.header.Get("X-RateLimit-Limit") != "" {
			t.Errorf("OPTIONS: %d %v", r.status, r.header)
		}
	}
}
