package market_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// TestUsage compares the counts, after random feeding, with those of plain sets.
func TestUsage(t *testing.T) {
	type place struct{ campaign, ordinal uint32 }
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 3))
		m := market.New(seed)
		states, bids, products := map[uint32]*model.Campaign{}, map[place]string{}, map[string]bool{}
		for range 400 {
			o := 1 + uint32(random.IntN(6))
			c := states[o]
			if c == nil {
				c = campaign(ids.Group(1+o%2), o)
				c.VendorID, c.Status = fmt.Sprint("v", o%3), model.Approved
			}
			switch random.IntN(9) {
			case 0, 1:
				c.Status = model.Status(random.IntN(4))
				states[o] = c
				m.PutCampaign(c)
			case 2, 3, 4:
				if states[o] == nil {
					continue
				}
				at := place{o, uint32(random.IntN(8))}
				target, there := bids[at]
				if !there {
					target = fmt.Sprint("p", random.IntN(5))
				}
				b := model.Bid{Ordinal: at.ordinal, Target: target, Amount: 1, Deleted: there && random.IntN(2) == 0}
				m.PutBid(c, &b)
				if bids[at] = target; b.Deleted {
					delete(bids, at)
				}
			case 5, 6:
				id := fmt.Sprint("p", random.IntN(8))
				m.PutProduct(c.Marketplace, &model.Product{ID: id, Active: random.IntN(2) == 0})
				products[id] = true
			case 7:
				id := fmt.Sprint("p", random.IntN(8))
				m.DeleteProduct(c.Marketplace, id)
				delete(products, id)
			case 8:
				m.WhatIfView(&market.WhatIf{Campaign: *c, Bids: []model.Bid{{Target: "p1", Amount: 1}}, Excluded: states[o]})
				if random.IntN(8) > 0 {
					break
				}
				g := ids.Group(1 + random.IntN(2))
				m.Reset(g, g == 1)
				if g == 1 {
					clear(products)
				}
				for o, c := range states {
					if c.Group == g {
						delete(states, o)
						for at := range bids {
							if at.campaign == o {
								delete(bids, at)
							}
						}
					}
				}
			}
			var all market.Usage
			own := map[string]market.Usage{}
			for o, c := range states {
				if c.Status == model.Terminated {
					continue
				}
				u := own[c.VendorID]
				u.Campaigns++
				for at := range bids {
					if at.campaign == o {
						u.Bids++
					}
				}
				own[c.VendorID] = u
			}
			for _, u := range own {
				all.Campaigns, all.Bids = all.Campaigns+u.Campaigns, all.Bids+u.Bids
			}
			all.Products = len(products)
			for v := range 3 {
				vendor := fmt.Sprint("v", v)
				if whole, mine := m.Usage(c.Marketplace, vendor); whole != all || mine != own[vendor] {
					t.Fatalf("seed %d: %+v and of %s %+v, want %+v and %+v", seed, whole, vendor, mine, all, own[vendor])
				}
			}
		}
	}
}
