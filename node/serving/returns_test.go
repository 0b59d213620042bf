package serving_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// A return goes to the group of its purchase, whatever its own id is, with the number of pieces that came back. Below
// LevelReturns it is answered 503, and nothing of its request is committed.
func TestReturnsGoToTheGroupOfTheirPurchase(t *testing.T) {
	for _, level := range []command.Level{command.LevelReturns - 1, command.LevelReturns} {
		node := servingtest.New(servingtest.Spec{Bids: 10, Groups: 4})
		deps := node.Deps
		deps.Level = func(ids.Group) command.Level { return level }
		var purchases []string
		for i := range 20 {
			purchases = append(purchases, fmt.Sprintf(`{"id":"p%d",%s,"items":[{"productId":"a","quantity":3}]}`, i, occurred),
				fmt.Sprintf(`{"id":"r%d",%s,"returnOf":"p%[1]d","items":[{"productId":"a","quantity":-2,"unitPrice":9},{"productId":"invented"}]}`, i, occurred))
		}
		a := ask(serving.New(deps), "POST", "/v2/events", node.AuctionKey, `{"purchases":[`+strings.Join(purchases, ",")+`]}`)
		if level < command.LevelReturns {
			if a.status != 503 || len(node.Proposer.Committed) > 0 {
				t.Errorf("level %d: %d %s, %d commits", level, a.status, a.body, len(node.Proposer.Committed))
			}
			continue
		}
		if a.status != 200 {
			t.Fatal(a.body)
		}
		groups, returns := map[[16]byte]ids.Group{}, 0
		for _, c := range node.Proposer.Committed {
			for _, r := range c.Events.Records {
				if r.ReturnOf == [16]byte{} {
					groups[r.Key] = c.Group
					continue
				}
				returns++
				if len(r.Items) != 2 || r.Items[0].Quantity != 2 || r.Items[0].UnitPrice != 0 || r.Items[1].Quantity != 1 || r.Items[1].Unknown {
					t.Errorf("a return has the items %+v", r.Items)
				}
				if of, found := groups[r.ReturnOf]; !found || of != c.Group {
					t.Errorf("a return is in group %d, its purchase in group %d (%v)", c.Group, of, found)
				}
			}
		}
		if returns != 20 || len(groups) != 20 {
			t.Errorf("%d returns and %d purchases, want 20 of each", returns, len(groups))
		}
	}
}
