package daemon

import (
	"fmt"
	"io"
	"strings"
)

// banner is what a start prints: at most 12 lines, with URLs to click and the next command to type.
type banner struct {
	version    string
	dataDir    string
	auctionURL string
	manageURL  string
	keys       *FirstKeys // Of a new cluster; nil on every later start.
	keysFile   string
	next       string // The next command to type.
}

func (b banner) write(out io.Writer) {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("gavel %s is ready, data in %s", b.version, b.dataDir)
	line("  auctions and events  %s/v2/auctions", b.auctionURL)
	line("  management API       %s/docs", b.manageURL)
	line("  metrics              %s/metrics", b.manageURL)
	switch {
	case b.keys != nil && b.keysFile != "":
		line("  first keys           in %s", b.keysFile)
	case b.keys != nil:
		line("  auction key          %s", b.keys.Auction)
		line("  management key       %s   (both are shown this once)", b.keys.Management)
	}
	line("next:")
	line("  %s", b.next)
	_, _ = io.WriteString(out, text.String())
}

// firstAuction is an auction among the given products, ready to paste.
func firstAuction(auctionURL, key string, products []string) string {
	return fmt.Sprintf("curl -s %s/v2/auctions -H 'Authorization: Bearer %s' -d '%s'", auctionURL, key, listingsOf(products))
}

// firstVendor is how a market begins on an empty node, ready to paste.
func firstVendor(manageURL, key string) string {
	return fmt.Sprintf("curl -s -X PUT %s/public/v1/catalog-search-service/catalogs/vendors -H 'Authorization: Bearer %s' "+
		"-H 'Content-Type: application/json' -d '%s'", manageURL, key, `{"vendors":[{"id":"v1","name":"First vendor"}]}`)
}
