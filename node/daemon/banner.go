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
	curl       string // A first auction to try; empty without a key to put into it.
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
	if b.curl != "" {
		line("try:")
		line("  %s", b.curl)
	}
	_, _ = io.WriteString(out, text.String())
}

// firstSteps is the next command after a start: an auction that returns winners where the market has any, else the
// question of what the market holds.
func firstSteps(auctionURL, key string, products []string) string {
	body := `{"auctions":[{"type":"listings","slots":3,"products":{"ids":["` + strings.Join(products, `","`) + `"]}}]}`
	return fmt.Sprintf("curl -s %s/v2/auctions -H 'Authorization: Bearer %s' -d '%s'", auctionURL, key, body)
}
