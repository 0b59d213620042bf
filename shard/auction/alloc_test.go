//go:build !race

package auction_test

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/auction"
)

// Every kind of auction allocates nothing once its scratch is warm.
func TestAllocatesNothing(t *testing.T) {
	r := newRoulette(1, 120)
	r.m.Publish()
	v := r.m.View()
	queries := make([]query, 200)
	for i := range queries {
		queries[i] = r.query()
	}
	req := requestFor(v, 1, queries...)
	tick := ticket(100, 1)
	var res auction.Results
	var sc auction.Scratch
	auction.Run(v, tick, req, &res, &sc)
	winners := 0
	for i := range res.Results {
		winners += len(res.Results[i].Winners)
	}
	if winners < len(queries)/4 {
		t.Fatalf("only %d winners: the auctions test nothing", winners)
	}
	if n := testing.AllocsPerRun(10, func() { auction.Run(v, tick, req, &res, &sc) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
