package store

import (
	"context"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// A user has bought when an item of a purchase of the user was credited to the ads. A credit does not name the user, so the
// purchases of the users of a range are read in all groups, and then, in the groups of the ads, what was credited of them.

// reachPurchasesMax is how many purchases are read at once. BOUND: they have at most a thousand items each, which takes
// some 20 MB; nearly all have a few.
const reachPurchasesMax = 256

// reachItem is an item of a purchase that was credited to a touch of some group.
type reachItem struct {
	buyer    uint64
	purchase command.PurchaseName
	item     uint16
}

// purchasePosition is where the next page of the purchases of a group begins.
type purchasePosition struct {
	day   uint32
	after shard.BuyerPosition
}

// readBuyers finds those users of the range who have bought.
func (x *reachCount) readBuyers(ctx context.Context) error {
	if !x.out.BuyersKept {
		return nil
	}
	for _, g := range x.tenant.store.dataGroups() {
		at := purchasePosition{day: x.first - min(x.first, 1)} // A purchase may be dated half a minute after its report.
		for at.day <= x.today {
			items, err := x.purchases(ctx, g, &at)
			if err != nil {
				return err
			}
			if err := x.readCredits(ctx, items); err != nil {
				return err
			}
		}
	}
	return nil
}

// purchases returns the credited items of a page of purchases, by the groups of the credits, and moves the position behind
// the page.
func (x *reachCount) purchases(ctx context.Context, g ids.Group, at *purchasePosition) (items map[ids.Group][]reachItem, err error) {
	items = map[ids.Group][]reachItem{}
	err = x.tenant.readInSteps(ctx, g, func(b *longState) {
		for left := x.purchasesMax; left > 0 && at.day <= x.today && !b.stopped(); {
			all, more := b.PurchasesOfUsers(x.tenant.marketplace, at.day, x.users, at.after, left)
			for i := range all {
				p := &all[i]
				at.after = shard.BuyerPosition{Buyer: p.Buyer, Purchase: p.Name.Key}
				for item := range p.Items {
					of := p.Items[item].Credit
					items[of] = append(items[of], reachItem{p.Buyer, p.Name, uint16(item)}) // Items are at most event.ItemsMax.
				}
			}
			left -= len(all)
			if !more {
				*at = purchasePosition{day: at.day + 1}
			}
		}
	})
	return items, err
}

// readCredits counts the buyers of items that were credited to the ads. A credit that is decided and not carried out yet is
// not found, as it is in no other report.
func (x *reachCount) readCredits(ctx context.Context, items map[ids.Group][]reachItem) error {
	for _, g := range x.touched {
		if len(items[g]) == 0 {
			continue
		}
		err := x.tenant.readInSteps(ctx, g, func(b *longState) {
			for _, i := range items[g] {
				if b.stopped() {
					return
				}
				c, found := b.Credit(&i.purchase, i.item)
				if found && c.Returned < c.Quantity && x.counts(g, c.Campaign, c.Cell) {
					x.add(i.buyer, c.Place.Placement(), reachEntry{bought: true})
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
