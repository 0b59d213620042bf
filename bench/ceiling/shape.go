package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/gavel-ads/gavel/node/serving/servingtest"
)

// shape is one kind of request: how many auctions, of how many product ids, how many of which somebody bids on.
type shape struct {
	auctions, ids int
	withBid       int // Ids with a bid, in percent.
	bodies        int // Different bodies. Few bodies would keep every row they touch in the cache.
	goal          float64
}

var shapes = []shape{
	{1, 4, 50, 2048, 0.85},
	{1, 50, 10, 2048, 0.75},
	{5, 100, 5, 2048, 0.40},
	{5, 500, 5, 512, 0.25},
}

const slots = 4

func (s shape) name() string { return fmt.Sprintf("%dx%d", s.auctions, s.ids) }

// request is one request as it goes over the wire, and what it asks for.
type request struct {
	bytes    []byte
	auctions [][]int // The bids behind the ids, by auction.
}

// requests draws the requests of a shape. Ids are nine characters; those without a bid are unknown to the market.
func (s shape) requests(key string) []request {
	random := rand.New(rand.NewPCG(uint64(s.auctions), uint64(s.ids))) //nolint:gosec // Small numbers.
	all := make([]request, s.bodies)
	for i := range all {
		all[i] = s.request(random, key)
	}
	return all
}

func (s shape) request(random *rand.Rand, key string) request {
	r := request{}
	body := []byte(`{"auctions":[`)
	for a := range s.auctions {
		if a > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"type":"listings","slots":`...)
		body = strconv.AppendInt(body, slots, 10)
		body = append(body, `,"products":{"ids":[`...)
		var wanted []int
		for i := range s.ids {
			if i > 0 {
				body = append(body, ',')
			}
			id := "q-" + fmt.Sprintf("%07d", random.IntN(10_000_000))
			if (i*s.withBid)/100 != ((i+1)*s.withBid)/100 {
				bid := random.IntN(bids)
				wanted, id = append(wanted, bid), servingtest.ProductID(bid)
			}
			body = strconv.AppendQuote(body, id)
		}
		body = append(body, `]}}`...)
		r.auctions = append(r.auctions, wanted)
	}
	body = append(body, `]}`...)
	r.bytes = fmt.Appendf(nil, "POST /v2/auctions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nAccept: application/json\r\nUser-Agent: ceiling\r\nContent-Length: %d\r\n\r\n", key, len(body))
	r.bytes = append(r.bytes, body...)
	return r
}
