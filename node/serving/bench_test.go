package serving_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// clicks returns a body of 50 clicks on different winners.
func clicks(node *servingtest.Node) string {
	var all []string
	for i := range 50 {
		all = append(all, fmt.Sprintf(`{"id":"c-%d",%s,"resolvedBidId":%q}`, i, occurred,
			token(node, bidid.Payload{Charge: model.CPC, Shard: ids.Shard(i), Campaign: 1, Bid: 1, Price: 1, Rank: 1, Seq: uint64(i)})))
	}
	return `{"clicks":[` + strings.Join(all, ",") + `]}`
}

// BenchmarkEvents measures an events request without its commit, which the proposer of the fixture replaces.
func BenchmarkEvents(b *testing.B) {
	for _, groups := range []int{1, 4} {
		b.Run(fmt.Sprintf("clicks=50/groups=%d", groups), func(b *testing.B) {
			node := servingtest.New(servingtest.Spec{Bids: 10, Groups: groups})
			deps := node.Deps
			deps.Proposer = discard{}
			serve(b, serving.New(deps), node, "/v2/events", clicks(node), 200)
		})
	}
}

// BenchmarkAuctions answers auctions with sampling off, and with one request in a thousand sampled.
func BenchmarkAuctions(b *testing.B) {
	for _, every := range []int{0, 1_000} {
		b.Run(fmt.Sprintf("every=%d", every), func(b *testing.B) {
			node := servingtest.New(servingtest.Spec{Bids: 1000})
			deps := node.Deps
			deps.ExplainEvery = every
			serve(b, serving.New(deps), node, "/v2/auctions", auctionBody, 201)
		})
	}
}

func serve(b *testing.B, core *serving.Core, node *servingtest.Node, path, body string, want int) {
	request := serving.Request{
		Now: time.UnixMilli(servingtest.NowMillis), Method: []byte("POST"), Target: []byte(path),
		Authorization: []byte("Bearer " + node.AuctionKey), Body: []byte(body),
	}
	b.ReportAllocs()
	for b.Loop() {
		sc := core.Acquire()
		sc.Request = request
		core.Serve(sc)
		if sc.Status != want {
			b.Fatalf("%d %s", sc.Status, sc.Body)
		}
		sc.Release(0)
	}
}
