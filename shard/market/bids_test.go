package market

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/shard/model"
)

// A product's row names the campaign of its first bid after any additions and removals.
func TestRowNamesFirstCampaign(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	m := New(1)
	campaigns := make([]model.Campaign, 5)
	for i := range campaigns {
		campaigns[i] = model.Campaign{Ordinal: uint32(i + 1), Group: 1, Marketplace: 1}
		m.PutCampaign(&campaigns[i])
	}
	for round := range 2000 {
		product := fmt.Sprint("p", r.IntN(3))
		ordinal := r.Uint32N(12)
		m.PutBid(&campaigns[ordinal%5], &model.Bid{Ordinal: ordinal, Target: product, Amount: 1, Deleted: r.IntN(2) == 0})
		if r.IntN(3) == 0 {
			m.Publish()
		}
		row, _, _ := m.findProduct(1, product)
		p, want := m.products.at(row), uint32(0)
		if bids := m.bids.at(p.block, p.Bids); len(bids) > 0 {
			want = bids[0].Campaign
		}
		if p.Campaign != want {
			t.Fatalf("round %d: campaign %d, want %d", round, p.Campaign, want)
		}
	}
}
