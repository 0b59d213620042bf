package market_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Groups feed and publish while auctions run. Every bid of a round has the round's number as its amount, so an auction
// that saw two rounds at once would give two prices. Run it with -race.
func TestAuctionsDuringPublication(t *testing.T) {
	const products, rounds = 40, 200
	m := market.New(1)
	m.PutMarketplace(&settings)
	var all []string
	for i := range products {
		all = append(all, fmt.Sprint("p", i))
		m.PutProduct(1, product(all[i], "c"))
	}
	m.PutCategory(1, &model.Category{ID: "c"})
	c := put(m, campaign(1, 1))
	feed := func(round int) {
		for i, id := range all {
			m.PutBid(c, bid(uint32(i+1), id, money.Micros(round+1)*10_000))
		}
		m.Publish()
	}
	feed(0)

	var readers, writers sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				v := m.View()
				for _, got := range []string{winnersOf(v, market.Hash, all...), inCategory(v, "c")} {
					if n := strings.Count(got, "@"); n != products {
						t.Errorf("%d winners: %s", n, got)
						return
					}
					_, price, _ := strings.Cut(got, "@")
					price, _, _ = strings.Cut(price, " ")
					if strings.Count(got, "@"+price) != products {
						t.Errorf("two rounds at once: %s", got)
						return
					}
				}
			}
		})
	}
	// Another group adds and removes bids on other products. It does not publish, so that no round is published in part.
	writers.Go(func() {
		r := rand.New(rand.NewPCG(1, 1))
		other := put(m, campaign(2, 1))
		for i := range 20 * rounds {
			b := bid(uint32(r.IntN(500)+1), fmt.Sprint("q", r.IntN(300)), 10_000)
			b.Deleted = r.IntN(3) == 0
			m.PutBid(other, b)
			m.PutProduct(1, product(b.Target, fmt.Sprint("d", i%50)))
			m.PutCategory(1, &model.Category{ID: fmt.Sprint("d", i%60)})
			if i%1000 == 999 {
				m.Reset(ids.Group(2), false)
				put(m, other)
			}
		}
	})
	// The feeder of group 1 is one goroutine.
	writers.Go(func() {
		for round := range rounds {
			m.PutCampaign(c)
			feed(round + 1)
		}
	})
	writers.Wait()
	close(done)
	readers.Wait()
}
