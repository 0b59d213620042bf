package shop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// NewCampaign is a campaign to be created. Amounts are whole minor units.
type NewCampaign struct {
	Vendor      string
	Name        string
	AdFormat    string    // listing or banner; empty: listing.
	ChargeType  string    // CPC or CPM.
	PriceRule   string    // first or second.
	BudgetMinor int64     // The budget for the life of the campaign; 0: only the wallet limits it.
	Begin       time.Time // Zero: now.
	Until       time.Time // The budget is spread evenly until then; zero: it is spent as fast as it can be.
	Bids        []NewBid
}

// NewBid is a bid on a product.
type NewBid struct {
	Product     string
	AmountMinor int64
	Keywords    []string // It competes in searches that have all of these words; empty: in auctions over its product.
	Slot        string   // The slot of a banner; empty: it is no banner.
}

// body is the bid as a request has it.
func (b *NewBid) body() map[string]any {
	type object = map[string]any
	all := object{"target": object{"type": "product", "id": b.Product}, "amount": b.AmountMinor}
	if len(b.Keywords) > 0 {
		all["triggers"] = []object{{"type": "keyword", "value": object{"words": b.Keywords, "matchType": "broad"}}}
	}
	if b.Slot != "" {
		picture := object{"url": "https://images.example/" + b.Product + ".png"}
		all["formatProperties"] = object{"adFormat": "banner", "slotId": b.Slot, "bannerAssets": []object{picture}}
	}
	return all
}

// Campaign is a campaign as the management API returns it. Budget amounts are minor units.
type Campaign struct {
	ID       string `json:"campaignId"`
	VendorID string `json:"vendorId"`
	Name     string `json:"name"`
	Status   string `json:"status"`
	IsActive bool   `json:"isActive"`
	Budget   *struct {
		Amount          int64 `json:"amount"`
		AmountUsed      int64 `json:"amountUsed"`
		AmountRemaining int64 `json:"amountRemaining"`
	} `json:"budget"`
	PacingState *struct { // Nil before the first decision.
		Status string `json:"status"`
	} `json:"pacingState"`
}

const campaigns = "/campaign-service/campaigns"

// CreateCampaign creates a campaign with its first bids. The idempotency key makes a repeat safe.
func (c *Client) CreateCampaign(ctx context.Context, n NewCampaign, idempotency string) (Campaign, error) {
	body := map[string]any{
		"name": n.Name, "campaignType": "manual", "adFormat": cmp.Or(n.AdFormat, "listing"), "chargeType": n.ChargeType, "priceRule": n.PriceRule,
	}
	if n.BudgetMinor > 0 {
		body["budget"] = map[string]any{"amount": n.BudgetMinor, "type": "total"}
	}
	if !n.Begin.IsZero() {
		body["startDate"] = n.Begin
	}
	if !n.Until.IsZero() {
		body["endDate"], body["pacing"] = n.Until, "even"
	}
	var bids []map[string]any
	for i := range n.Bids {
		bids = append(bids, n.Bids[i].body())
	}
	body["bids"] = bids
	var created Campaign
	err := c.call(ctx, http.MethodPost, campaigns, url.Values{"vendor_id": {n.Vendor}}, idempotency, body, &created)
	if err == nil && created.ID == "" {
		err = fmt.Errorf("campaign %q was created without a campaignId", n.Name)
	}
	return created, err
}

// SetBudget changes a campaign's budget, in minor units.
func (c *Client) SetBudget(ctx context.Context, id string, minor int64) error {
	body := map[string]any{"budget": map[string]any{"amount": minor, "type": "total"}}
	return c.call(ctx, http.MethodPatch, campaigns+"/"+url.PathEscape(id), nil, "", body, nil)
}

// Campaigns lists every campaign of the marketplace.
func (c *Client) Campaigns(ctx context.Context) ([]Campaign, error) {
	var all []Campaign
	for {
		var page struct {
			Campaigns []Campaign `json:"campaigns"`
			HasMore   bool       `json:"hasMore"`
		}
		query := url.Values{"limit": {"100"}, "offset": {strconv.Itoa(len(all))}}
		if err := c.call(ctx, http.MethodGet, campaigns, query, "", nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Campaigns...)
		if !page.HasMore || len(page.Campaigns) == 0 {
			return all, nil
		}
	}
}

// Deposit adds minor units to the default wallet of a vendor. The idempotency key makes a repeat safe.
func (c *Client) Deposit(ctx context.Context, vendor string, minor int64, idempotency string) error {
	body := map[string]any{"balance": json.Number(fmt.Sprintf("%d.%02d", minor/100, minor%100))}
	return c.call(ctx, http.MethodPost, "/billing-service/vendors/"+url.PathEscape(vendor)+"/balance", nil, idempotency, body, nil)
}

// Balance reads the sum of a vendor's wallets.
func (c *Client) Balance(ctx context.Context, vendor string) (Micros, error) {
	var answer struct {
		Balance json.Number `json:"balance"`
	}
	if err := c.call(ctx, http.MethodGet, "/billing-service/vendors/"+url.PathEscape(vendor)+"/balance", nil, "", nil, &answer); err != nil {
		return 0, err
	}
	return ParseMajor(answer.Balance.String())
}
