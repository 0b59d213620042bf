package auction_test

import (
	"sync"
	"testing"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Workers sell one budget until it has no headroom, while their wins are collected and the hold is published. Nothing
// is lost: the totals are exactly what the workers won. The headroom that a worker sees lags behind by the requests
// that the others are answering, so the budget is oversold by less than one win of each worker.
func TestWorkersShareABudget(t *testing.T) {
	const workers, left = 4, 20_000_000
	m := market.New(1)
	w := newModelMarket()
	w.products["p"] = model.Product{ID: "p", Active: true, Quality: model.QualityOne}
	c := w.campaign("c", "v", 1)
	c.left, c.Price = left, model.FirstPrice
	w.bids[bidKey{"c", 1}] = model.Bid{Ordinal: 1, Target: "p", Amount: 100_000, Active: true}
	w.feed(m)
	m.SetServingNodes(1)
	m.Publish()
	v := m.View()
	s := market.NewSpending(m)

	var selling sync.WaitGroup
	var won [workers]market.Spent
	for worker := range workers {
		selling.Go(func() {
			var res auction.Results
			var sc auction.Scratch
			req := requestFor(v, 1, query{slots: 1, products: []string{"p"}})
			for seq := uint64(0); ; seq++ {
				auction.Run(v, params(100, seq), req, &res, &sc)
				auction.RecordWins(v, &res)
				if len(res.Results[0].Winners) == 0 {
					return
				}
				won[worker].Wins++
				won[worker].Expected += res.Results[0].Winners[0].Expected
			}
		})
	}
	done := make(chan struct{})
	var collecting sync.WaitGroup
	collecting.Go(func() {
		var spent []market.Spent
		for {
			select {
			case <-done:
				return
			default:
			}
			s.Collect()
			if spent = s.AppendChanged(spent[:0], c.Group, 0); len(spent) > 0 {
				c.slot.Hold.Store(int64(spent[0].Expected)) // At once, so before the wins leave the pending sum.
			}
		}
	})
	selling.Wait()
	close(done)
	collecting.Wait()

	var all market.Spent
	for i := range won {
		all.Wins += won[i].Wins
		all.Expected += won[i].Expected
	}
	s.Collect()
	got := s.AppendChanged(nil, c.Group, 0)
	if len(got) != 1 || got[0].Wins != all.Wins || got[0].Expected != all.Expected {
		t.Errorf("the totals are %+v, won were %+v", got, all)
	}
	// A win may be pending and part of the hold at once, so the workers may stop when half of the budget is sold.
	if cost := all.Expected / money.Micros(max(all.Wins, 1)); all.Expected >= left+workers*cost || all.Expected < left/2 {
		t.Errorf("%d of %d were sold, a win costs %d", all.Expected, left, cost)
	}
}
