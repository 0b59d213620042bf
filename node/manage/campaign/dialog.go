package campaign

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/manage/resource"
)

// Paths of the service.
const (
	DialogBase    = "/public/v1/modal-service/"
	dialogVendors = DialogBase + "vendors/"

	// oneDialogVendor is the prefix of the paths that name the vendor of the token.
	oneDialogVendor = dialogVendors + "{vendor_id}/"

	dialogTag = "Vendor dialog"
)

type dialogService struct{ now func() time.Time }

// RegisterDialog mounts the operations.
func RegisterDialog(api huma.API, now func() time.Time) {
	s := dialogService{now}
	resource.Add(api, resource.Op{
		ID: "authorizeModalVendor", Method: http.MethodGet, Path: DialogBase + "auth/vendors/{vendor_id}", Tag: dialogTag,
		Doc: "Get a token with which a vendor's page may use the other operations of the dialog, for this vendor and an hour.",
	}, s.authorize)
	add := func(id, method, path, doc string) resource.Op {
		scope := &resource.VendorScope{}
		if strings.HasPrefix(path, oneDialogVendor) {
			scope.Path = "vendor_id"
		}
		return resource.Op{ID: id, Method: method, Path: path, Tag: dialogTag, Doc: doc, Key: resource.ModalToken, Vendor: scope}
	}
	const campaigns = oneDialogVendor + "campaigns"
	reports := DialogBase + "reporting/campaigns/{campaign_id}"
	long := func(op resource.Op) resource.Op {
		op.Background = limits.KindReport
		return op
	}
	resource.Add(api, add("getModalMarketplace", http.MethodGet, dialogVendors+"marketplace-details", "Get the currency and language of the dialog."), dialogDetails)
	resource.Add(api, add("getModalShopCampaign", http.MethodGet, dialogVendors+"vendor-campaign", "Get the campaign that promotes the vendor's shop, if there is one."), s.shopCampaign)
	resource.Add(api, add("getModalDefaultBudget", http.MethodGet, oneDialogVendor+"default-budget", "Get the usual price of a click and a suggested daily budget."), defaultBudget)
	resource.Add(api, add("listModalProductCampaigns", http.MethodPost, oneDialogVendor+"products", "Find the campaigns that promote the given products."), s.productCampaigns)
	resource.Add(api, add("promoteModalShop", http.MethodPost, oneDialogVendor+"promote-my-shop", "Promote all products of the vendor."), s.promote)
	resource.Add(api, add("createModalCampaign", http.MethodPost, campaigns, "Promote products of the vendor."), s.create)
	resource.Add(api, add("getModalCampaign", http.MethodGet, campaigns+"/{campaign_id}", "Get a campaign of the vendor."), getDialogCampaign)
	resource.Add(api, add("patchModalCampaign", http.MethodPatch, campaigns+"/{campaign_id}", "Change a campaign of the vendor."), patchDialogCampaign)
	resource.Add(api, add("deleteModalCampaign", http.MethodDelete, campaigns+"/{campaign_id}", "End a campaign of the vendor; its reports stay."), removeDialogCampaign)
	resource.Add(api, long(add("getModalReport", http.MethodGet, reports, "Get the numbers of a campaign of the vendor.")), dialogReport)
	resource.Add(api, long(add("getModalDailyReport", http.MethodGet, reports+"/daily", "Get the numbers of a campaign of the vendor by day.")), daily)
}

// OneVendor names the vendor in the path. The listener has compared it with the vendor of the token.
type OneVendor struct {
	VendorID string `path:"vendor_id" minLength:"1" maxLength:"255"`
}

// DialogAuthorization is a token.
type DialogAuthorization struct {
	AuthToken  string `json:"authToken" doc:"A JSON Web Token, to be sent as Authorization: Bearer."`
	Authorized bool   `json:"authorized" doc:"Always true: an unknown vendor is answered with 404."`
}

type authorizeOutput struct{ Body DialogAuthorization }

func (s dialogService) authorize(ctx context.Context, in *OneVendor) (*authorizeOutput, error) {
	st, caller := resource.Tenant(ctx), resource.CallerOf(ctx)
	if _, err := st.Vendor(ctx, in.VendorID); err != nil {
		return nil, resource.VendorErrorOf(err)
	}
	t := auth.VendorToken{Marketplace: caller.Marketplace, Vendor: in.VendorID, Key: auth.ID([]byte(caller.KeyID))}
	return &authorizeOutput{DialogAuthorization{auth.SignVendorToken(st.CursorKey(), t, s.now()), true}}, nil
}

// requireVendor refuses a request whose token names a vendor that was deleted from the catalog.
func requireVendor(ctx context.Context) error {
	_, err := resource.Tenant(ctx).Vendor(ctx, resource.CallerOf(ctx).Vendor)
	return resource.VendorErrorOf(err)
}

// DialogDetails are the currency and language of the dialog.
type DialogDetails struct {
	CurrencyCode       string `json:"currencyCode" doc:"ISO 4217."`
	CurrencyExponent   int    `json:"currencyExponent" minimum:"0" maximum:"4" doc:"Digits of a minor unit."`
	LanguagePreference string `json:"languagePreference" doc:"Always en: marketplaces have no language."`
}

type detailsOutput struct{ Body DialogDetails }

func dialogDetails(ctx context.Context, _ *struct{}) (*detailsOutput, error) {
	if err := requireVendor(ctx); err != nil {
		return nil, err
	}
	m := resource.Tenant(ctx).Settings()
	return &detailsOutput{DialogDetails{m.CurrencyCode, int(m.CurrencyExponent), "en"}}, nil
}

// DialogClicks is a range of prices.
type DialogClicks struct {
	UpperBound int64 `json:"upperBound" doc:"Minor units."`
	LowerBound int64 `json:"lowerBound" doc:"Minor units, at least 1."`
}

// DialogBudgets are the suggestions of the dialog.
type DialogBudgets struct {
	CPC           DialogClicks `json:"cpc" doc:"The range of most bids on products in this marketplace."`
	DefaultBudget int64        `json:"defaultBudget" doc:"Minor units a day: twenty clicks at upperBound."`
}

type budgetsOutput struct{ Body DialogBudgets }

const defaultClicks = 20

func defaultBudget(ctx context.Context, _ *OneVendor) (*budgetsOutput, error) {
	if err := requireVendor(ctx); err != nil {
		return nil, err
	}
	r, err := resource.Tenant(ctx).BidRange(ctx)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &budgetsOutput{DialogBudgets{DialogClicks{r.High, r.Low}, min(r.High*defaultClicks, dialogAmountMax)}}, nil
}
