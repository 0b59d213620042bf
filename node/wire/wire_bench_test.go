package wire

import (
	stdjson "encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	gojson "github.com/goccy/go-json"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/event"
)

// auctionsBody returns a request like those of storefronts: auctions with products of nine characters each.
func auctionsBody(rng *rand.Rand, auctions, products int) []byte {
	var b strings.Builder
	b.WriteString(`{"auctions":[`)
	for i := range auctions {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"type":"listings","slots":4,"products":{"ids":[`)
		for j := range products {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"p%08d"`, rng.IntN(100_000_000))
		}
		fmt.Fprintf(&b, `]},"opaqueUserId":"user-%08d","device":"mobile"}`, rng.IntN(100_000_000))
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

// eventsBody returns a batch of clicks like those of storefronts.
func eventsBody(rng *rand.Rand, events int) []byte {
	var b strings.Builder
	b.WriteString(`{"clicks":[`)
	for i := range events {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"%016x-%016x","occurredAt":"2026-03-01T12:%02d:%02d.%03dZ","opaqueUserId":"user-%08d",`+
			`"resolvedBidId":"%s","placement":{"path":"/c/shoes","position":%d,"page":1}}`, rng.Uint64(), rng.Uint64(),
			i%60, i*7%60, rng.IntN(1000), rng.IntN(100_000_000), strings.Repeat("Ab3_", 20), i+1)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

const benchNow = 1_800_000_000_000

// bodies returns n distinct bodies. A benchmark that repeats one body measures the branch predictor.
func bodies(n int, build func(*rand.Rand) []byte) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	list := make([][]byte, n)
	for i := range list {
		list[i] = build(rng)
	}
	return list
}

func BenchmarkParseAuctions(b *testing.B) {
	for _, shape := range []struct{ auctions, products int }{{1, 4}, {5, 100}, {5, 500}} {
		list := bodies(512, func(rng *rand.Rand) []byte { return auctionsBody(rng, shape.auctions, shape.products) })
		name := fmt.Sprintf("shape=%dx%d", shape.auctions, shape.products)
		b.Run(name+"/parser=wire", func(b *testing.B) {
			var req auction.Request
			var f Fault
			run(b, list, func(body []byte) {
				req.Body = body
				if code := ParseAuctions(&req, &f); code != apierr.OK {
					b.Fatal(code)
				}
			})
		})
		b.Run(name+"/parser=goccy", func(b *testing.B) {
			run(b, list, func(body []byte) { decode(b, gojson.Unmarshal, body, new(auctionsShape)) })
		})
		b.Run(name+"/parser=encoding-json", func(b *testing.B) {
			run(b, list, func(body []byte) { decode(b, stdjson.Unmarshal, body, new(auctionsShape)) })
		})
	}
}

func BenchmarkParseEvents(b *testing.B) {
	list := bodies(512, func(rng *rand.Rand) []byte { return eventsBody(rng, 50) })
	b.Run("events=50/parser=wire", func(b *testing.B) {
		var batch event.Batch
		var f Fault
		run(b, list, func(body []byte) {
			batch.Body = body
			if code := ParseEvents(&batch, benchNow, &f); code != apierr.OK {
				b.Fatal(code)
			}
		})
	})
	b.Run("events=50/parser=goccy", func(b *testing.B) {
		run(b, list, func(body []byte) { decode(b, gojson.Unmarshal, body, new(eventsShape)) })
	})
	b.Run("events=50/parser=encoding-json", func(b *testing.B) {
		run(b, list, func(body []byte) { decode(b, stdjson.Unmarshal, body, new(eventsShape)) })
	})
}

func run(b *testing.B, list [][]byte, parse func([]byte)) {
	b.SetBytes(int64(len(list[0])))
	b.ReportAllocs()
	parse(list[0])
	i := 0
	for b.Loop() {
		parse(list[i%len(list)])
		i++
	}
}

func decode(b *testing.B, unmarshal func([]byte, any) error, body []byte, into any) {
	if err := unmarshal(body, into); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkAppendResults(b *testing.B) {
	w := winner(1, "p00000001", true)
	res := &auction.Results{Results: make([]auction.Result, 5)}
	for i := range res.Results {
		res.Results[i] = auction.Result{Type: auction.ListingsResult, Winners: []auction.Winner{w, w, w, w}}
	}
	b.Run("shape=5x4/writer=wire", func(b *testing.B) {
		var dst []byte
		b.ReportAllocs()
		for b.Loop() {
			dst = AppendResults(dst[:0], nil, res, nil)
		}
		b.SetBytes(int64(len(dst)))
	})
	var shape resultsShape
	if err := stdjson.Unmarshal(AppendResults(nil, nil, res, nil), &shape); err != nil {
		b.Fatal(err)
	}
	b.Run("shape=5x4/writer=goccy", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := gojson.Marshal(&shape); err != nil {
				b.Fatal(err)
			}
		}
	})
}
