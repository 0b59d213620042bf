package market

import (
	"sync/atomic"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
)

// PurchaseCell names what the purchases after clicks are counted for: all ads of a format in a marketplace, or one ad. The
// ad of a listing is the product, whatever campaign advertises it, because the shop shows the same page; that of a banner
// or sponsored brand is the campaign.
type PurchaseCell struct {
	Marketplace uint16
	Format      AdFormat
	Product     string // Of a listing; empty: all ads of the format.
	Campaign    uint32 // The ordinal of the campaign of another format; 0: all ads of the format.
}

// IsFormat reports whether the cell is of all ads of its format.
func (c *PurchaseCell) IsFormat() bool { return c.Product == "" && c.Campaign == 0 }

// purchaseRates are the learned purchase rates as auctions read them, without a lock, in the way of clickRates.
type purchaseRates struct {
	formats atomic.Pointer[[][AdFormats]uint32] // By ordinal of the marketplace: predictions in units of 1/2^32; 0: none.
	ads     atomic.Pointer[adTable]             // Of clicks and purchases. Nil before the first ad.
}

// PurchasesOf names the product of a row where purchase rates are looked up.
func PurchasesOf(row uint32) AdKey { return ProductAd(row, 0) }

// PurchasesOfCampaign names a campaign of another format than Listing.
func PurchasesOfCampaign(g ids.Group, ordinal uint32) AdKey {
	return BidAd(uint64(g)<<32|uint64(ordinal), 0)
}

// PurchaseRate returns the expected number of purchases of a click on an ad, in units of 1/2^32, from learn.RateMin to
// learn.RateMax.
func (v *View) PurchaseRate(marketplace uint16, format AdFormat, ad AdKey) uint32 {
	prior := v.purchases.prior(marketplace, format)
	t := v.purchases.ads.Load()
	if t == nil {
		return prior.Rate
	}
	e := t.find(ad)
	if e == nil {
		return prior.Rate
	}
	return e.counts().Predict(&prior)
}

// prior returns the prediction for an average ad of a format.
func (p *purchaseRates) prior(marketplace uint16, format AdFormat) learn.Prior {
	all := p.formats.Load()
	if all == nil || int(marketplace) >= len(*all) || (*all)[marketplace][format] == 0 {
		return learn.NewPrior(learn.PriorPurchase)
	}
	return learn.NewPrior((*all)[marketplace][format])
}

// boughtCounts is what the groups have published of purchases, and its sums over the groups.
//
// LOCKS: the market's lock guards it.
type boughtCounts struct {
	parts   map[boughtPart]learn.Bought // BOUND: package shard bounds the ads of a group and marketplace.
	sums    map[AdKey]learn.Bought
	formats map[formatOf]learn.Bought
}

// boughtPart names what one group has published of one cell. ad is 0 for that of a format.
type boughtPart struct {
	group ids.Group
	formatOf
	ad AdKey
}

type formatOf struct {
	marketplace uint16
	format      AdFormat
}

// PutPurchases replaces what a group has counted of a cell. Zero removes it. Base bids of the product change with the
// next Publish, or those of the marketplace when the cell is of the listing format.
func (m *Market) PutPurchases(g ids.Group, c *PurchaseCell, b learn.Bought) {
	m.mu.Lock()
	defer m.mu.Unlock()

	p := boughtPart{group: g, formatOf: formatOf{c.Marketplace, c.Format}}
	switch {
	case c.IsFormat():
	case c.Format == Listing:
		p.ad = PurchasesOf(m.product(c.Marketplace, c.Product))
	default:
		p.ad = PurchasesOfCampaign(g, c.Campaign)
	}
	m.putBought(p, b)
}

func (m *Market) putBought(p boughtPart, b learn.Bought) {
	old := m.bought.parts[p]
	if old == b {
		return
	}
	if b == (learn.Bought{}) {
		delete(m.bought.parts, p)
	} else {
		m.bought.parts[p] = b
	}
	if p.ad == 0 {
		m.bought.formats[p.formatOf] = exchange(m.bought.formats[p.formatOf], old, b)
		m.predictPurchases(p.formatOf)
		if p.format == Listing {
			m.renewBases(p.marketplace)
		}
		return
	}
	sum := exchange(m.bought.sums[p.ad], old, b)
	if sum == (learn.Bought{}) {
		delete(m.bought.sums, p.ad)
	} else {
		m.bought.sums[p.ad] = sum
	}
	changeAd(&m.purchases.ads, p.ad, func(x *learn.Counts) { *x = learn.Counts{Impressions: sum.Clicks, Clicks: sum.Purchases} })
	if p.format == Listing {
		m.renewBase(uint32(p.ad>>8) - 1) // The row of the product; see ProductAd.
	}
}

// exchange returns a sum with one part replaced. Unsigned sums are right whatever the difference.
func exchange(sum, old, b learn.Bought) learn.Bought {
	return learn.Bought{
		Clicks: sum.Clicks + b.Clicks - old.Clicks, Purchases: sum.Purchases + b.Purchases - old.Purchases, Value: sum.Value + b.Value - old.Value,
	}
}

// predictPurchases stores the prediction of a format. The list is copied, because auctions read it; it changes once a day.
func (m *Market) predictPurchases(of formatOf) {
	var all [][AdFormats]uint32
	if known := m.purchases.formats.Load(); known != nil {
		all = *known
	}
	next := make([][AdFormats]uint32, max(len(all), int(of.marketplace)+1))
	copy(next, all)
	top, sum := learn.NewPrior(learn.PriorPurchase), m.bought.formats[of]
	next[of.marketplace][of.format] = sum.Rate(&top)
	m.purchases.formats.Store(&next)
}

// dropPurchases removes what a group has published.
func (m *Market) dropPurchases(g ids.Group) {
	var parts []boughtPart
	for p := range m.bought.parts { // order: each part is subtracted from its sum.
		if p.group == g {
			parts = append(parts, p)
		}
	}
	for _, p := range parts {
		m.putBought(p, learn.Bought{})
	}
}
