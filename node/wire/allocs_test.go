//go:build !race

package wire

import (
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
)

// allocations counts the allocations of parse over bodies of all kinds, after the slices have grown to the largest.
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
	for name, parse := range parsers {
		bodies := append(readGolden(t, parse.files...), list...)
		var req auction.Request
		var f Fault
		var message []byte
		if n := allocations(bodies, func(body []byte) {
			req.Body = body
			if parse.parse(&req, &f) != apierr.OK {
				message = f.AppendMessage(message[:0])
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
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

func TestCheckMarketplaceAllocatesNothing(t *testing.T) {
	m := model.Marketplace{H3: true, ExternalDemand: model.ExternalDemand{
		OwnValue: "gavel", Sources: []string{"a", "source-of-32-characters-012345678"},
	}}
	req := auction.Request{Body: []byte(`{"auctions":[{"type":"listings","slots":1,"category":"c","geoTargeting":"8928308280fffff",` +
		`"demandSources":[{"source":"source-of-32-characters-01234567","bids":[]}]}]}`)}
	var f Fault
	if code := ParseAuctions(&req, &f); code != apierr.OK {
		t.Fatal(code)
	}
	if n := testing.AllocsPerRun(10, func() { CheckMarketplace(&req, &m, &f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
