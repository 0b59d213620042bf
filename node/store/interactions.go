package store

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Grouping is what a line of interactions counts: a vendor, a campaign or a product.
type Grouping string

// The groupings.
const (
	ByVendor   Grouping = "vendor"
	ByCampaign Grouping = "campaign"
	ByProduct  Grouping = "product"
)

// Interactions selects lines of the local hours that begin in [From, To).
type Interactions struct {
	From, To time.Time
	By       Grouping
	Hourly   bool // If false, lines are by local day.
	Page
}

// Interaction is one line: the counters of one vendor, campaign or product for one hour or day.
//
// By campaign, purchases are those that were attributed to the campaign. By vendor and by product, purchases are all purchases of
// the products, and the vendor is empty where several vendors sell the product or it has left the catalog.
type Interaction struct {
	Millis   int64 // Start of the local hour or day.
	VendorID string
	Campaign ids.UUID // Zero unless lines are by campaign.
	Product  string   // Empty unless lines are by product.
	rollup.Counters
}

// ListPosition is the line's position: newest first, then by vendor, campaign and product. A zero byte within an id is escaped, so that
// it cannot be taken for the end of the id.
func (x *Interaction) ListPosition() string {
	part := func(id string) string { return strings.ReplaceAll(id, "\x00", "\x00\x01") + "\x00\x00" }
	campaign := ""
	if !x.Campaign.IsZero() {
		campaign = x.Campaign.String()
	}
	return newestFirst(x.Millis) + part(x.VendorID) + part(campaign) + part(x.Product)
}

const newestLen = 16

func newestFirst(millis int64) string { return positionOf(millis, ids.UUID{})[:newestLen] }

// millisOf is the time of a position; it reports false for a position without one.
func millisOf(position string) (int64, bool) {
	if len(position) < newestLen {
		return 0, false
	}
	inverted, err := strconv.ParseInt(position[:newestLen], 16, 64)
	return 1<<63 - 1 - inverted, err == nil
}

// Interactions returns a page of lines, newest first, and whether more follow.
//
// BOUND: it reads backwards from the newest day, twice as many days each time, until the page is full. So memory holds the lines
// of at most twice as many days as the page needs.
func (t Tenant) Interactions(ctx context.Context, q *Interactions) ([]Interaction, bool, error) {
	campaigns, err := t.campaignRefs(ctx, "")
	if err != nil {
		return nil, false, err
	}
	l := lineQuery{tenant: t, query: q, zone: t.Location(), campaigns: campaigns, sellers: map[string]string{}}
	end := q.To
	if newest, ok := millisOf(q.After); ok {
		end = earlier(end, l.nextDay(time.UnixMilli(newest)))
	}
	var all []Interaction
	for days := 1; end.After(q.From) && len(all) <= q.Limit; days *= 2 {
		start := l.day(end.Add(-1)).AddDate(0, 0, 1-days)
		if start.Before(q.From) {
			start = q.From
		}
		got, err := l.between(ctx, start, end)
		if err != nil {
			return nil, false, err
		}
		all = append(all, got...)
		end = start
	}
	more := len(all) > q.Limit
	return all[:min(len(all), q.Limit)], more, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// lineQuery computes the lines of one query.
type lineQuery struct {
	tenant    Tenant
	query     *Interactions
	zone      *time.Location
	campaigns []campaignRef
	sellers   map[string]string // The only seller of a product, or empty; a cache.
	rows      map[string]*Interaction
}

// day is the start of the local day that contains an instant.
func (l *lineQuery) day(at time.Time) time.Time {
	y, m, d := at.In(l.zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, l.zone)
}

// nextDay is the start of the local day after the one that contains an instant.
func (l *lineQuery) nextDay(at time.Time) time.Time { return l.day(at).AddDate(0, 0, 1) }

// between computes the lines of a span, those after the page's start. REQUIRES: start and end are starts of local days, or the ends of
// the query.
func (l *lineQuery) between(ctx context.Context, start, end time.Time) ([]Interaction, error) {
	l.rows = map[string]*Interaction{}
	span := cells{cellFrom(start), cellFrom(end)}
	if err := l.tenant.allGroups(ctx, func(b *longState) { l.addCampaigns(b, span) }); err != nil {
		return nil, err
	}
	if l.query.By != ByCampaign {
		if err := l.addPurchases(ctx, span); err != nil {
			return nil, err
		}
	}
	positions, err := l.firstPositions(ctx)
	all := make([]Interaction, len(positions))
	for i, position := range positions {
		all[i] = *l.rows[position]
	}
	return all, err
}

// firstPositions returns the first positions after the page's start, in order, one more than the page has. It never sorts more than twice as
// many at once, so that no sort takes longer than one slice of background work, whatever the number of rows.
func (l *lineQuery) firstPositions(ctx context.Context) (positions []string, err error) {
	work, most := limits.WorkOf(ctx), l.query.Limit+1
	cut := func() {
		slices.Sort(positions)
		positions = positions[:min(len(positions), most)]
	}
	for position := range l.rows {
		if err := work.Step(ctx); err != nil {
			return nil, err
		}
		if position <= l.query.After {
			continue
		}
		if positions = append(positions, position); len(positions) >= 2*most {
			cut()
		}
	}
	cut()
	return positions, nil
}

// cellFrom is the number of the first cell that begins at an instant or later.
func cellFrom(at time.Time) uint32 {
	cell := cellAt(at)
	if timeOf(cell).Before(at) {
		cell++
	}
	return cell
}

// addCampaigns adds the counters of campaigns in one group.
func (l *lineQuery) addCampaigns(b *longState, span cells) {
	for i := range l.campaigns {
		if b.stopped() {
			return
		}
		c := &l.campaigns[i]
		line := Interaction{VendorID: c.vendor}
		if l.query.By == ByProduct {
			b.CampaignBidCells(c.id, span.from, span.to, func(x *shard.BidCell) {
				if x.Bid != 0 { // Events that named the campaign by its external id belong to no product.
					line.Product = x.Target
					l.add(line, x.Cell, withoutPurchases(&x.Counters))
				}
			})
			continue
		}
		for _, x := range b.CampaignCells(c.id, span.from, span.to) {
			if l.query.By == ByCampaign {
				line.Campaign = c.id
				counters := ofCampaign(x.Counters)
				l.add(line, x.Cell, &counters)
			} else {
				l.add(line, x.Cell, withoutPurchases(&x.Counters))
			}
		}
	}
}

// addPurchases adds the purchases of all products.
func (l *lineQuery) addPurchases(ctx context.Context, span cells) error {
	type sale struct {
		product string
		shard.CellCounters
	}
	var sales []sale
	err := l.tenant.allGroups(ctx, func(b *longState) {
		b.ProductsSold(l.tenant.marketplace, span.from, span.to, func(product string, c *shard.CellCounters) {
			sales = append(sales, sale{product, *c})
		})
	})
	if err != nil {
		return err
	}
	return l.tenant.readInSteps(ctx, l.tenant.store.Groups.Meta(), func(b *longState) {
		for i := range sales {
			if b.stopped() {
				return
			}
			line := Interaction{VendorID: l.seller(b, sales[i].product)}
			if l.query.By == ByProduct {
				line.Product = sales[i].product
			}
			l.add(line, sales[i].Cell, &sales[i].Counters)
		}
	})
}

func (l *lineQuery) seller(b *longState, product string) string {
	seller, known := l.sellers[product]
	if !known {
		if p, found := b.Product(l.tenant.marketplace, product); found {
			seller = sellerOf(&p)
		}
		l.sellers[product] = seller
	}
	return seller
}

// add adds counters to a line. Counters with nothing but page views and invalid clicks make no line.
func (l *lineQuery) add(line Interaction, cell uint32, c *rollup.Counters) {
	counters := *c
	counters.Pageviews, counters.Invalid = 0, [rollup.InvalidReasons]int64{}
	if counters == (rollup.Counters{}) {
		return
	}
	at := timeOf(cell)
	if !l.query.Hourly {
		at = l.day(at)
	}
	line.Millis = at.UnixMilli()
	position := line.ListPosition()
	row := l.rows[position]
	if row == nil {
		row = &line
		l.rows[position] = row
	}
	row.Add(&counters)
}
