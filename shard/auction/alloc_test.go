//go:build !race

package auction_test

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/model"
)

// No kind of auction allocates once its Scratch has grown, also with targeting, caps, pacing, learned quality and an
// experiment.
func TestAllocatesNothing(t *testing.T) {
	r := newRandomMarket(1, 120)
	for range 400 {
		r.changeBid()
	}
	for range 400 {
		r.countClicks()
	}
	r.settings.LearnedQualityMilli = 600
	r.settings.Experiment = model.Experiment{Percent: 30, Treatment: model.TreatReserve, ValueMilli: 500}
	r.m.PutMarketplace(&r.settings)
	r.m.Publish()
	v := r.m.View()
	byKind := map[auction.Kind][]query{}
	for range 1_000 {
		q := r.query()
		q.kind = max(q.kind, auction.Listings)
		byKind[q.kind] = append(byKind[q.kind], q)
	}
	for kind := auction.Listings; kind <= auction.Flights; kind++ {
		req := requestFor(v, 1, byKind[kind]...)
		tick := params(100, 1)
		tick.Frequency = r.exposures
		var res auction.Results
		var sc auction.Scratch
		auction.Run(v, tick, req, &res, &sc)
		winners := 0
		for i := range res.Results {
			winners += len(res.Results[i].Winners)
		}
		if winners < 10 {
			t.Errorf("kind %d: only %d winners of %d auctions: they test nothing", kind, winners, len(byKind[kind]))
		}
		if n := testing.AllocsPerRun(10, func() { auction.Run(v, tick, req, &res, &sc) }); n != 0 {
			t.Errorf("kind %d: %v allocations", kind, n)
		}
	}
}
