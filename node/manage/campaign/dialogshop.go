package campaign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
)

// Bounds of what the dialog reads.
const (
	dialogCampaignsMax = 200 // BOUND: campaigns of a vendor, the newest.
	dialogBidsMax      = 500 // BOUND: bids of each of them, and products of a shop.
	dialogNameMax      = 255
)

// DialogShopBody requests the promotion of a shop.
type DialogShopBody struct {
	BudgetAmount int64          `json:"budgetAmount" minimum:"1" maximum:"20000000000" doc:"Minor units a day."`
	EndDate      *resource.Time `json:"endDate,omitempty" doc:"In the future; absent: no end."`
}

// DialogShop is the campaign of a shop.
type DialogShop struct {
	Exists   bool            `json:"exists"`
	Campaign *DialogCampaign `json:"campaign"`
}

type (
	promoteInput struct {
		OneVendor
		Body DialogShopBody
	}
	shopOutput struct{ Body DialogShop }
)

// running returns the newest campaigns of the token's vendor that promote products, now or later.
func (s dialogService) running(ctx context.Context) ([]store.CampaignState, error) {
	all, _, err := resource.Tenant(ctx).Campaigns(ctx, store.CampaignFilter{
		VendorID: resource.CallerOf(ctx).Vendor, Format: new(model.Listing), Limit: dialogCampaignsMax,
	})
	now := s.now().UnixMilli()
	all = slices.DeleteFunc(all, func(c store.CampaignState) bool { return isOver(&c, now) })
	return all, resource.ErrorOf(err)
}

// isOver reports whether a campaign is rejected, terminated or past its end.
func isOver(c *store.CampaignState, nowMillis int64) bool {
	return c.Status == model.Rejected || c.Status == model.Terminated || c.EndMillis != 0 && c.EndMillis <= nowMillis
}

// shop returns the running campaign of the vendor's shop.
func (s dialogService) shop(ctx context.Context) (c store.CampaignState, exists bool, err error) {
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

func (s dialogService) shopCampaign(ctx context.Context, _ *struct{}) (*shopOutput, error) {
	if err := requireVendor(ctx); err != nil {
		return nil, err
	}
	c, exists, err := s.shop(ctx)
	if err != nil || !exists {
		return &shopOutput{}, err
	}
	a, err := dialogAnswer(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	return &shopOutput{DialogShop{true, &a.Body}}, nil
}

// promote creates the campaign of the vendor's shop, with a bid on every product that is active now. Of two requests at the same
// moment one creates it, and the other is refused.
func (s dialogService) promote(ctx context.Context, in *promoteInput) (*nullOutput, error) {
	st, now := resource.Tenant(ctx), s.now().UnixMilli()
	m := st.Settings()
	d := in.Body.draft(now, m.CurrencyExponent)
	assignVendor(ctx, &m, &d.Campaign)
	d.Complete = func(ctx context.Context, vendor *model.Vendor) (err error) {
		d.Campaign.Name = shopName(vendor.Name)
		if _, exists, err := s.shop(ctx); err != nil || exists {
			return cmp.Or(err, store.ErrAlreadyExists)
		}
		if d.Bids, err = onSale(ctx, vendor.ID); err != nil {
			return err
		}
		return d.Price(ctx, st)
	}
	err := campaigns.CreateShop(ctx, st, &d, func(c *store.CampaignState) bool { return isOver(c, now) })
	if _, invalid := errors.AsType[*campaigns.Invalid](err); invalid { // The body has no start, so it can only end too early.
		return nil, resource.Invalid(resource.At("value_error", "must be in the future", "body", "endDate"))
	}
	if errors.Is(err, store.ErrAlreadyExists) {
		return nil, resource.Refuse(apierr.AlreadyExists, "the shop is promoted already")
	}
	return &nullOutput{}, resource.CampaignErrorOf(err, nil)
}

// onSale are bids on the active products of a vendor.
func onSale(ctx context.Context, vendorID string) (bids []model.Bid, err error) {
	products, _, err := resource.Tenant(ctx).Products(ctx, store.Page{Limit: dialogBidsMax}, nil, vendorID)
	if err != nil {
		return nil, err
	}
	for i := range products {
		if products[i].Active {
			bids = append(bids, campaigns.ListingBid(products[i].ID))
		}
	}
	if len(bids) == 0 {
		return nil, resource.Refuse(apierr.InvalidOperation, "the vendor has no active product")
	}
	return bids, nil
}

// draft is the body in the service's terms.
func (b *DialogShopBody) draft(nowMillis int64, exponent uint8) campaigns.Draft {
	document, err := json.Marshal(resource.Origin{Origin: resource.ShopOrigin})
	if err != nil {
		panic("an origin is a text: " + err.Error())
	}
	return campaigns.Draft{
		Campaign: model.Campaign{
			Type: model.Autobidding, Charge: model.CPC, StartMillis: nowMillis, Active: true,
			Budget: campaigns.Amount(b.BudgetAmount, exponent), Document: document,
		},
		End: (*int64)(b.EndDate),
	}
}

// shopName is the vendor's name, cut if necessary, with a suffix.
func shopName(vendor string) string {
	const suffix = " shop"
	if utf8.RuneCountInString(vendor) > dialogNameMax-len(suffix) {
		vendor = string([]rune(vendor)[:dialogNameMax-len(suffix)])
	}
	return vendor + suffix
}

type (
	dialogProductsInput struct {
		OneVendor
		Body []string `minItems:"1" maxItems:"1000" minLength:"1" maxLength:"255" doc:"Product ids."`
	}
	dialogProductsOutput struct{ Body map[string]*string }
)

// productCampaigns finds the newest running campaign on each product.
func (s dialogService) productCampaigns(ctx context.Context, in *dialogProductsInput) (*dialogProductsOutput, error) {
	if err := requireVendor(ctx); err != nil {
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
		bids, _, err := resource.Tenant(ctx).Bids(ctx, all[i].ID, 0, dialogBidsMax)
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
	return &dialogProductsOutput{answer}, nil
}
