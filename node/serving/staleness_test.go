package serving_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
	"github.com/gavel-ads/gavel/shard/auction"
)

// fenced is a core of which a test says when group 1, which has all campaigns, is stale: at the first look of a request, at
// the second, and so on.
func fenced(looks ...bool) (core *serving.Core, node *servingtest.Node, asked *int) {
	node, asked = servingtest.New(servingtest.Spec{Bids: 10}), new(int)
	deps := node.Deps
	deps.Stale = func(_ time.Time, into *auction.Groups) bool {
		stale := looks[min(*asked, len(looks)-1)]
		*asked++
		if stale {
			into.Add(1)
		}
		return stale
	}
	return serving.New(deps), node, asked
}

// An auction that meets a stale group is answered, without its campaigns, whenever the group turned stale.
func TestStaleCampaignsDoNotWin(t *testing.T) {
	for _, c := range []struct {
		name  string
		looks []bool
		won   bool
		asked int
	}{
		{"fresh", []bool{false}, true, 2},
		{"stale before the auction", []bool{true}, false, 2},
		{"stale while it ran", []bool{false, true}, false, 3}, // It runs again, and is looked at again.
		{"fresh again while it ran", []bool{true, false}, false, 2},
	} {
		core, node, asked := fenced(c.looks...)
		for range 2 { // Nothing is left in the scratch.
			*asked = 0
			a := ask(core, "POST", "/v2/auctions", node.AuctionKey, auctionBody)
			if won := strings.Contains(a.body, "resolvedBidId"); a.status != 201 || won != c.won || *asked != c.asked {
				t.Errorf("%s: status %d, won %t, asked %d times: %s", c.name, a.status, won, *asked, a.body)
			}
		}
	}
}
