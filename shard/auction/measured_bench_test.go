package auction_test

import (
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// BenchmarkMeasured compares auctions of users whom nothing measures with those of a market in which every campaign has a
// holdout, and of one with an experiment. Every request is of another user; wins and enrolments are recorded.
func BenchmarkMeasured(b *testing.B) {
	for _, x := range []struct {
		name       string
		holdout    uint8
		experiment model.Experiment
	}{
		{name: "nothing"},
		{name: "holdouts=10%", holdout: 10},
		{name: "experiment=10%", experiment: model.Experiment{Percent: 10, Treatment: model.TreatReserve, ValueMilli: 1_500}},
	} {
		b.Run(x.name, func(b *testing.B) {
			m := loaded(1_000_000)
			m.PutMarketplace(&model.Marketplace{Ordinal: 1, CurrencyExponent: 2, Experiment: x.experiment})
			if x.holdout > 0 {
				for _, c := range loadedCampaigns() {
					c.HoldoutPercent = x.holdout
					m.PutCampaign(&c)
				}
			}
			m.Publish()
			v, random := m.View(), rand.New(rand.NewPCG(1, 2))
			requests := someRequests(v, 4_096, 1, 50, 1_000_000)
			for _, req := range requests {
				req.Auctions[0].User = random.Uint64()
			}
			tick := params(100, 1)
			var res auction.Results
			var sc auction.Scratch
			var enrolled []market.Enrolled
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				auction.Run(v, tick, requests[i%len(requests)], &res, &sc)
				auction.RecordWins(v, &res)
				auction.RecordEnrolments(v, &res, 100)
				if i++; i%4_096 == 0 {
					enrolled = m.CollectEnrolled(enrolled[:0])
				}
			}
		})
	}
}
