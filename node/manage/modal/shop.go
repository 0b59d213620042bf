package modal

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/market"
)

// Bounds of what the dialog reads.
const (
	campaignsMax = 200 // BOUND: campaigns of a vendor, the newest.
	bidsMax      = 500 // BOUND: bids of each of them, and products of a shop.
	nameMax      = 255
)

// ShopBody requests the promotion of a shop.
type ShopBody struct {
	BudgetAmount int64          `json:"budgetAmount" minimum:"1" maximum:"20000000000" doc:"Minor units a day."`
	EndDate      *resource.Time `json:"endDate,omitempty" doc:"In the future; absent: no end."`
}

// Shop is the campaign of a shop.
type Shop struct {
	Exists   bool      `json:"exists"`
	Campaign *Campaign `json:"campaign"`
}

type (
	promoteInput struct {
		OneVendor
		Body ShopBody
	}
	shopOutput struct{ Body Shop }
)

// running returns the newest campaigns of the token's vendor that promote products, now or later.
func (s service) running(ctx context.Context) ([]store.CampaignState, error) {
	all, _, err := storeOf(ctx).Campaigns(ctx, store.CampaignFilter{
		VendorID: resource.CallerOf(ctx).Vendor, Format: new(market.Listing), Limit: campaignsMax,
	})
	now := s.now().UnixMilli()
	all = slices.DeleteFunc(all, func(c store.CampaignState) bool { return isOver(&c, now) })
	return all, resource.ErrorOf(err)
}

// isOver reports whether a campaign is rejected, terminated or past its end.
func isOver(c *store.CampaignState, nowMillis int64) bool {
	return c.Status == market.Rejected || c.Status == market.Terminated || c.EndMillis != 0 && c.EndMillis <= nowMillis
}

// shop returns the running campaign of the vendor's shop.
func (s service) shop(ctx context.Context) (c store.CampaignState, exists bool, err error) {
	all, err := s.running(ctx)
	at := slices.IndexFunc(all, func(c store.CampaignState) bool { return isShop(c.Document) })
	if err != nil || at < 0 {
		return c, false, err
	}
	return all[at], true, nil
}

func isShop(document []byte) bool {
	var made resource.Origin
	return len(document) > 0 && json.Unmarshal(document, &made) == nil && made.Origin == resource.ShopOrigin
}

func (s service) shopCampaign(ctx context.Context, _ *struct{}) (*shopOutput, error) {
	if _, err := vendorOf(ctx); err != nil {
		return nil, err
	}
	c, exists, err := s.shop(ctx)
	if err != nil || !exists {
		return &shopOutput{}, err
	}
	a, err := answer(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	return &shopOutput{Shop{true, &a.Body}}, nil
}

// promote creates the campaign of the vendor's shop, with a bid on every product that is active now. Of two requests at the same
// moment one creates it, and the other is refused.
func (s service) promote(ctx context.Context, in *promoteInput) (*nullOutput, error) {
	st, now := storeOf(ctx), s.now().UnixMilli()
	if in.Body.EndDate != nil && int64(*in.Body.EndDate) <= now {
		return nil, resource.Invalid(resource.At("value_error", "must be in the future", "body", "endDate"))
	}
	vendor, err := vendorOf(ctx)
	if err != nil {
		return nil, err
	}
	if _, exists, err := s.shop(ctx); err != nil || exists {
		return nil, orRefuse(err, apierr.AlreadyExists, promotedAlready)
	}
	products, _, err := st.Products(ctx, store.Page{Limit: bidsMax}, nil, vendor.ID)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	var bids []market.Bid
	for i := range products {
		if products[i].Active {
			bids = append(bids, resource.ListingBid(products[i].ID))
		}
	}
	if len(bids) == 0 {
		return nil, resource.Refuse(apierr.InvalidOperation, "the vendor has no active product")
	}
	c, m := in.Body.campaign(&vendor, now, st), st.Settings()
	if err := fillAmounts(ctx, &c, bids); err != nil {
		return nil, err
	}
	assignVendor(ctx, &m, &c)
	err = st.CreateShopCampaign(ctx, &c, bids, func(c *store.CampaignState) bool { return isOver(c, now) })
	if errors.Is(err, store.ErrAlreadyExists) {
		err = resource.Refuse(apierr.AlreadyExists, promotedAlready)
	}
	return &nullOutput{}, resource.ErrorOf(err)
}

const promotedAlready = "the shop is promoted already"

func orRefuse(err error, code apierr.Code, message string) error {
	if err != nil {
		return err
	}
	return resource.Refuse(code, message)
}

func (b *ShopBody) campaign(vendor *market.Vendor, nowMillis int64, st Store) market.Campaign {
	document, err := json.Marshal(resource.Origin{Origin: resource.ShopOrigin})
	if err != nil {
		panic("an origin is a text: " + err.Error())
	}
	c := market.Campaign{
		Name: shopName(vendor.Name), Type: "autobidding", Charge: market.CPC, StartMillis: nowMillis, Active: true,
		Budget: minor(b.BudgetAmount, st.Settings().CurrencyExponent), Document: document,
	}
	if b.EndDate != nil {
		c.EndMillis = int64(*b.EndDate)
	}
	return c
}

// shopName is the vendor's name, cut if necessary, with a suffix.
func shopName(vendor string) string {
	const suffix = " shop"
	if utf8.RuneCountInString(vendor) > nameMax-len(suffix) {
		vendor = string([]rune(vendor)[:nameMax-len(suffix)])
	}
	return vendor + suffix
}

type (
	productsInput struct {
		OneVendor
		Body []string `minItems:"1" maxItems:"1000" minLength:"1" maxLength:"255" doc:"Product ids."`
	}
	productsOutput struct{ Body map[string]*string }
)

// productCampaigns finds the newest running campaign on each product.
func (s service) productCampaigns(ctx context.Context, in *productsInput) (*productsOutput, error) {
	if _, err := vendorOf(ctx); err != nil {
		return nil, err
	}
	all, err := s.running(ctx)
	if err != nil {
		return nil, err
	}
	answer := make(map[string]*string, len(in.Body))
	for _, id := range in.Body {
		answer[id] = nil
	}
	for i := range all {
		bids, _, err := storeOf(ctx).Bids(ctx, all[i].ID, 0, bidsMax)
		if err != nil {
			return nil, resource.ErrorOf(err)
		}
		campaign := all[i].ID.String()
		for k := range bids {
			if known, asked := answer[bids[k].Target]; asked && known == nil {
				answer[bids[k].Target] = &campaign
			}
		}
	}
	return &productsOutput{answer}, nil
}
