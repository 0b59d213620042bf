package serving_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
	"github.com/gavel-ads/gavel/shard/auction"
)

// coreWithStaleness returns a core in which group 1, which has all campaigns, is stale or not as answers says: at the first
// check of a request, at the second, and so on. asked counts the checks.
func coreWithStaleness(answers ...bool) (core *serving.Core, node *servingtest.Node, asked *int) {
	node, asked = servingtest.New(servingtest.Spec{Bids: 10}), new(int)
	deps := node.Deps
	deps.Stale = func(_ time.Time, into *auction.Groups) bool {
		stale := answers[min(*asked, len(answers)-1)]
		*asked++
		if stale {
			into.Add(1)
		}
		return stale
	}
	return serving.New(deps), node, asked
}

// TestStaleCampaignsDoNotWin checks that an auction with a stale group is answered without the campaigns of that group,
// also if the group becomes stale while the auction runs.
func TestStaleCampaignsDoNotWin(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []bool
		won     bool
		asked   int
	}{
		{"fresh", []bool{false}, true, 2},
		{"stale before the auction", []bool{true}, false, 2},
		{"stale while it ran", []bool{false, true}, false, 3}, // It runs again, and staleness is checked again.
		{"fresh again while it ran", []bool{true, false}, false, 2},
	} {
		core, node, asked := coreWithStaleness(c.answers...)
		for range 2 { // The second request must not see anything that the first left in the scratch.
			*asked = 0
			a := ask(core, "POST", "/v2/auctions", node.AuctionKey, auctionBody)
			if won := strings.Contains(a.body, "resolvedBidId"); a.status != 201 || won != c.won || *asked != c.asked {
				t.Errorf("%s: status %d, won %t, asked %d times: %s", c.name, a.status, won, *asked, a.body)
			}
		}
	}
}
