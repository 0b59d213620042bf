package shop

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gavel-ads/gavel/bench/traffic"
)

// bannerCampaigns is how many campaigns have banners. Each has a part of the words of searches.
const bannerCampaigns = 8

// FillAds adds to a market that Fill has made what pages other than listings need: banner slots and campaigns, campaigns for the words of
// searches, hotels and a campaign for them. All of them pay for clicks. A repeated FillAds finds the slots there, and adds campaigns.
func (c *Client) FillAds(ctx context.Context, m *traffic.Market, terms Terms, run string) error {
	if err := c.createSlots(ctx); err != nil {
		return err
	}
	var all []NewCampaign
	for i, word := range traffic.Words {
		all = append(all, searchCampaign(m, i, word))
	}
	for i := range bannerCampaigns {
		all = append(all, bannerCampaign(m, i))
	}
	hotels, err := c.fillHotels(ctx, m)
	if err != nil {
		return err
	}
	for i, n := range append(all, hotels) {
		n.ChargeType, n.PriceRule, n.BudgetMinor = "CPC", "second", terms.BudgetMinor
		if _, err := c.CreateCampaign(ctx, n, fmt.Sprintf("%s-ads-%d", run, i)); err != nil {
			return err
		}
	}
	return nil
}

// createSlots creates the slots of banners, unless they exist.
func (c *Client) createSlots(ctx context.Context) error {
	type size struct {
		Width  int `json:"width"`
		Height int `json:"height"`
	}
	type slot struct {
		ID         string          `json:"slotId"`
		Position   string          `json:"position"`
		Dimensions map[string]size `json:"dimensions"`
	}
	both := map[string]size{"desktop": {1200, 300}, "mobile": {320, 100}}
	for _, s := range []slot{{traffic.HomeSlot, "landing", both}, {traffic.SearchSlot, "search", both}} {
		err := c.call(ctx, http.MethodPost, "/media-service/slots", nil, "", s, nil)
		if refused, is := errors.AsType[*StatusError](err); is && refused.Status == http.StatusConflict {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ownProducts returns some products that a vendor's campaign bids on. Vendors without a campaign are passed over.
func ownProducts(m *traffic.Market, i, most int) (vendor string, ids []string) {
	c := m.Campaigns[i%len(m.Campaigns)]
	for _, b := range c.Bids[:min(most, len(c.Bids))] {
		ids = append(ids, m.Products[b.Product].ID)
	}
	return m.Vendors[c.Vendor], ids
}

func searchCampaign(m *traffic.Market, i int, word string) NewCampaign {
	const products = 5
	vendor, ids := ownProducts(m, i, products)
	n := NewCampaign{Vendor: vendor, Name: "Search " + word}
	for k, id := range ids {
		n.Bids = append(n.Bids, NewBid{Product: id, AmountMinor: int64(60 + k), Keywords: []string{word}})
	}
	return n
}

func bannerCampaign(m *traffic.Market, i int) NewCampaign {
	vendor, ids := ownProducts(m, i, 1)
	n := NewCampaign{Vendor: vendor, Name: fmt.Sprintf("Banners %d", i), AdFormat: "banner"}
	n.Bids = append(n.Bids, NewBid{Product: ids[0], AmountMinor: int64(90 + i), Slot: traffic.HomeSlot})
	for k := i; k < len(traffic.Words); k += bannerCampaigns {
		n.Bids = append(n.Bids, NewBid{Product: ids[0], AmountMinor: int64(90 + i), Slot: traffic.SearchSlot, Keywords: traffic.Words[k : k+1]})
	}
	return n
}

// fillHotels adds the hotels and returns a campaign for them.
func (c *Client) fillHotels(ctx context.Context, m *traffic.Market) (NewCampaign, error) {
	vendor := m.Vendors[0]
	n := NewCampaign{Vendor: vendor, Name: "Hotels"}
	var hotels []Product
	for i := range traffic.Hotels {
		id := traffic.HotelID(i)
		hotels = append(hotels, Product{
			ID: id, Name: "Hotel " + id, Vendors: []string{vendor}, Categories: []string{},
			Metadata: map[string]string{"travelType": "hotels", "site": traffic.HotelSite},
		})
		n.Bids = append(n.Bids, NewBid{Product: id, AmountMinor: int64(70 + i)})
	}
	return n, c.PutProducts(ctx, hotels)
}
