package auction_test

import (
	"sync"
	"testing"

	"github.com/gavel-ads/gavel/shard/auction"
)

// Auctions of all kinds run on the published view while a feeder changes everything. Under the race detector this shows
// that no view shares memory with what is written. An auction that is run twice on one view gives the same result.
func TestAuctionsDuringFeeding(t *testing.T) {
	r := newRandomMarket(3, 40)
	r.m.Publish()
	queries := make([]query, 64)
	for i := range queries {
		queries[i] = r.query()
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for reader := range uint64(2) {
		readers.Go(func() {
			var sc auction.Scratch
			for seq := reader; ; seq++ {
				select {
				case <-done:
					return
				default:
				}
				v := r.m.View()
				req := requestFor(v, 1, queries...)
				var once, again auction.Results
				auction.Run(v, params(100, seq), req, &once, &sc)
				auction.Run(v, params(100, seq), req, &again, &sc)
				a, b := texts(&once), texts(&again)
				for i := range a {
					if a[i] != b[i] {
						t.Errorf("%s, and then %s", a[i], b[i])
						return
					}
				}
			}
		})
	}
	for range 300 {
		for range 20 {
			r.changeMarket()
		}
		r.m.Publish()
	}
	close(done)
	readers.Wait()
}
