package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"sync"
)

// readers is how many campaigns are read at a time.
const readers = 4

// readBack reads every product, campaign and bid of the marketplace and compares each with what was imported: the first that is
// missing, there twice, or different is the error.
func (m market) readBack(ctx context.Context, a *api) error {
	if err := m.readProducts(ctx, a); err != nil {
		return err
	}
	ids, err := m.readCampaigns(ctx, a)
	if err != nil {
		return err
	}
	return m.readBids(ctx, a, ids)
}

// listedProduct is a product of a page.
type listedProduct struct {
	ID, Name            string
	Vendors, Categories []string
	Price               json.Number
	Metadata            struct{ Colour string }
}

func (m market) readProducts(ctx context.Context, a *api) error {
	seen := make([]bool, m.products)
	count := 0
	for cursor, more := "", true; more; {
		var page struct {
			Response []listedProduct
			HasMore  bool
			NextPage string
		}
		path := "/public/v1/catalog-search-service/catalogs/products?limit=100&next_page=" + url.QueryEscape(cursor)
		if err := a.call(ctx, "GET", path, nil, &page); err != nil {
			return err
		}
		for i := range page.Response {
			if err := m.checkProduct(&page.Response[i], seen); err != nil {
				return err
			}
			count++
		}
		cursor, more = page.NextPage, page.HasMore
	}
	if count != m.products {
		return fmt.Errorf("%d products were read, %d imported", count, m.products)
	}
	return nil
}

func (m market) checkProduct(p *listedProduct, seen []bool) error {
	i := numberIn("product-%d", p.ID)
	switch {
	case i < 0 || i >= m.products || p.ID != productID(i):
		return fmt.Errorf("the product %q was not imported", p.ID)
	case seen[i]:
		return fmt.Errorf("the product %s is there twice", p.ID)
	case p.Name != productName(i) || len(p.Vendors) != 1 || p.Vendors[0] != vendorOfProduct(i) || len(p.Categories) != 1 ||
		p.Categories[0] != productCategory(i) || !sameNumber(p.Price.String(), productPrice(i)) || p.Metadata.Colour != fmt.Sprintf("c%d", i%7):
		return fmt.Errorf("the product %s is %+v", p.ID, *p)
	}
	seen[i] = true
	return nil
}

// sameNumber reports whether two decimals have one value: a node answers 10.1 for 10.10.
func sameNumber(a, b string) bool {
	x, y := new(big.Rat), new(big.Rat)
	_, okX := x.SetString(a)
	_, okY := y.SetString(b)
	return okX && okY && x.Cmp(y) == 0
}

// readCampaigns returns the ids of the campaigns by their number.
func (m market) readCampaigns(ctx context.Context, a *api) ([]string, error) {
	ids := make([]string, m.campaigns())
	count := 0
	for more := true; more; {
		var page struct {
			Campaigns []struct {
				CampaignID, VendorID, Name string
				BidCount                   int
			}
			HasMore bool
		}
		if err := a.call(ctx, "GET", fmt.Sprintf("/public/v1/campaign-service/campaigns?limit=100&offset=%d", count), nil, &page); err != nil {
			return nil, err
		}
		for _, c := range page.Campaigns {
			k := numberIn("Campaign %d", c.Name)
			switch {
			case k < 0 || k >= len(ids) || c.Name != campaignName(k):
				return nil, fmt.Errorf("the campaign %q was not imported", c.Name)
			case ids[k] != "":
				return nil, fmt.Errorf("the campaign %q is there twice", c.Name)
			case c.VendorID != campaignVendor(k) || c.BidCount != m.bidsOf(k):
				return nil, fmt.Errorf("the campaign %q is %+v", c.Name, c)
			}
			ids[k] = c.CampaignID
			count++
		}
		more = page.HasMore
	}
	if count != len(ids) {
		return nil, fmt.Errorf("%d campaigns were read, %d imported", count, len(ids))
	}
	return ids, nil
}

// readBids reads the bids of all campaigns, some at a time.
func (m market) readBids(ctx context.Context, a *api, ids []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var reading sync.WaitGroup
	for range readers {
		reading.Go(func() {
			for k := range next {
				if err := m.readBidsOf(ctx, a, k, ids[k]); err != nil {
					cancel(err)
				}
			}
		})
	}
	for k := range ids {
		next <- k
	}
	close(next)
	reading.Wait()
	return context.Cause(ctx)
}

// readBidsOf compares the bids of a campaign, each of which is for a product of its own.
func (m market) readBidsOf(ctx context.Context, a *api, k int, id string) error {
	seen, count := make([]bool, m.bidsOf(k)), 0
	for more := true; more; {
		var page struct {
			Bids []struct {
				Target struct{ Type, ID string }
				Amount int
			}
			HasMore bool
		}
		path := fmt.Sprintf("/public/v1/campaign-service/campaigns/%s/bids?limit=100&offset=%d", id, count)
		if err := a.call(ctx, "GET", path, nil, &page); err != nil {
			return err
		}
		for _, b := range page.Bids {
			i := numberIn("product-%d", b.Target.ID)
			j := i - k*bidsPerCampaign
			switch {
			case j < 0 || j >= len(seen) || b.Target.Type != "product" || b.Target.ID != productID(i) || b.Amount != bidAmount(i):
				return fmt.Errorf("a bid of %q is %+v", campaignName(k), b)
			case seen[j]:
				return fmt.Errorf("the bid of %q on %s is there twice", campaignName(k), b.Target.ID)
			}
			seen[j] = true
			count++
		}
		more = page.HasMore
	}
	if count != len(seen) {
		return fmt.Errorf("%q has %d bids, %d were imported", campaignName(k), count, len(seen))
	}
	return nil
}
