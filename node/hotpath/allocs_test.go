//go:build !race

package hotpath_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/hotpath"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
)

// TestAuctionsDoNotAllocate checks the main promise of the hot path: a warm node answers a request of 5 auctions with 100 ids
// each, out of a million bids, without a heap allocation, from the bytes on the connection to the bytes back, server
// included. The same holds for banners, sponsored brands and travel, with users, caps, schedules and segments.
func TestAuctionsDoNotAllocate(t *testing.T) {
	const (
		bids     = 1_000_000
		requests = 16
	)
	node := servingtest.New(servingtest.Spec{Bids: bids, Kinds: true})
	// Sampling is on, but the rate is so low that no measured auction is sampled.
	node.Deps.ExplainEvery = 1 << 40
	core := serving.New(node.Deps)
	random := rand.New(rand.NewPCG(3, 4))
	for _, op := range []struct {
		name, path string
		winners    int // The least number of winners in one request.
		body       func() []byte
	}{
		{"listings", "/v2/auctions", 10, func() []byte { return listings(random, bids) }},
		{"banners", "/v2/auctions", 10, func() []byte { return banners(random) }},
		{"sponsored brand", "/v2/auctions/sponsored-brand", 10, func() []byte { return brands(random) }},
		{"travel", "/v2/auctions/travel", 10, func() []byte { return travel(random) }},
	} {
		for _, without := range []bool{false, true} {
			stream := pipelined(node.AuctionKey, op.path, requests, op.body)
			t.Run(fmt.Sprintf("%s/without fast path=%v", op.name, without), func(t *testing.T) {
				server := hotpath.New(hotpath.Options{Core: core, Metrics: node.Metrics, Log: node.Deps.Log, WithoutFastPath: without})
				allocates(t, server, stream, requests, op.winners*requests, 1) // The connection itself is one allocation.
			})
		}
	}
}

// allocates checks the number of allocations of the requests in the stream, on a new connection.
func allocates(t *testing.T, server *hotpath.Server, stream []byte, requests, winners int, most float64) {
	conn := &memoryConn{}
	serve := func() {
		conn.in.Reset(stream)
		conn.out = conn.out[:0]
		if err := server.ServeConn(conn); err != nil {
			t.Fatal(err)
		}
	}
	serve()
	answers := string(conn.out)
	if n := strings.Count(answers, "HTTP/1.1 201 Created"); n != requests {
		t.Fatalf("%d of %d requests were answered with 201:\n%.600s", n, requests, answers)
	}
	if n := strings.Count(answers, `"resolvedBidId"`); n < winners {
		t.Fatalf("%d winners in %d requests: the measured requests must find bids\n%.900s", n, requests, answers)
	}
	for range 20 {
		serve()
	}
	if n := testing.AllocsPerRun(100, serve); n > most {
		t.Errorf("%v allocations in %d requests", n, requests)
	}
}

// pipelined returns requests that a client sends one after the other without waiting for answers.
func pipelined(key, path string, requests int, body func() []byte) []byte {
	var stream bytes.Buffer
	for range requests {
		text := body()
		fmt.Fprintf(&stream, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\nUser-Agent: test\r\nContent-Length: %d\r\n\r\n", path, key, len(text))
		stream.Write(text)
	}
	return stream.Bytes()
}

// auctions returns a body of five auctions.
func auctions(element func(*bytes.Buffer)) []byte {
	var body bytes.Buffer
	body.WriteString(`{"auctions":[`)
	for i := range 5 {
		if i > 0 {
			body.WriteByte(',')
		}
		element(&body)
	}
	body.WriteString(`]}`)
	return body.Bytes()
}

func listings(random *rand.Rand, bids int) []byte {
	return auctions(func(body *bytes.Buffer) {
		body.WriteString(`{"type":"listings","slots":4,"products":{"ids":[`)
		for i := range 100 {
			if i > 0 {
				body.WriteByte(',')
			}
			if i%20 == 0 { // 5 % of the ids have a bid.
				fmt.Fprintf(body, "%q", servingtest.ProductID(random.IntN(bids)))
			} else {
				fmt.Fprintf(body, `"q-%07d"`, random.IntN(10*bids))
			}
		}
		body.WriteString(`]}}`)
	})
}

func banners(random *rand.Rand) []byte {
	return auctions(func(body *bytes.Buffer) {
		fmt.Fprintf(body, `{"type":"banners","slots":2,"slotId":%q,"opaqueUserId":"user-%d"}`, servingtest.Slot, random.IntN(100))
	})
}

func brands(random *rand.Rand) []byte {
	return auctions(func(body *bytes.Buffer) {
		fmt.Fprintf(body, `{"winners":2,"placementId":%q,"opaqueUserId":"user-%d","triggers":{"searchQuery":"red Shoes %d"}}`,
			servingtest.Placement, random.IntN(100), random.IntN(100))
	})
}

// travel returns a body of auctions of hotels and of flights, with products and without.
func travel(random *rand.Rand) []byte {
	return auctions(func(body *bytes.Buffer) {
		n := random.IntN(200)
		switch random.IntN(3) {
		case 0:
			fmt.Fprintf(body, `{"type":"hotels","slots":2,"travelContext":{"site":%q,"travelStartDate":"2026-01-02"}}`, servingtest.Site)
		case 1:
			fmt.Fprintf(body, `{"type":"hotels","slots":2,"products":[{"id":"hotel-%d"},{"id":"hotel-%d"}],"travelContext":{"site":"s"}}`, n, (n+7)%200)
		default:
			fmt.Fprintf(body, `{"type":"flights","slots":2,"travelContext":{"site":"s"},"products":[`+
				`{"id":"flight-%[1]d","variationID":"a","price":12.5},{"id":"flight-%[1]d","variationId":"b"},{"id":"flight-%[2]d","variationID":"a"}]}`, n, (n+7)%200)
		}
	})
}
