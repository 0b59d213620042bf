package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/gavel-ads/gavel/node/serving/servingtest"
)

// shape is one kind of request: the number of auctions, of product ids per auction, and of ids that have a bid.
type shape struct {
	auctions, ids int
	withBid       int     // The ids with a bid, in percent.
	bodies        int     // The number of different bodies. With few bodies every row they read would stay in the cache.
	goal          float64 // The least ratio.
}

var shapes = []shape{
	{1, 4, 50, 2048, 0.85},
	{1, 50, 10, 2048, 0.75},
	{5, 100, 5, 2048, 0.40},
	{5, 500, 5, 512, 0.25},
}

const slots = 4

func (s shape) name() string { return fmt.Sprintf("%dx%d", s.auctions, s.ids) }

// request is one request as it is sent, and the bids that it asks for.
type request struct {
	bytes    []byte
	auctions [][]int // The bids of the ids, by auction.
}

// requests returns random requests of a shape. Ids have nine characters; those without a bid are unknown to the market.
func (s shape) requests(key string) []request {
	random := rand.New(rand.NewPCG(uint64(s.auctions), uint64(s.ids))) // Small numbers.
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
