package main_test

import (
	"strings"
	"testing"
)

const defaultHeaders = "authorization, content-type, accept, x-ua, x-request-id"

// A browser's preflight request, which has no key, gets the same answer on both listeners.
func TestConformancePreflight(t *testing.T) {
	s := startNode(t)
	for asked, allowed := range map[string]string{
		"":                                defaultHeaders,
		"authorization,content-type,x-ua": "authorization,content-type,x-ua",
		"Authorization, X-Anything_1":     "Authorization, X-Anything_1",
		strings.Repeat("a", 1024):         strings.Repeat("a", 1024),
		strings.Repeat("a", 1025):         defaultHeaders,
		"a b":                             defaultHeaders,
		"a,,b":                            defaultHeaders,
		"a,":                              defaultHeaders,
		"a;b":                             defaultHeaders,
		"<script>":                        defaultHeaders,
	} {
		for listener, url := range s.listeners() {
			for _, path := range []string{"/v2/auctions", "//v2/events"} {
				header := []string{"Origin", "https://shop.example", "Access-Control-Request-Method", "POST", "Authorization", "Bearer nonsense"}
				if asked != "" {
					header = append(header, "Access-Control-Request-Headers", asked)
				}
				r := s.do("OPTIONS", url+path, "", "", header...)
				want := map[string]string{
					"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": allowed, "Access-Control-Max-Age": "7200",
					"Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
				}
				for name, value := range want {
					if got := r.header.Values(name); len(got) != 1 || got[0] != value {
						t.Errorf("%s %s, asked for %.40q: %s is %.80q, want %.80q", listener, path, asked, name, got, value)
					}
				}
				if r.status != 204 || len(r.body) > 0 || r.header.Get("Access-Control-Allow-Credentials") != "" {
					t.Errorf("%s %s: %d %s %v", listener, path, r.status, r.body, r.header)
				}
			}
		}
	}
}

// Management keys do not belong into browsers: no origin may call /public/v1.
func TestConformanceManagementHasNoCORS(t *testing.T) {
	s := startNode(t)
	for _, method := range []string{"GET", "OPTIONS"} {
		r := s.do(method, s.node.ManageURL+"/public/v1/campaign-service/campaigns", s.node.Keys.ManagementKey, "", "Origin", "https://shop.example")
		for name := range r.header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s: %q", method, name, r.header[name])
			}
		}
	}
}

// The setting cors.origins lists who may call /v2.
func TestConformanceListedOrigins(t *testing.T) {
	s := startNode(t, "--cors-origins", "https://shop.example,https://m.shop.example")
	for listener, url := range s.listeners() {
		for origin, allowed := range map[string]string{
			"https://shop.example": "https://shop.example", "https://m.shop.example": "https://m.shop.example",
			"https://evil.example": "", "https://shop.example.evil.example": "", "null": "", "": "",
		} {
			for _, method := range []string{"POST", "OPTIONS"} {
				r := s.do(method, url+"/v2/auctions", s.node.Keys.AuctionKey, goodAuction, "Origin", origin)
				if got := r.header.Get("Access-Control-Allow-Origin"); got != allowed || r.header.Get("Vary") != "Origin" {
					t.Errorf("%s %s from %q: allowed %q, Vary %q", listener, method, origin, got, r.header.Get("Vary"))
				}
			}
		}
	}
}
