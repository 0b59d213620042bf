package daemon

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/node/demo"
)

// demoCalls returns curl commands: the first auction with a click on its winner, one for each operation of the interface,
// each of which has winners in the demo market, and a command that explains why the other bids lost. token is that of a
// winner of the first auction, or empty. They name the keys, which the banner has printed, by themselves where they can:
// a line works in any terminal.
func demoCalls(b banner, key string, products []string, token string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "the first auction:\n  %s\n", firstAuction(b.auctionURL, key, products))
	if token != "" {
		fmt.Fprintf(&text, "a click on its winner, which is charged once:\n  %s\n", firstClick(b.auctionURL, key, token, time.Now()))
	}
	for _, call := range []struct{ what, path, body string }{
		{"a search", "", `{"type":"listings","slots":3,"searchQuery":"compact green tea"}`},
		{"listings and a banner on one page", "", `{"type":"listings","slots":2,"category":{"id":"kitchen"}},{"type":"banners","slots":1,"slotId":"` + demo.CategorySlot + `","category":{"id":"kitchen"}}`},
		{"a banner on the landing page", "", `{"type":"banners","slots":1,"slotId":"` + demo.HomeSlot + `","device":"mobile"}`},
		{"a sponsored brand", "/sponsored-brand", `{"winners":1,"placementId":"` + demo.BrandRow + `","triggers":{"searchQuery":"yoga mat"}}`},
		{"hotels", "/travel", `{"type":"hotels","slots":2,"travelContext":{"site":"` + demo.Site + `","travelerType":"couple"},"category":{"id":"travel-beach"}}`},
		{"flights", "/travel", `{"type":"flights","slots":2,"travelContext":{"site":"` + demo.Site + `","passengers":2},"products":[{"id":"flight-1","variationID":"light"},{"id":"flight-2","variationID":"flex"}]}`},
	} {
		fmt.Fprintf(&text, "%s:\n  curl -s %s/v2/auctions%s -H 'Authorization: Bearer %s' -d '{\"auctions\":[%s]}'\n", call.what, b.auctionURL, call.path, key, call.body)
	}
	managementKey := `"$GAVEL_MANAGE_KEY"`
	if b.keys != nil && b.keysFile == "" {
		managementKey = b.keys.Management // The banner has printed it already.
	}
	fmt.Fprintf(&text, "why did the other bids lose?\n  echo '%s' | GAVEL_MANAGE_KEY=%s %s explain --manage %s -\n",
		listingsOf(products), managementKey, os.Args[0], b.manageURL)
	return text.String()
}

// firstClick returns a curl command that reports a click on a winner. The id of the click is made of the time, so that a
// restarted demo prints another one; the command itself may be repeated.
func firstClick(auctionURL, key, token string, now time.Time) string {
	return fmt.Sprintf(`curl -s %s/v2/events -H 'Authorization: Bearer %s' -d '{"clicks":[{"id":"click-%d","occurredAt":"'$(date -u +%%FT%%TZ)'",`+
		`"opaqueUserId":"shopper-7","resolvedBidId":"%s"}]}'`, auctionURL, key, now.UnixMilli(), token)
}

// listingsOf returns the body of a listings auction with three slots among the given products.
func listingsOf(products []string) string {
	return `{"auctions":[{"type":"listings","slots":3,"products":{"ids":["` + strings.Join(products, `","`) + `"]}}]}`
}
