package serving_test

import (
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
)

func TestPreflight(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	const usual = "authorization, content-type, accept, x-ua, x-request-id"
	for requested, allowed := range map[string]string{
		"":                              usual,
		"x-custom":                      "x-custom",
		"authorization,x-ua , Accept":   "authorization,x-ua , Accept",
		"a b":                           usual,
		"a,,b":                          usual,
		"a,":                            usual,
		"a\r\nX-Evil: b":                usual,
		"ä":                             usual,
		strings.Repeat("a,", 512) + "a": usual, // 1,025 bytes.
	} {
		a := ask(node.Core, "OPTIONS", "/v2/auctions", "", "", func(r *serving.Request) { r.RequestHeaders = []byte(requested) })
		want := map[string]string{
			"Access-Control-Allow-Origin":  "*",
			"Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
			"Access-Control-Allow-Headers": allowed,
			"Access-Control-Max-Age":       "7200",
			"Content-Type":                 "",
		}
		for name, value := range want {
			if a.fields[name] != value {
				t.Errorf("asked for %q: %s is %q, want %q", requested, name, a.fields[name], value)
			}
		}
		if a.status != 204 || a.body != "" {
			t.Errorf("asked for %q: %d %q", requested, a.status, a.body)
		}
	}
}

func TestEveryAnswerOfV2MayBeReadByBrowsers(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	node.Proposer.Fail = allGroups
	for name, a := range map[string]answer{
		"success":      ask(node.Core, "POST", "/v2/auctions", node.AuctionKey, auctionBody),
		"no key":       ask(node.Core, "POST", "/v2/auctions", "", auctionBody),
		"bad body":     ask(node.Core, "POST", "/v2/events", node.AuctionKey, "x"),
		"no leader":    ask(node.Core, "POST", "/v2/events", node.AuctionKey, pageview("1")),
		"unknown path": ask(node.Core, "POST", "/v2/nowhere", "", ""),
		"mistyped":     ask(node.Core, "POST", "/v3/auctions", "", ""),
		"method":       ask(node.Core, "GET", "/v2/events", "", ""),
	} {
		if a.fields["Access-Control-Allow-Origin"] != "*" || !strings.Contains(a.fields["Access-Control-Expose-Headers"], "X-Request-Id") {
			t.Errorf("%s (%d): %v", name, a.status, a.fields)
		}
		if a.fields["Access-Control-Allow-Credentials"] != "" {
			t.Errorf("%s: credentials are allowed", name)
		}
	}
	if a := ask(node.Core, "GET", "/healthz", "", ""); a.fields["Access-Control-Allow-Origin"] != "" {
		t.Error("the health check is open to browsers")
	}
}

func TestRestrictedOrigins(t *testing.T) {
	node := servingtest.New(servingtest.Spec{Bids: 10})
	deps := node.Deps
	deps.CORSOrigins = []string{"https://shop.example", "https://m.shop.example"}
	core := serving.New(deps)
	for origin, allowed := range map[string]string{
		"https://shop.example": "https://shop.example", "https://m.shop.example": "https://m.shop.example",
		"https://evil.example": "", "https://shop.example.evil": "", "": "", "null": "",
	} {
		for _, method := range []string{"POST", "OPTIONS"} {
			a := ask(core, method, "/v2/auctions", node.AuctionKey, auctionBody, func(r *serving.Request) { r.Origin = []byte(origin) })
			if a.fields["Access-Control-Allow-Origin"] != allowed || a.fields["Vary"] != "Origin" {
				t.Errorf("%s from %q: %v", method, origin, a.fields)
			}
		}
	}
}
