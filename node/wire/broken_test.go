package wire

import (
	"bytes"
	"testing"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/event"
)

// TestBrokenBodies truncates every golden body at every byte, and replaces every byte by another. The parsers must agree
// with encoding/json on which of these bodies are JSON, and must not panic on any.
func TestBrokenBodies(t *testing.T) {
	var req auction.Request
	var batch event.Batch
	var f Fault
	check := func(body []byte) {
		for _, p := range parsers {
			req.Body = body
			checkSyntax(t, body, p.parse(&req, &f))
		}
		batch.Body = body
		checkSyntax(t, body, ParseEvents(&batch, goldenNow, &f))
	}
	const odd = "\"{}[],:0-.e\\ntu\x00\xff "
	bodies := readGolden(t, "auctions.txt", "auctions-json.txt", "auctions-demand.txt", "brands.txt", "travel.txt", "events.txt", "events-time.txt")
	places := 0
	for _, body := range bodies {
		if len(body) > 1_000 {
			continue
		}
		for i := range body {
			check(body[:i:i])
			broken := bytes.Clone(body)
			broken[i] = odd[places%len(odd)]
			check(broken)
			places++
		}
	}
}
