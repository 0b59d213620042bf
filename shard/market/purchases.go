package market

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/model"
)

// PurchaseCell names what the purchases after clicks are counted for: all ads of a format in a marketplace, or one ad. The
// ad of a listing is the product, whatever campaign advertises it, because the shop shows the same page; that of a banner
// or sponsored brand is the campaign.
type PurchaseCell struct {
	Marketplace uint16
	Format      model.AdFormat
	Product     string // Of a listing; empty: all ads of the format.
	Campaign    uint32 // The ordinal of the campaign of another format; 0: all ads of the format.
}

// IsFormat reports whether the cell is of all ads of its format.
func (c *PurchaseCell) IsFormat() bool { return c.Product == "" && c.Campaign == 0 }

// purchases are what the groups have published of the purchases after clicks on listings, and the sums over the groups.
// Base bids follow from them (autobid.go); auctions do not read them. Those of other formats are not kept, because their
// bids have no base bid.
//
// LOCKS: the market's lock guards it.
type purchases struct {
	parts   map[purchasePart]learn.Bought // BOUND: package shard bounds the ads of a group and marketplace.
	ads     map[uint32]learn.Bought       // By row of the product.
	formats map[uint16]learn.Bought       // By marketplace.
}

// purchasePart names what one group has published of a product, or with the row noRow of all listings.
type purchasePart struct {
	group       ids.Group
	marketplace uint16
	row         uint32
}

const noRow = ^uint32(0)

func (p *purchases) init() {
	p.parts, p.ads, p.formats = map[purchasePart]learn.Bought{}, map[uint32]learn.Bought{}, map[uint16]learn.Bought{}
}

// prior returns what is expected of a product of which nothing is known.
func (p *purchases) prior(marketplace uint16) learn.Prior {
	top, all := learn.NewPrior(learn.PriorPurchase), p.formats[marketplace]
	return learn.NewPrior(all.Rate(&top))
}

// PutPurchases replaces what a group has counted of a cell. Zero removes it. The base bids on the product, or of the
// marketplace when the cell is of a format, change with the next Publish.
func (m *Market) PutPurchases(g ids.Group, c *PurchaseCell, b learn.Bought) {
	if c.Format != model.Listing {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()

	p := purchasePart{g, c.Marketplace, noRow}
	if !c.IsFormat() {
		p.row = m.product(c.Marketplace, c.Product)
	}
	m.putPurchases(p, b)
}

func (m *Market) putPurchases(p purchasePart, b learn.Bought) {
	old := m.purchases.parts[p]
	if old == b {
		return
	}
	if b == (learn.Bought{}) {
		delete(m.purchases.parts, p)
	} else {
		m.purchases.parts[p] = b
	}
	if p.row == noRow {
		m.purchases.formats[p.marketplace] = exchange(m.purchases.formats[p.marketplace], old, b)
		m.renewBases(p.marketplace)
		return
	}
	sum := exchange(m.purchases.ads[p.row], old, b)
	if sum == (learn.Bought{}) {
		delete(m.purchases.ads, p.row)
	} else {
		m.purchases.ads[p.row] = sum
	}
	m.renewBase(p.row)
}

// exchange returns a sum with one part replaced. Unsigned sums are right whatever the difference.
func exchange(sum, old, b learn.Bought) learn.Bought {
	return learn.Bought{
		Clicks: sum.Clicks + b.Clicks - old.Clicks, Purchases: sum.Purchases + b.Purchases - old.Purchases, Value: sum.Value + b.Value - old.Value,
	}
}

// dropPurchases removes what a group has published.
func (m *Market) dropPurchases(g ids.Group) {
	for p := range m.purchases.parts { // order: the parts are subtracted from sums.
		if p.group == g {
			m.putPurchases(p, learn.Bought{})
		}
	}
}
