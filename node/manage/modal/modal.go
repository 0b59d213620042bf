// Package modal serves the dialog in which vendors promote products on the marketplace's own pages. These pages run in browsers, so
// they have no key but a token, which the marketplace's server requests for one vendor and which is valid for an hour.
//
// The requests and answers are those of the published client @topsort/building-blocks. DESIGN.md describes what it expects.
package modal

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/background"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Paths of the service.
const (
	Base    = "/public/v1/modal-service/"
	vendors = Base + "vendors/"

	// oneVendor is the prefix of the paths that name the vendor of the token.
	oneVendor = vendors + "{vendor_id}/"

	tag = "Vendor dialog"
)

// Store is what the dialog needs of a marketplace's store.
type Store interface {
	Settings() market.Marketplace
	Vendor(ctx context.Context, id string) (market.Vendor, error)
	Products(ctx context.Context, p store.Page, ids []string, vendorID string) ([]market.Product, bool, error)
	CreateCampaign(ctx context.Context, c *market.Campaign, bids []market.Bid) error
	CreateShopCampaign(ctx context.Context, c *market.Campaign, bids []market.Bid, over func(*store.CampaignState) bool) error
	ChangeCampaign(ctx context.Context, id ids.UUID, change func(*store.CampaignState) (*command.PatchCampaign, error)) error
	PatchCampaign(ctx context.Context, p *command.PatchCampaign) error
	Campaign(ctx context.Context, id ids.UUID) (store.CampaignState, error)
	Campaigns(ctx context.Context, f store.CampaignFilter) ([]store.CampaignState, bool, error)
	Bids(ctx context.Context, campaign ids.UUID, offset, limit int) ([]market.Bid, bool, error)
	BidRange(ctx context.Context) (store.BidRange, error)
	CampaignReport(ctx context.Context, campaign ids.UUID, d store.Dates) (rollup.Counters, error)
	CampaignDaily(ctx context.Context, campaign ids.UUID, d store.Dates) ([]store.ReportRow, error)
	CursorKey() [32]byte
}

func storeOf(ctx context.Context) Store { return resource.Tenant[Store](ctx) }

type service struct{ now func() time.Time }

// Register mounts the operations.
func Register(api huma.API, now func() time.Time) {
	s := service{now}
	resource.Add(api, resource.Op{
		ID: "authorizeModalVendor", Method: http.MethodGet, Path: Base + "auth/vendors/{vendor_id}", Tag: tag,
		Doc: "Get a token with which a vendor's page may use the other operations of the dialog, for this vendor and an hour.",
	}, s.authorize)
	add := func(id, method, path, doc string) resource.Op {
		scope := &resource.VendorScope{}
		if strings.HasPrefix(path, oneVendor) {
			scope.Path = "vendor_id"
		}
		return resource.Op{ID: id, Method: method, Path: path, Tag: tag, Doc: doc, Key: resource.ModalToken, Vendor: scope}
	}
	const campaigns = oneVendor + "campaigns"
	reports := Base + "reporting/campaigns/{campaign_id}"
	long := func(op resource.Op) resource.Op {
		op.Background = background.Report
		return op
	}
	resource.Add(api, add("getModalMarketplace", http.MethodGet, vendors+"marketplace-details", "Get the currency and language of the dialog."), details)
	resource.Add(api, add("getModalShopCampaign", http.MethodGet, vendors+"vendor-campaign", "Get the campaign that promotes the vendor's shop, if there is one."), s.shopCampaign)
	resource.Add(api, add("getModalDefaultBudget", http.MethodGet, oneVendor+"default-budget", "Get the usual price of a click and a suggested daily budget."), defaultBudget)
	resource.Add(api, add("listModalProductCampaigns", http.MethodPost, oneVendor+"products", "Find the campaigns that promote the given products."), s.productCampaigns)
	resource.Add(api, add("promoteModalShop", http.MethodPost, oneVendor+"promote-my-shop", "Promote all products of the vendor."), s.promote)
	resource.Add(api, add("createModalCampaign", http.MethodPost, campaigns, "Promote products of the vendor."), s.create)
	resource.Add(api, add("getModalCampaign", http.MethodGet, campaigns+"/{campaign_id}", "Get a campaign of the vendor."), get)
	resource.Add(api, add("patchModalCampaign", http.MethodPatch, campaigns+"/{campaign_id}", "Change a campaign of the vendor."), patch)
	resource.Add(api, add("deleteModalCampaign", http.MethodDelete, campaigns+"/{campaign_id}", "End a campaign of the vendor; its reports stay."), remove)
	resource.Add(api, long(add("getModalReport", http.MethodGet, reports, "Get the numbers of a campaign of the vendor.")), report)
	resource.Add(api, long(add("getModalDailyReport", http.MethodGet, reports+"/daily", "Get the numbers of a campaign of the vendor by day.")), daily)
}

// OneVendor names the vendor in the path. The listener has compared it with the vendor of the token.
type OneVendor struct {
	VendorID string `path:"vendor_id" minLength:"1" maxLength:"255"`
}

// Authorization is a token.
type Authorization struct {
	AuthToken  string `json:"authToken" doc:"A JSON Web Token, to be sent as Authorization: Bearer."`
	Authorized bool   `json:"authorized" doc:"Always true: an unknown vendor is answered with 404."`
}

type authorizeOutput struct{ Body Authorization }

func (s service) authorize(ctx context.Context, in *OneVendor) (*authorizeOutput, error) {
	st, caller := storeOf(ctx), resource.CallerOf(ctx)
	if _, err := st.Vendor(ctx, in.VendorID); err != nil {
		return nil, resource.VendorErrorOf(err)
	}
	t := auth.VendorToken{Marketplace: caller.Marketplace, Vendor: in.VendorID, Key: auth.ID([]byte(caller.KeyID))}
	return &authorizeOutput{Authorization{auth.SignVendorToken(st.CursorKey(), t, s.now()), true}}, nil
}

// requireVendor refuses a request whose token names a vendor that was deleted from the catalog.
func requireVendor(ctx context.Context) error {
	_, err := storeOf(ctx).Vendor(ctx, resource.CallerOf(ctx).Vendor)
	return resource.VendorErrorOf(err)
}

// Details are the currency and language of the dialog.
type Details struct {
	CurrencyCode       string `json:"currencyCode" doc:"ISO 4217."`
	CurrencyExponent   int    `json:"currencyExponent" minimum:"0" maximum:"4" doc:"Digits of a minor unit."`
	LanguagePreference string `json:"languagePreference" doc:"Always en: marketplaces have no language."`
}

type detailsOutput struct{ Body Details }

func details(ctx context.Context, _ *struct{}) (*detailsOutput, error) {
	if err := requireVendor(ctx); err != nil {
		return nil, err
	}
	m := storeOf(ctx).Settings()
	return &detailsOutput{Details{m.CurrencyCode, int(m.CurrencyExponent), "en"}}, nil
}

// Clicks is a range of prices.
type Clicks struct {
	UpperBound int64 `json:"upperBound" doc:"Minor units."`
	LowerBound int64 `json:"lowerBound" doc:"Minor units, at least 1."`
}

// Budgets are the suggestions of the dialog.
type Budgets struct {
	CPC           Clicks `json:"cpc" doc:"The range of most bids on products in this marketplace."`
	DefaultBudget int64  `json:"defaultBudget" doc:"Minor units a day: twenty clicks at upperBound."`
}

type budgetsOutput struct{ Body Budgets }

const defaultClicks = 20

func defaultBudget(ctx context.Context, _ *OneVendor) (*budgetsOutput, error) {
	if err := requireVendor(ctx); err != nil {
		return nil, err
	}
	r, err := storeOf(ctx).BidRange(ctx)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &budgetsOutput{Budgets{Clicks{r.High, r.Low}, min(r.High*defaultClicks, amountMax)}}, nil
}
