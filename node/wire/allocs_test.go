//go:build !race

package wire

import (
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/market"
)

// allocations counts those of parse over bodies of all kinds, the slices having grown to the largest.
func allocations(list [][]byte, parse func([]byte)) float64 {
	for _, body := range list {
		parse(body)
	}
	return testing.AllocsPerRun(10, func() {
		for _, body := range list {
			parse(body)
		}
	})
}

func TestParseAuctionsAllocatesNothing(t *testing.T) {
	list := bodies(20, func(rng *rand.Rand) []byte { return auctionsBody(rng, 5, 100) })
	list = append(list, readGolden(t, "auctions.txt", "auctions-json.txt", "auctions-demand.txt")...)
	var req auction.Request
	var f Fault
	var message []byte
	if n := allocations(list, func(body []byte) {
		req.Body = body
		if ParseAuctions(&req, &f) != apierr.OK {
			message = f.AppendMessage(message[:0])
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestParseEventsAllocatesNothing(t *testing.T) {
	list := bodies(20, func(rng *rand.Rand) []byte { return eventsBody(rng, 50) })
	list = append(list, readGolden(t, "events.txt", "events-time.txt")...)
	var batch event.Batch
	var f Fault
	if n := allocations(list, func(body []byte) {
		batch.Body = body
		ParseEvents(&batch, benchNow, &f)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAppendResultsAllocatesNothing(t *testing.T) {
	res := someResults()
	var dst []byte
	if n := testing.AllocsPerRun(10, func() { dst = AppendResults(dst[:0], nil, res, []byte("gavel")) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestCheckDemandAllocatesNothing(t *testing.T) {
	policy := market.ExternalDemand{OwnValue: "gavel", Sources: []string{"a", "source-of-32-characters-012345678"}}
	req := auction.Request{Body: []byte(`{"auctions":[{"type":"listings","slots":1,"category":"c",` +
		`"demandSources":[{"source":"source-of-32-characters-01234567","bids":[]}]}]}`)}
	var f Fault
	if code := ParseAuctions(&req, &f); code != apierr.OK {
		t.Fatal(code)
	}
	if n := testing.AllocsPerRun(10, func() { CheckDemand(&req, &policy, &f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
