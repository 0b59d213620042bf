package clients

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/check"
	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

const reports = "/reporting-service"

// reportDays selects the day before, today and the day after, so that neither a time zone nor midnight leaves a part out.
func reportDays() string {
	const date, day = "2006-01-02", 24 * time.Hour
	return "?" + url.Values{"start_date": {time.Now().Add(-day).UTC().Format(date)}, "end_date": {time.Now().Add(day).UTC().Format(date)}}.Encode()
}

// numbersText is the numbers of a report as an answer has them. Amounts of sales are rounded to minor units; all prices here are whole ones.
type numbersText struct {
	Impressions, Clicks shop.Interactions
	Purchases           salesText
	Attributed          struct {
		salesText
		Charged        int64
		AdSpentDecimal string
	}
	Overdelivery struct{ AmountDecimal string }
}

type salesText struct{ Amount, Count, Quantity int64 }

func (s salesText) sales() history.Sales {
	return history.Sales{Items: s.Count, Pieces: s.Quantity, Amount: minor(s.Amount)}
}

func (t *numbersText) numbers() (n history.Numbers, err error) {
	n.Credited, n.Bought = t.Attributed.sales(), t.Purchases.sales()
	for i, of := range [history.Charges]shop.Interactions{
		t.Impressions, t.Clicks, {Total: t.Attributed.Count, Charged: t.Attributed.Charged, Decimal: t.Attributed.AdSpentDecimal},
	} {
		if n.Spent[i], err = of.Spent(); err != nil {
			return n, err
		}
		n.Total[i], n.Charged[i] = of.Total, of.Charged
	}
	n.Overdelivered, err = shop.ParseMinor(t.Overdelivery.AmountDecimal)
	return n, err
}

// readNumbers reads the sum of a report, and the time up to which it is complete.
func (c *Clients) readNumbers(node int, path string) (n history.Numbers, through time.Time, err error) {
	var got struct {
		numbersText
		CompleteThrough time.Time
	}
	if err = c.get(node, reports+path+reportDays(), &got); err == nil {
		n, err = got.numbers()
	}
	return n, got.CompleteThrough, err
}

// readRows reads a report of several rows, which have to fit on one page, and sums them.
func (c *Clients) readRows(node int, path string) (sum history.Numbers, through time.Time, err error) {
	var got struct {
		Reports         []numbersText
		HasMore         bool
		CompleteThrough time.Time
	}
	if err = c.get(node, reports+path+reportDays(), &got); err != nil {
		return sum, through, err
	}
	if got.HasMore {
		return sum, through, fmt.Errorf("%s has more than one page", path)
	}
	for i := range got.Reports {
		row, err := got.Reports[i].numbers()
		if err != nil {
			return sum, through, err
		}
		sum.Add(&row)
	}
	return sum, got.CompleteThrough, nil
}

// readOtherReports reads all reports of FinalState.Other from all nodes in turn. Each has to contain what was accepted before an instant.
func (c *Clients) readOtherReports(ctx context.Context, accepted time.Time) (all check.OtherReports, err error) {
	all = check.OtherReports{
		Daily: map[*history.Campaign]history.Numbers{}, ByProduct: map[*history.Campaign]history.Numbers{},
		Products: map[string]history.Numbers{}, Vendors: map[*history.Vendor]history.Numbers{},
	}
	node := 0
	read := func(from func(node int, path string) (history.Numbers, time.Time, error), path string) (n history.Numbers) {
		if err != nil {
			return n
		}
		node = (node + 1) % len(c.o.Nodes)
		err = retryUntilDone(ctx, func() (err error) {
			var through time.Time
			n, through, err = from(node, path)
			if err == nil && through.Before(accepted) {
				err = fmt.Errorf("the report %s is complete through %v only, want %v", path, through, accepted)
			}
			return err
		})
		return n
	}
	for _, campaign := range c.h.Campaigns() {
		all.Daily[campaign] = read(c.readRows, "/campaigns/"+campaign.ID+"/daily")
		all.ByProduct[campaign] = read(c.readRows, "/campaigns/"+campaign.ID+"/products")
	}
	for _, product := range c.market.products {
		all.Products[product] = read(c.readNumbers, "/products/"+product)
	}
	for _, v := range c.h.Vendors {
		all.Vendors[v] = read(c.readNumbers, "/vendors/"+v.ID)
	}
	all.Marketplace = read(c.readNumbers, "/marketplace")
	all.MarketplaceDaily = read(c.readRows, "/marketplace/daily")
	return all, err
}
