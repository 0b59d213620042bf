package daemon

import (
	"fmt"
	"os"
	"strings"

	"github.com/gavel-ads/gavel/node/demo"
)

// demoCalls returns one curl command for each operation of the interface, each of which has winners in the demo market,
// and a command that explains why the other bids lost.
func demoCalls(b banner, key string, products []string) string {
	var text strings.Builder
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
	managementKey := "$MANAGEMENT_KEY"
	if b.keys != nil && b.keysFile == "" {
		managementKey = b.keys.Management // The banner has printed it already.
	}
	fmt.Fprintf(&text, "why did the other bids lose?\n  echo '%s' | GAVEL_MANAGE_KEY=%s %s explain --manage %s -\n",
		listingsOf(products), managementKey, os.Args[0], b.manageURL)
	return text.String()
}

// listingsOf returns the body of a listings auction with three slots among the given products.
func listingsOf(products []string) string {
	return `{"auctions":[{"type":"listings","slots":3,"products":{"ids":["` + strings.Join(products, `","`) + `"]}}]}`
}
