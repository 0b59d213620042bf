package shop

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gavel-ads/gavel/bench/traffic"
)

// Terms replace the budgets and deposits of a generated market, so that wallets do not run out in a long run.
type Terms struct {
	BudgetMinor  int64     // The budget of every campaign in minor units; 0: the one of the market.
	DepositMinor int64     // The deposit of every vendor in minor units.
	Begin, Until time.Time // Of every campaign, as in NewCampaign.
}

// Fill creates a generated market on a node: categories, vendors with a deposit, products, campaigns. It returns the
// campaigns in the market's order. The name of the run is in the idempotency keys, so that a repeated Fill changes nothing.
func (c *Client) Fill(ctx context.Context, m *traffic.Market, terms Terms, run string) ([]Campaign, error) {
	var categories []Category
	for _, id := range m.Categories {
		categories = append(categories, Category{ID: id, Name: "Category " + id})
	}
	if err := c.PutCategories(ctx, categories); err != nil {
		return nil, err
	}
	var vendors []Vendor
	for _, id := range m.Vendors {
		vendors = append(vendors, Vendor{ID: id, Name: "Vendor " + id})
	}
	if err := c.PutVendors(ctx, vendors); err != nil {
		return nil, err
	}
	var products []Product
	for _, p := range m.Products {
		products = append(products, Product{
			ID: p.ID, Name: p.Name, Vendors: []string{m.Vendors[p.Vendor]}, Categories: []string{m.Categories[p.Category]},
			Price: json.Number(traffic.AppendMajor(nil, p.PriceMinor)),
		})
	}
	if err := c.PutProducts(ctx, products); err != nil {
		return nil, err
	}
	for i, id := range m.Vendors {
		if err := c.Deposit(ctx, id, terms.DepositMinor, fmt.Sprintf("%s-deposit-%d", run, i)); err != nil {
			return nil, err
		}
	}
	return c.fillCampaigns(ctx, m, terms, run)
}

func (c *Client) fillCampaigns(ctx context.Context, m *traffic.Market, terms Terms, run string) ([]Campaign, error) {
	var created []Campaign
	for i, campaign := range m.Campaigns {
		n := NewCampaign{
			Vendor: m.Vendors[campaign.Vendor], Name: campaign.Name, ChargeType: "CPC", PriceRule: "second",
			BudgetMinor: campaign.BudgetMinor, Begin: terms.Begin, Until: terms.Until,
		}
		if terms.BudgetMinor > 0 {
			n.BudgetMinor = terms.BudgetMinor
		}
		for _, b := range campaign.Bids {
			n.Bids = append(n.Bids, NewBid{Product: m.Products[b.Product].ID, AmountMinor: b.AmountMinor})
		}
		one, err := c.CreateCampaign(ctx, n, fmt.Sprintf("%s-campaign-%d", run, i))
		if err != nil {
			return nil, err
		}
		created = append(created, one)
	}
	return created, nil
}
