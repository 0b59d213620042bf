package demo

import (
	"math/rand/v2"
	"slices"

	"github.com/gavel-ads/gavel/shard/money"
)

// popularPages is how many pages of products the shoppers of a history visit. A page is visited in proportion to one over
// its place, as pages of a shop are: so a few campaigns spend much, and their budgets matter. BOUND: every campaign that
// loses in an hour has a record of the hour, so these pages must not have the bids of all campaigns.
const popularPages = 24

// popular are the pages of products that shoppers visit, the most popular one first.
type popular struct {
	pages [][]string
	upTo  []float64 // Sums of the pages' weights, up to and including each.
}

func newPopular(m *Market, seed uint64) popular {
	rng := rand.New(rand.NewPCG(seed, 0xbb67ae8584caa73b)) //nolint:gosec // a demo.
	var p popular
	sum := 0.0
	for i := range popularPages {
		sum += 1 / float64(i+1)
		p.pages, p.upTo = append(p.pages, productIDs(rng, m)), append(p.upTo, sum)
	}
	return p
}

// choose returns the products of a page.
func (p *popular) choose(rng *rand.Rand) []string {
	at, _ := slices.BinarySearch(p.upTo, rng.Float64()*p.upTo[len(p.upTo)-1])
	return p.pages[min(at, len(p.pages)-1)]
}

// leader is a campaign with the highest bid of a popular page.
type leader struct{ VendorID, Name string }

// leaders returns the campaigns with the highest bids of the pages, those of more popular pages first.
func (p *popular) leaders(m *Market) (all []leader) {
	type offer struct {
		amount   money.Micros
		campaign int
	}
	best := map[string]offer{}
	for i := range m.Campaigns {
		for _, b := range m.Campaigns[i].Bids {
			if b.Amount > best[b.Target].amount {
				best[b.Target] = offer{b.Amount, i}
			}
		}
	}
	for i := range m.Products {
		if !m.Products[i].Active {
			delete(best, m.Products[i].ID)
		}
	}
	for _, page := range p.pages {
		var first offer
		for _, id := range page {
			if best[id].amount > first.amount {
				first = best[id]
			}
		}
		if first.amount == 0 {
			continue // Nobody bids on the page.
		}
		l := leader{m.Campaigns[first.campaign].VendorID, m.Campaigns[first.campaign].Name}
		if !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	return all
}
