package daemon

import (
	"fmt"
	"io"
	"strings"
)

// banner is what a start prints: at most 12 lines, with URLs to open and the next command to run.
type banner struct {
	version    string
	dataDir    string
	auctionURL string
	manageURL  string
	consoleURL string     // The console, or the link that makes its first admin.
	keys       *FirstKeys // The keys of a new cluster; nil on every later start.
	keysFile   string
	keysShown  bool   // The keys were printed before.
	demoKey    string // The auction key of the demo's shoppers; empty without a demo.
	next       string // The next command to run; empty: none.
}

func (b banner) write(out io.Writer) {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("gavel %s is ready, data in %s", b.version, b.dataDir)
	line("  auctions and events  %s/v2/auctions", b.auctionURL)
	line("  console              %s", b.consoleURL)
	line("  management API       %s/docs", b.manageURL)
	line("  metrics              %s/metrics", b.manageURL)
	switch {
	case b.keys != nil && b.keysFile != "":
		line("  first keys           in %s", b.keysFile)
	case b.keysShown:
		line("  first keys           shown above, before the market was filled")
	case b.keys != nil:
		text.WriteString(b.keys.lines())
	case b.demoKey != "":
		line("paste this line into another terminal; gavel keys create --kind management --data-dir %s makes a management key:", b.dataDir)
		line("export AUCTION_KEY=%s", b.demoKey)
	}
	if b.next != "" {
		line("next:")
		line("  %s", b.next)
	}
	_, _ = io.WriteString(out, text.String())
}

// lines returns the keys as lines for a shell.
func (k *FirstKeys) lines() string {
	return "the first keys, shown this once; paste these lines into another terminal:\n" +
		"export AUCTION_KEY=" + k.Auction + "\nexport GAVEL_MANAGE_KEY=" + k.Management + "\n"
}

// firstAuction returns a curl command that runs an auction among the given products.
func firstAuction(auctionURL, key string, products []string) string {
	return fmt.Sprintf("curl -s %s/v2/auctions -H 'Authorization: Bearer %s' -d '%s'", auctionURL, key, listingsOf(products))
}

// firstVendor returns a curl command that creates the first vendor of an empty node.
func firstVendor(manageURL, key string) string {
	return fmt.Sprintf("curl -s -X PUT %s/public/v1/catalog-search-service/catalogs/vendors -H 'Authorization: Bearer %s' "+
		"-H 'Content-Type: application/json' -d '%s'", manageURL, key, `{"vendors":[{"id":"v1","name":"First vendor"}]}`)
}
