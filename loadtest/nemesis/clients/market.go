package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// ampleBudget is more than a run spends, in minor units.
const ampleBudget = 5_000_000_000

// market is the products and campaigns of a run. Every campaign has its own products and pays its bid, so that each charge can be
// predicted exactly; all prices are whole minor units.
type market struct {
	products  []string
	byID      map[string]*history.Campaign
	lowBudget []*history.Campaign // Campaigns whose budgets run out and are changed.
	lowWallet *history.Vendor     // The vendor whose wallet runs out and is filled.
}

// perCampaign is how many products a campaign has.
const perCampaign = 4

// vendors returns the vendors and campaigns of the market: some with money that lasts, some with budgets that run out, two campaigns with
// one wallet that runs out, one campaign with a daily budget, one that pays for purchases.
func vendors() []*history.Vendor {
	cpc := func(name string, price, budget int64) *history.Campaign {
		return &history.Campaign{Name: name, Price: minor(price), Charge: history.Click, Budget: minor(budget)}
	}
	cpm := func(name string, price, budget int64) *history.Campaign {
		return &history.Campaign{Name: name, Price: minor(price), Charge: history.Impression, Budget: minor(budget)}
	}
	bought := &history.Campaign{Name: "bought", Price: minor(212), Charge: history.Purchase, Budget: minor(ampleBudget)}
	daily := cpc("daily", 23, 6_000)
	daily.Daily = true
	all := []*history.Vendor{
		{ID: "rich", Deposit: minor(4 * ampleBudget), Ample: true, Campaigns: []*history.Campaign{cpc("dear", 31, ampleBudget), cpm("views", 3, ampleBudget)}},
		{ID: "steady", Deposit: minor(4 * ampleBudget), Ample: true, Campaigns: []*history.Campaign{cpc("cheap", 11, ampleBudget), daily}},
		{ID: "tight", Deposit: minor(4 * ampleBudget), Ample: true, Campaigns: []*history.Campaign{cpc("hundred", 100, 2_550), cpm("seven", 7, 4_000)}},
		{ID: "sold", Deposit: minor(4 * ampleBudget), Ample: true, Campaigns: []*history.Campaign{bought}},
		{ID: "narrow", Deposit: minor(4 * ampleBudget), Ample: true, Campaigns: []*history.Campaign{cpc("thirty-seven", 37, 1_000)}},
		{ID: "poor", Deposit: minor(9_999), Campaigns: []*history.Campaign{cpc("left", 50, ampleBudget), cpc("right", 50, ampleBudget)}},
	}
	index := 0
	for i, v := range all {
		v.Index = i
		for _, c := range v.Campaigns {
			c.Index, c.Vendor = index, v
			index++
		}
	}
	return all
}

func minor(units int64) shop.Micros { return shop.Micros(units) * shop.MinorUnit }

func (m *market) productsOf(c *history.Campaign) []string {
	var ids []string
	for i := range perCampaign {
		ids = append(ids, fmt.Sprintf("%s-%d", c.Name, i))
	}
	return ids
}

// SetUp creates the market through any node, and returns when every node offers all of its campaigns. Its error is a refusal, or that the
// context ended.
func (c *Clients) SetUp(ctx context.Context) error {
	c.h.Vendors = vendors()
	m := &market{byID: map[string]*history.Campaign{}}
	c.market = m
	type item = map[string]any
	var sellers, products []item
	for _, v := range c.h.Vendors {
		sellers = append(sellers, item{"id": v.ID, "name": v.ID})
		for _, campaign := range v.Campaigns {
			for _, p := range m.productsOf(campaign) {
				m.products = append(m.products, p)
				products = append(products, item{"id": p, "name": p, "vendors": []string{v.ID}, "categories": []string{}, "price": 9.99})
			}
		}
	}
	// So that what is kept of events is part of what replicas, snapshots and the check of the stored state agree on.
	if _, err := c.writeUntilDone(ctx, http.MethodPatch, "/marketplace-service/settings", item{"eventRetentionDays": 2}); err != nil {
		return err
	}
	const catalogs = "/catalog-search-service/catalogs"
	if _, err := c.writeUntilDone(ctx, http.MethodPut, catalogs+"/vendors", item{"vendors": sellers}); err != nil {
		return err
	}
	if _, err := c.writeUntilDone(ctx, http.MethodPut, catalogs+"/products", item{"products": products}); err != nil {
		return err
	}
	for _, v := range c.h.Vendors {
		if !v.Ample {
			m.lowWallet = v
		}
		if _, err := c.writeUntilDone(ctx, http.MethodPost, "/billing-service/vendors/"+v.ID+"/balance", item{"balance": major(v.Deposit)}); err != nil {
			return err
		}
		for _, campaign := range v.Campaigns {
			if err := c.create(ctx, campaign); err != nil {
				return err
			}
		}
	}
	if err := c.awaitReturns(ctx); err != nil {
		return err
	}
	return c.awaitOffered(ctx)
}

// major returns an amount of whole minor units as a JSON number of major units.
func major(m shop.Micros) json.Number {
	units := int64(m / shop.MinorUnit)
	return json.Number(fmt.Sprintf("%d.%02d", units/100, units%100))
}

// create creates a campaign and records its id.
func (c *Clients) create(ctx context.Context, campaign *history.Campaign) error {
	type item = map[string]any
	charge, amount, period := "CPC", int64(campaign.Price/shop.MinorUnit), "total"
	switch campaign.Charge {
	case history.Impression:
		charge, amount = "CPM", amount*1_000
	case history.Purchase:
		charge = "CPA"
	default:
	}
	if campaign.Daily {
		period = "daily"
	}
	var bids []item
	for _, p := range c.market.productsOf(campaign) {
		bids = append(bids, item{"target": item{"type": "product", "id": p}, "amount": amount})
	}
	text, err := c.writeUntilDone(ctx, http.MethodPost, "/campaign-service/campaigns?vendor_id="+campaign.Vendor.ID, item{
		"name": campaign.Name, "campaignType": "manual", "adFormat": "listing", "chargeType": charge, "priceRule": "first",
		"budget": item{"amount": int64(campaign.Budget / shop.MinorUnit), "type": period}, "bids": bids,
	})
	if err != nil {
		return err
	}
	var created struct {
		CampaignID string `json:"campaignId"`
	}
	if err := json.Unmarshal(text, &created); err != nil || created.CampaignID == "" {
		return fmt.Errorf("campaign %s: %w in %.300s", campaign.Name, err, text)
	}
	campaign.ID = created.CampaignID
	c.market.byID[campaign.ID] = campaign
	if campaign.Vendor.Ample && !campaign.Daily && campaign.Budget < minor(ampleBudget) {
		c.market.lowBudget = append(c.market.lowBudget, campaign)
	}
	return nil
}

// writeUntilDone repeats a write until it is done. The idempotency key makes that safe for operations that are not idempotent.
func (c *Clients) writeUntilDone(ctx context.Context, method, path string, in any) ([]byte, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	r := c.random(3_000)
	key := fmt.Sprintf("set-up-%d", c.bodies.Add(1))
	for {
		got := c.manage(c.pick(r), method, path, key, body)
		if outcome := got.outcome(); outcome == history.OK {
			return got.body, nil
		} else if outcome == history.Refused || !pause(ctx, 200*time.Millisecond) {
			return nil, fmt.Errorf("%s %s: %v", method, path, got)
		}
	}
}

// awaitOffered waits until all nodes offer all campaigns.
func (c *Clients) awaitOffered(ctx context.Context) error {
	for node := range c.o.Nodes {
		for _, campaign := range c.h.Campaigns() {
			body := auctionBody(c.market.productsOf(campaign))
			for {
				winners, got := c.auction(c.http, node, body)
				if len(winners) > 0 {
					break
				}
				if !pause(ctx, 100*time.Millisecond) {
					return fmt.Errorf("node %d does not offer campaign %s: %v", node+1, campaign.Name, got)
				}
			}
		}
	}
	return nil
}
