package store

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/node/background"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Grouping is what a line of interactions is about.
type Grouping string

// The groupings.
const (
	ByVendor   Grouping = "vendor"
	ByCampaign Grouping = "campaign"
	ByProduct  Grouping = "product"
)

// Interactions asks for lines of the local hours that begin in [From, To).
type Interactions struct {
	From, To time.Time
	By       Grouping
	Hourly   bool // Else by local day.
	Page
}

// Interaction is one line: what one vendor, campaign or product had in one hour or day.
//
// By campaign, purchases are those that were reported with the campaign. By vendor and by product they are all there were
// of the products, and the line has no vendor where several sell the product or it has left the catalog.
type Interaction struct {
	Millis   int64 // Start of the local hour or day.
	VendorID string
	Campaign ids.UUID // By campaign, else zero.
	Product  string   // By product.
	rollup.Counters
}

// Place is the line's position: newest first, then by vendor, campaign and product. Within ids a zero byte is written so
// that it is no end of an id.
func (x *Interaction) Place() string {
	part := func(id string) string { return strings.ReplaceAll(id, "\x00", "\x00\x01") + "\x00\x00" }
	campaign := ""
	if !x.Campaign.IsZero() {
		campaign = x.Campaign.String()
	}
	return newestFirst(x.Millis) + part(x.VendorID) + part(campaign) + part(x.Product)
}

const newestLen = 16

func newestFirst(millis int64) string { return placeOf(millis, ids.UUID{})[:newestLen] }

// millisOf is the time of a position, or false for a position without one.
func millisOf(place string) (int64, bool) {
	if len(place) < newestLen {
		return 0, false
	}
	inverted, err := strconv.ParseInt(place[:newestLen], 16, 64)
	return 1<<63 - 1 - inverted, err == nil
}

// Interactions returns a page of lines, newest first.
//
// BOUND: it looks from the newest day backwards, at twice as many days each time, until the page is full, so memory holds
// the lines of a page and at most twice as many days as it needed.
func (t Tenant) Interactions(ctx context.Context, q *Interactions) ([]Interaction, bool, error) {
	campaigns, err := t.campaignRefs(ctx, "")
	if err != nil {
		return nil, false, err
	}
	l := lines{tenant: t, query: q, zone: t.Location(), campaigns: campaigns, sellers: map[string]string{}}
	end := q.To
	if newest, ok := millisOf(q.After); ok {
		end = earlier(end, l.next(time.UnixMilli(newest)))
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

// lines makes the lines of one query.
type lines struct {
	tenant    Tenant
	query     *Interactions
	zone      *time.Location
	campaigns []campaignRef
	sellers   map[string]string // By product, as far as they were asked for.
	rows      map[string]*Interaction
}

// day is the start of the local day of an instant.
func (l *lines) day(at time.Time) time.Time {
	y, m, d := at.In(l.zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, l.zone)
}

// next is the end of the day that a line's time is on.
func (l *lines) next(at time.Time) time.Time { return l.day(at).AddDate(0, 0, 1) }

// between makes the lines of a span whose inner ends are starts of days, those after the page's start.
func (l *lines) between(ctx context.Context, start, end time.Time) ([]Interaction, error) {
	l.rows = map[string]*Interaction{}
	span := cells{cellFrom(start), cellFrom(end)}
	if err := l.tenant.allGroups(ctx, func(b *longBooks) { l.shown(b, span) }); err != nil {
		return nil, err
	}
	if l.query.By != ByCampaign {
		if err := l.bought(ctx, span); err != nil {
			return nil, err
		}
	}
	places, err := l.first(ctx)
	all := make([]Interaction, len(places))
	for i, place := range places {
		all[i] = *l.rows[place]
	}
	return all, err
}

// first are the first positions after the page's start in order, one more than the page takes. It never sorts more than twice
// as many, so that no sort takes longer than a slice whatever the number of rows.
func (l *lines) first(ctx context.Context) (places []string, err error) {
	work, most := background.Of(ctx), l.query.Limit+1
	cut := func() {
		slices.Sort(places)
		places = places[:min(len(places), most)]
	}
	for place := range l.rows {
		if err := work.Step(ctx); err != nil {
			return nil, err
		}
		if place <= l.query.After {
			continue
		}
		if places = append(places, place); len(places) >= 2*most {
			cut()
		}
	}
	cut()
	return places, nil
}

// cellFrom numbers the first cell that begins at an instant or later.
func cellFrom(at time.Time) uint32 {
	cell := cellAt(at)
	if timeOf(cell).Before(at) {
		cell++
	}
	return cell
}

// shown adds what campaigns have in a group.
func (l *lines) shown(b *longBooks, span cells) {
	for i := range l.campaigns {
		if b.ended() {
			return
		}
		c := &l.campaigns[i]
		line := Interaction{VendorID: c.vendor}
		if l.query.By == ByProduct {
			b.CampaignBidCells(c.id, span.from, span.to, func(x *shard.BidCell) {
				if x.Bid != 0 { // Events that named the campaign by its external id belong to no product.
					line.Product = x.Target
					l.add(line, x.Cell, shown(&x.Counters))
				}
			})
			continue
		}
		for _, x := range b.CampaignCells(c.id, span.from, span.to) {
			if l.query.By == ByCampaign {
				line.Campaign = c.id
				l.add(line, x.Cell, &x.Counters)
			} else {
				l.add(line, x.Cell, shown(&x.Counters))
			}
		}
	}
}

// bought adds the purchases of all products.
func (l *lines) bought(ctx context.Context, span cells) error {
	type sale struct {
		product string
		shard.CellCounters
	}
	var sales []sale
	err := l.tenant.allGroups(ctx, func(b *longBooks) {
		b.ProductsSold(l.tenant.marketplace, span.from, span.to, func(product string, c *shard.CellCounters) {
			sales = append(sales, sale{product, *c})
		})
	})
	if err != nil {
		return err
	}
	return l.tenant.readLong(ctx, l.tenant.store.Groups.Meta(), func(b *longBooks) {
		for i := range sales {
			if b.ended() {
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

func (l *lines) seller(b *longBooks, product string) string {
	seller, known := l.sellers[product]
	if !known {
		if p, found := b.Product(l.tenant.marketplace, product); found {
			seller = sellerOf(&p)
		}
		l.sellers[product] = seller
	}
	return seller
}

// add counts for a line. What has only page views has no line.
func (l *lines) add(line Interaction, cell uint32, c *rollup.Counters) {
	counters := *c
	if counters.Pageviews = 0; counters == (rollup.Counters{}) {
		return
	}
	at := timeOf(cell)
	if !l.query.Hourly {
		at = l.day(at)
	}
	line.Millis = at.UnixMilli()
	place := line.Place()
	row := l.rows[place]
	if row == nil {
		row = &line
		l.rows[place] = row
	}
	row.Add(&counters)
}
