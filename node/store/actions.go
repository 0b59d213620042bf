package store

import (
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/behavior"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
)

// actionReader reads what users of a marketplace did, from all groups.
type actionReader struct {
	t           Tenant
	asOf        int64 // What groups committed later is left out.
	first, last uint32
	catalog     bool // The vendors and categories of products are needed.

	ads      map[adOf]shard.BoughtItem  // Product and vendor of ads. BOUND: those of the users of one round.
	products map[string]behavior.Entity // What the catalog says about products. BOUND: likewise.
	found    []storedAction             // Reused for each user.
}

// adOf names an ad.
type adOf struct {
	group         ids.Group
	campaign, bid uint32
}

// storedAction is an action before its products are looked up.
type storedAction struct {
	kind   event.Kind
	millis int64
	items  []shard.BoughtItem
}

// of returns the actions of a user.
func (a *actionReader) of(user uint64) (all []behavior.Action, err error) {
	a.found = a.found[:0]
	for _, g := range a.t.store.dataGroups() {
		if err := a.t.store.readGroup(g, func(b shard.Queries) { a.readIn(b, g, user) }); err != nil {
			return nil, err
		}
	}
	for _, x := range a.found {
		did := behavior.Action{Kind: x.kind, Millis: x.millis, Subjects: make([]behavior.Entity, len(x.items))}
		for i := range x.items {
			if did.Subjects[i], err = a.entity(&x.items[i]); err != nil {
				return nil, err
			}
		}
		all = append(all, did)
	}
	return all, nil
}

// readIn adds what one group has stored of a user.
func (a *actionReader) readIn(b shard.Queries, g ids.Group, user uint64) {
	b.Touches(a.t.marketplace, user, a.first, a.last, func(x *shard.Touch) bool {
		if x.ReceivedMillis <= a.asOf {
			a.found = append(a.found, storedAction{x.Kind, x.OccurredMillis, a.ad(b, g, x)})
		}
		return true
	})
	b.PurchasesOf(a.t.marketplace, user, a.first, a.last, func(x *shard.UserPurchase) {
		if x.ReceivedMillis <= a.asOf {
			a.found = append(a.found, storedAction{event.Purchase, x.OccurredMillis, x.Items})
		}
	})
}

// ad returns product and vendor of the ad of a touch, and nothing when the group does not have it.
func (a *actionReader) ad(b shard.Queries, g ids.Group, x *shard.Touch) []shard.BoughtItem {
	key := adOf{g, x.Campaign, x.Bid}
	item, known := a.ads[key]
	if !known {
		if ad, found := b.TouchedAd(x); found {
			item = shard.BoughtItem{Product: ad.Product, Vendor: ad.VendorID}
		}
		if a.ads == nil {
			a.ads = map[adOf]shard.BoughtItem{}
		}
		a.ads[key] = item
	}
	if item == (shard.BoughtItem{}) {
		return nil
	}
	return []shard.BoughtItem{item}
}

// entity returns product, vendor and categories of what was seen or bought. The catalog says of which vendors a product is
// that was reported without one.
func (a *actionReader) entity(item *shard.BoughtItem) (behavior.Entity, error) {
	e := behavior.Entity{Product: item.Product}
	if a.catalog && item.Product != "" {
		known, err := a.product(item.Product)
		if err != nil {
			return e, err
		}
		e = known
	}
	if item.Vendor != "" {
		e.Vendors = []string{item.Vendor}
	}
	return e, nil
}

// product returns what the catalog says about a product now.
func (a *actionReader) product(id string) (behavior.Entity, error) {
	if e, known := a.products[id]; known {
		return e, nil
	}
	e, err := read(a.t, a.t.store.Groups.Meta(), func(b shard.Queries) behavior.Entity {
		p, _ := b.Product(a.t.marketplace, id)
		e := behavior.Entity{Product: id, Vendors: p.Vendors}
		for _, category := range p.Categories {
			for range categoryDepthMax {
				if category == "" {
					break
				}
				e.Categories = append(e.Categories, category)
				above, _ := b.Category(a.t.marketplace, category)
				category = above.ParentID
			}
		}
		return e
	})
	if a.products == nil {
		a.products = map[string]behavior.Entity{}
	}
	if err == nil {
		a.products[id] = e
	}
	return e, err
}

// categoryDepthMax bounds the categories above a product. BOUND: the catalog refuses deeper ones.
const categoryDepthMax = 64
