package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Granularity is what one row of a report stands for.
type Granularity uint8

// The granularities.
const (
	Whole  Granularity = iota // All days of the report.
	Daily                     // A local day.
	Hourly                    // A local hour.
)

// CounterRow is the sum of the counters of a product, a vendor or the marketplace, over an hour, a day or all days.
//
// Impressions, clicks and attributed sales are those of campaigns: of all bids on the product, of all campaigns of the vendor. Purchases of a
// product are all of its purchases, whatever led to them. Counters do not say which vendor sold a product, so a vendor gets the
// purchases of those products that no other vendor sells: perhaps too few, but none of another vendor, and none twice.
type CounterRow struct {
	// Date is the day in the marketplace's time zone as YYYY-MM-DD, or the beginning of the hour in UTC as RFC 3339, so that the
	// two equal hours of a change of clocks are told apart and the texts ascend with time. It is empty in a sum.
	Date string
	rollup.Counters
	Sold     map[string]int64 // Purchases by product.
	Auctions rollup.Auctions  // Of the campaigns; not filled for a product. An auction counts once for each campaign.
}

// tally sums counters in rows. key names the row of a cell.
type tally struct {
	key  func(cell uint32) string
	rows map[string]*CounterRow
}

// newTally returns a tally with rows of a granularity.
func (t Tenant) newTally(by Granularity) *tally {
	y := &tally{key: func(uint32) string { return "" }, rows: map[string]*CounterRow{}}
	switch by {
	case Whole:
	case Daily:
		zone := t.Location()
		y.key = func(cell uint32) string { return timeOf(cell).In(zone).Format(time.DateOnly) }
	case Hourly: // A cell is a local hour.
		y.key = func(cell uint32) string { return timeOf(cell).UTC().Format(time.RFC3339) }
	}
	return y
}

// timeOf is the time at which a cell begins.
func timeOf(cell uint32) time.Time { return time.Unix(int64(cell)*rollup.CellSeconds, 0) }

func (y *tally) row(cell uint32) *CounterRow {
	key := y.key(cell)
	n := y.rows[key]
	if n == nil {
		n = &CounterRow{Date: key, Sold: map[string]int64{}}
		y.rows[key] = n
	}
	return n
}

func (y *tally) add(cell uint32, c *rollup.Counters) { y.row(cell).Add(c) }

// addAuctions adds the auctions of a campaign, if the group has it.
func (y *tally) addAuctions(b *longState, campaign ids.UUID, span cells) {
	for _, x := range b.CampaignAuctions(campaign, span.from, span.to) {
		y.row(x.Cell).Auctions.Add(&x.Auctions)
	}
}

// sold counts the purchases of a product by product; add has counted them in the sum already.
func (y *tally) sold(product string, c *shard.CellCounters) {
	y.row(c.Cell).Sold[product] += c.Purchases
}

func (y *tally) sorted() []CounterRow {
	rows := make([]CounterRow, 0, len(y.rows))
	for _, key := range slices.Sorted(maps.Keys(y.rows)) {
		rows = append(rows, *y.rows[key])
	}
	return rows
}

// withoutPurchases returns the counters of impressions and clicks, of what they could not be charged, of what was attributed
// to them, and of invalid clicks.
func withoutPurchases(c *rollup.Counters) *rollup.Counters {
	return &rollup.Counters{
		Impressions: c.Impressions, ChargedImpressions: c.ChargedImpressions, SpentImpressions: c.SpentImpressions,
		Clicks: c.Clicks, ChargedClicks: c.ChargedClicks, SpentClicks: c.SpentClicks, Overdelivery: c.Overdelivery,
		Attributed: c.Attributed, Halo: c.Halo, Viewed: c.Viewed, ChargedPurchases: c.ChargedPurchases, SpentPurchases: c.SpentPurchases,
		Invalid: c.Invalid,
	}
}

// ofCampaign returns the counters of a campaign with the attributed sales among its purchases.
func ofCampaign(c rollup.Counters) rollup.Counters {
	c.Purchases += c.Attributed.Count
	c.PurchaseQuantity += c.Attributed.Quantity
	c.PurchaseAmount += c.Attributed.Amount
	return c
}

// ProductCounters returns the counters of a product. Days and hours without counters are left out. ErrNotFound for a
// product that is not in the catalog and has none.
func (t Tenant) ProductCounters(ctx context.Context, id string, d Dates, by Granularity) ([]CounterRow, error) {
	span, err := t.cells(d)
	if err != nil {
		return nil, err
	}
	y := t.newTally(by)
	err = t.eachCampaign(ctx, "", func(b *longState, c *campaignRef) {
		b.CampaignBidCells(c.id, span.from, span.to, func(x *shard.BidCell) {
			if x.Bid != 0 && x.Target == id {
				y.add(x.Cell, withoutPurchases(&x.Counters))
			}
		})
	})
	if err == nil {
		err = t.addSales(ctx, []string{id}, span, y)
	}
	if err == nil && len(y.rows) == 0 {
		_, err = t.Product(ctx, id)
	}
	return y.sorted(), err
}

// VendorCounters returns the counters of a vendor, as ProductCounters does. ErrNotFound for an unknown vendor that has none.
func (t Tenant) VendorCounters(ctx context.Context, id string, d Dates, by Granularity) ([]CounterRow, error) {
	span, err := t.cells(d)
	if err != nil {
		return nil, err
	}
	y := t.newTally(by)
	err = t.eachCampaign(ctx, id, func(b *longState, c *campaignRef) {
		for _, x := range b.CampaignCells(c.id, span.from, span.to) {
			y.add(x.Cell, withoutPurchases(&x.Counters))
		}
		y.addAuctions(b, c.id, span)
	})
	if err != nil {
		return nil, err
	}
	own, err := t.soldOnlyBy(ctx, id)
	if err == nil {
		err = t.addSales(ctx, own, span, y)
	}
	if err == nil && len(y.rows) == 0 {
		_, err = t.Vendor(ctx, id)
	}
	return y.sorted(), err
}

// MarketplaceCounters returns the counters of all campaigns and of all events that named none. Sold is filled only if byProduct is
// true: that needs the counters of products, of which there may be very many.
func (t Tenant) MarketplaceCounters(ctx context.Context, d Dates, by Granularity, byProduct bool) ([]CounterRow, error) {
	span, err := t.cells(d)
	if err != nil {
		return nil, err
	}
	y := t.newTally(by)
	err = t.eachCampaign(ctx, "", func(b *longState, c *campaignRef) {
		for _, x := range b.CampaignCells(c.id, span.from, span.to) {
			y.add(x.Cell, &x.Counters)
		}
		y.addAuctions(b, c.id, span)
	})
	if err != nil {
		return nil, err
	}
	err = t.allGroups(ctx, func(b *longState) {
		for _, c := range b.NoCampaignCells(t.marketplace, span.from, span.to) {
			y.add(c.Cell, &c.Counters)
		}
		if byProduct {
			b.ProductsSold(t.marketplace, span.from, span.to, y.sold)
		}
	})
	return y.sorted(), err
}

// addSales adds the purchases of products. They may lie in any group.
func (t Tenant) addSales(ctx context.Context, products []string, span cells, y *tally) error {
	return t.allGroups(ctx, func(b *longState) {
		for _, id := range products {
			if b.stopped() {
				return
			}
			for _, c := range b.ProductCells(t.marketplace, id, span.from, span.to) {
				y.add(c.Cell, &c.Counters)
				y.sold(id, &c)
			}
		}
	})
}

// campaignRef is what reports need of a campaign.
type campaignRef struct {
	id     ids.UUID
	vendor string
}

// eachCampaign calls fn, in every group, for all campaigns of a vendor, or of all vendors when vendor is empty. Terminated campaigns
// are included. Every group is read because events that named a campaign by its external id may lie in any.
func (t Tenant) eachCampaign(ctx context.Context, vendor string, fn func(*longState, *campaignRef)) error {
	campaigns, err := t.campaignRefs(ctx, vendor)
	if err != nil {
		return err
	}
	return t.allGroups(ctx, func(b *longState) {
		for i := range campaigns {
			if b.stopped() {
				return
			}
			fn(b, &campaigns[i])
		}
	})
}

func (t Tenant) campaignRefs(ctx context.Context, vendor string) (refs []campaignRef, err error) {
	err = t.allGroups(ctx, func(b *longState) {
		for _, status := range []*model.Status{nil, new(model.Terminated)} {
			const all = 1 << 30
			campaigns, _ := b.Campaigns(t.marketplace, &shard.CampaignFilter{VendorID: vendor, Status: status}, 0, all)
			for i := range campaigns {
				refs = append(refs, campaignRef{campaigns[i].ID, campaigns[i].VendorID})
			}
		}
	})
	slices.SortFunc(refs, func(a, b campaignRef) int { return slices.Compare(a.id[:], b.id[:]) }) // The state stores them in this order.
	return refs, err
}

// soldOnlyBy returns the products of a vendor that no other vendor sells.
func (t Tenant) soldOnlyBy(ctx context.Context, vendor string) (own []string, err error) {
	err = t.readInSteps(ctx, t.store.Groups.Meta(), func(b *longState) {
		const step = 1_000
		for after, more := "", true; more && !b.stopped(); {
			var products []model.Product
			products, more = b.ProductsOf(t.marketplace, vendor, after, step)
			for i := range products {
				after = products[i].ID
				if sellerOf(&products[i]) == vendor {
					own = append(own, after)
				}
			}
		}
	})
	return own, err
}

// sellerOf returns the vendor of a product that has exactly one, else the empty string.
func sellerOf(p *model.Product) string {
	if len(p.Vendors) == 0 || slices.ContainsFunc(p.Vendors, func(v string) bool { return v != p.Vendors[0] }) {
		return ""
	}
	return p.Vendors[0]
}
