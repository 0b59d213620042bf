package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// cells is a range of rollup cells; to is exclusive.
type cells struct{ from, to uint32 }

func (t Tenant) cells(d Dates) (cells, error) {
	zone := t.Location()
	from, err := time.ParseInLocation(time.DateOnly, d.From, zone)
	if err != nil {
		return cells{}, fmt.Errorf("from: %w", err)
	}
	last, err := time.ParseInLocation(time.DateOnly, d.To, zone)
	if err != nil {
		return cells{}, fmt.Errorf("to: %w", err)
	}
	return cells{from: cellAt(from), to: cellAt(last.AddDate(0, 0, 1))}, nil
}

// cellAt is the number of the cell that contains an instant. Dates before 1970 have no events, so they count as cell 0.
func cellAt(at time.Time) uint32 {
	return uint32(max(0, at.Unix()/rollup.CellSeconds)) // Fits until the year 124,000.
}

// CampaignReport sums a campaign's counters over the dates. ErrNotFound for another marketplace's campaign.
func (t Tenant) CampaignReport(ctx context.Context, campaign ids.UUID, d Dates) (rollup.Counters, error) {
	var sum rollup.Counters
	err := t.eachGroup(ctx, campaign, d, func(b *longState, c cells) {
		part := b.CampaignCounters(campaign, c.from, c.to)
		sum.Add(&part)
	})
	return ofCampaign(sum), err
}

// CampaignSold returns the purchases that were attributed to a campaign by product sold, for each CounterRow.Date.
func (t Tenant) CampaignSold(ctx context.Context, campaign ids.UUID, d Dates, by Granularity) (map[string][]ReportRow, error) {
	y := t.newTally(by)
	err := t.eachGroup(ctx, campaign, d, func(b *longState, c cells) {
		b.CampaignSaleCells(campaign, c.from, c.to, func(s *shard.ProductSales) {
			y.row(s.Cell).Sold[s.Product] += s.Attributed.Count
		})
	})
	sold := make(map[string][]ReportRow, len(y.rows))
	for date, row := range y.rows {
		for _, product := range slices.Sorted(maps.Keys(row.Sold)) {
			sold[date] = append(sold[date], ReportRow{Date: date, ProductID: product, Counters: rollup.Counters{Purchases: row.Sold[product]}})
		}
	}
	return sold, err
}

// CampaignAuctions sums the auctions that a campaign has won and lost over the dates. ErrNotFound for another marketplace's
// campaign.
func (t Tenant) CampaignAuctions(ctx context.Context, campaign ids.UUID, d Dates) (rollup.Auctions, error) {
	var sum rollup.Auctions
	err := t.eachGroup(ctx, campaign, d, func(b *longState, c cells) {
		for _, cell := range b.CampaignAuctions(campaign, c.from, c.to) {
			sum.Add(&cell.Auctions)
		}
	})
	return sum, err
}

// CampaignRows returns a campaign's counters and auctions by local day or hour, oldest first. Those without any are left out.
func (t Tenant) CampaignRows(ctx context.Context, campaign ids.UUID, d Dates, by Granularity) ([]ReportRow, error) {
	y := t.newTally(by)
	err := t.eachGroup(ctx, campaign, d, func(b *longState, c cells) {
		for _, cell := range b.CampaignCells(campaign, c.from, c.to) {
			y.add(cell.Cell, &cell.Counters)
		}
		y.addAuctions(b, campaign, c)
	})
	rows := make([]ReportRow, 0, len(y.rows))
	for _, r := range y.sorted() {
		rows = append(rows, ReportRow{Date: r.Date, Counters: ofCampaign(r.Counters), Auctions: r.Auctions})
	}
	return rows, err
}

// CampaignProducts returns a campaign's counters by product id. Events that named the campaign by its external id belong to no
// product and are left out.
func (t Tenant) CampaignProducts(ctx context.Context, campaign ids.UUID, d Dates) ([]ReportRow, error) {
	products := make(map[string]*rollup.Counters)
	err := t.eachGroup(ctx, campaign, d, func(b *longState, c cells) {
		for _, bid := range b.CampaignBids(campaign, c.from, c.to) {
			if bid.Bid != 0 {
				counters(products, bid.Target).Add(&bid.Counters)
			}
		}
	})
	rows := make([]ReportRow, 0, len(products))
	for id, sum := range products {
		rows = append(rows, ReportRow{ProductID: id, Counters: ofCampaign(*sum)})
	}
	slices.SortFunc(rows, func(a, b ReportRow) int { return cmp.Compare(a.ProductID, b.ProductID) })
	return rows, err
}

func counters(of map[string]*rollup.Counters, key string) *rollup.Counters {
	c := of[key]
	if c == nil {
		c = new(rollup.Counters)
		of[key] = c
	}
	return c
}

// eachGroup reads a campaign of this marketplace in every group. Events with a bid token lie in the campaign's own group; events that
// named the campaign by its external id may lie in any.
func (t Tenant) eachGroup(ctx context.Context, campaign ids.UUID, d Dates, ask func(*longState, cells)) error {
	if _, err := t.Campaign(ctx, campaign); err != nil {
		return err
	}
	span, err := t.cells(d)
	if err != nil {
		return err
	}
	return t.allGroups(ctx, func(b *longState) { ask(b, span) })
}

// CompleteThrough is the time up to which reports contain all accepted events: the oldest clock of the groups.
func (t Tenant) CompleteThrough() time.Time {
	oldest := t.now()
	for _, g := range t.store.Groups.Groups() {
		clock, err := read(t, g, shard.Queries.Clock)
		if err == nil {
			oldest = min(oldest, clock)
		}
	}
	return time.UnixMilli(oldest)
}

// CatalogPrice is the price of a product. It is 0 when the product is unknown, has no price, or cannot be read.
func (s *Store) CatalogPrice(marketplace uint16, product []byte) money.Micros {
	t := s.Tenant(marketplace)
	p, err := t.Product(context.Background(), string(product))
	if err != nil {
		return 0
	}
	return p.Price
}
