// Package agency serves the campaign operations of agencies: the campaigns of all vendors in one list, with their budgets.
//
// They are served under `agency`, `toppie` and the areas of management.agency_areas. A new campaign bids on each product the upper bound
// of most bids of the marketplace (store.BidRange), once: nothing changes bids automatically yet, so targetRoas is only stored and
// returned.
package agency

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

const tag = "Agency"

// Areas are the path segments under which the operations are always served. Known clients use the second one.
var Areas = []string{"agency", "toppie"}

// Store is what agencies need of a marketplace's store.
type Store interface {
	Settings() market.Marketplace
	Campaign(ctx context.Context, id ids.UUID) (store.CampaignState, error)
	CampaignsAfter(ctx context.Context, p store.Page) ([]store.CampaignState, bool, error)
	ChangeCampaign(ctx context.Context, id ids.UUID, change func(*store.CampaignState) (*command.PatchCampaign, error)) error
	PatchCampaign(ctx context.Context, p *command.PatchCampaign) error
	Vendor(ctx context.Context, id string) (market.Vendor, error)
	BidRange(ctx context.Context) (store.BidRange, error)
	CreateCampaign(ctx context.Context, c *market.Campaign, bids []market.Bid) error
	AccountID(vendorID string) ids.UUID
	CursorKey() [32]byte
}

// Base is the path of the campaigns of an area.
func Base(area string) string { return "/public/v1/" + area + "/campaigns" }

// Name is the part of the operation ids that names the area.
func Name(area string) string { return strings.ToUpper(area[:1]) + area[1:] + "Campaign" }

// Register mounts the operations for every area.
func Register(api huma.API, areas []string) {
	for _, area := range areas {
		base, name := Base(area), Name(area)
		resource.Add(api, resource.Op{
			ID: "create" + name, Method: http.MethodPost, Status: http.StatusCreated, Path: base, Tag: tag,
			Doc: "Promote products of a vendor. The bids follow from the other bids of the marketplace.",
		}, create)
		resource.Add(api, resource.Op{ID: "list" + name + "s", Method: http.MethodGet, Path: base, Tag: tag, Doc: "List the campaigns of all vendors, newest first, without deleted ones."}, list(area))
		resource.Add(api, resource.Op{ID: "get" + name, Method: http.MethodGet, Path: base + "/{campaign_id}", Tag: tag, Doc: "Get a campaign."}, get)
		resource.Add(api, resource.Op{ID: "patch" + name, Method: http.MethodPatch, Path: base + "/{campaign_id}", Tag: tag, Doc: "Change a campaign."}, patch)
		resource.Add(api, resource.Op{
			ID: "delete" + name, Method: http.MethodDelete, Status: http.StatusNoContent, Path: base + "/{campaign_id}", Tag: tag, Doc: "Delete a campaign; its reports stay.",
		}, remove)
	}
}

// Campaign is a campaign in answers.
type Campaign struct {
	ID           string            `json:"id" format:"uuid"`
	AccountID    string            `json:"accountId" format:"uuid" doc:"The account of the vendor."`
	Name         string            `json:"name"`
	AdFormat     string            `json:"adFormat" enum:"banner,listing,sponsored_brand"`
	ChargeType   string            `json:"chargeType" enum:"CPM,CPC,CPA"`
	Budget       int64             `json:"budget" doc:"Minor units; 0 if the campaign is limited by the wallet only."`
	BudgetPeriod string            `json:"budgetPeriod" enum:"daily,weekly,monthly,total"`
	StartDate    resource.Time     `json:"startDate"`
	EndDate      *resource.Time    `json:"endDate"`
	TargetROAS   *resource.Decimal `json:"targetRoas"`
	CurrencyCode string            `json:"currencyCode"`
	IsActive     bool              `json:"isActive"`
	CreatedAt    resource.Time     `json:"createdAt"`
	BidCount     int               `json:"bidCount"`
}

// List is one page of campaigns.
type List struct {
	Campaigns []Campaign `json:"campaigns"`
	resource.Page
}

// Patch changes the members that it contains.
type Patch struct {
	Name         string         `json:"name,omitempty" minLength:"1" maxLength:"75"`
	Budget       *int64         `json:"budget,omitempty" minimum:"1" maximum:"20000000000" doc:"Minor units."`
	BudgetPeriod string         `json:"budgetPeriod,omitempty" enum:"daily,weekly,monthly,total"`
	StartDate    *resource.Time `json:"startDate,omitempty"`
	EndDate      *resource.Time `json:"endDate,omitempty"`
	IsActive     *bool          `json:"isActive,omitempty"`

	TargetROAS *resource.Decimal `json:"targetRoas,omitempty" minimum:"0.5" maximum:"20" doc:"At most three decimals."`
}

type (
	listInput struct {
		Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage string `query:"next_page"`
	}
	patchInput struct {
		OneCampaign
		Body Patch
	}
	output     struct{ Body Campaign }
	listOutput struct{ Body List }
)

// OneCampaign names a campaign.
type OneCampaign struct {
	ID string `path:"campaign_id" format:"uuid"`
}

const microsPerMilli = 1000

// places are where the members that rules name lie in a body.
var places = resource.Places{
	campaigns.BudgetAmount: {"budget"}, campaigns.BudgetPeriod: {"budgetPeriod"},
	campaigns.StartDate: {"endDate"}, campaigns.EndDate: {"endDate"}, campaigns.TargetROAS: {"targetRoas"},
}

func storeOf(ctx context.Context) Store { return resource.Tenant[Store](ctx) }

func list(area string) func(context.Context, *listInput) (*listOutput, error) {
	return func(ctx context.Context, in *listInput) (*listOutput, error) {
		st := storeOf(ctx)
		cursors := resource.CursorsFor(ctx, st.CursorKey(), "listAgencyCampaigns", area)
		page, end, err := resource.List(cursors, in.NextPage, in.Limit, func(c store.CampaignState) string { return store.CampaignListPosition(&c) },
			func(p store.Page) ([]store.CampaignState, bool, error) { return st.CampaignsAfter(ctx, p) })
		if err != nil {
			return nil, resource.ErrorOf(err)
		}
		all := make([]Campaign, len(page))
		for i := range page {
			all[i] = answer(st, &page[i])
		}
		return &listOutput{List{all, end}}, nil
	}
}

// present refuses deleted campaigns: for agencies they do not exist.
func present(c *store.CampaignState) error {
	if c.Status == market.Terminated {
		return store.ErrNotFound
	}
	return nil
}

func get(ctx context.Context, in *OneCampaign) (*output, error) {
	c, err := storeOf(ctx).Campaign(ctx, resource.ParseUUID(in.ID))
	if err == nil {
		err = present(&c)
	}
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &output{answer(storeOf(ctx), &c)}, nil
}

func patch(ctx context.Context, in *patchInput) (*output, error) {
	st := storeOf(ctx)
	c := in.Body.changes(st.Settings().CurrencyExponent)
	if err := campaigns.Patch(ctx, st, resource.ParseUUID(in.ID), c); err != nil {
		return nil, resource.CampaignErrorOf(err, places)
	}
	return get(ctx, &in.OneCampaign)
}

// changes are the members of a change in the service's terms.
func (b *Patch) changes(exponent uint8) *campaigns.Changes {
	p := command.PatchCampaign{StartMillis: (*int64)(b.StartDate), EndMillis: (*int64)(b.EndDate), Active: b.IsActive}
	if b.Name != "" {
		p.Name = &b.Name
	}
	if b.Budget != nil {
		p.Budget = new(campaigns.Amount(*b.Budget, exponent))
	}
	if b.BudgetPeriod != "" {
		p.Period = new(campaigns.Number[market.Period](campaigns.Periods, b.BudgetPeriod))
	}
	return &campaigns.Changes{Members: p, TargetROAS: b.TargetROAS.String(), Sees: present}
}

func remove(ctx context.Context, in *OneCampaign) (*struct{}, error) {
	return nil, resource.ErrorOf(campaigns.Delete(ctx, storeOf(ctx), resource.ParseUUID(in.ID), updatedBy(ctx), present))
}

// updatedBy names who decided on the status.
func updatedBy(ctx context.Context) string { return "key:" + resource.CallerOf(ctx).KeyID }

func answer(st Store, c *store.CampaignState) Campaign {
	m := st.Settings()
	a := Campaign{
		ID: c.ID.String(), AccountID: st.AccountID(c.VendorID).String(), Name: c.Name,
		AdFormat: campaigns.Formats[c.Format], ChargeType: campaigns.Charges[c.Charge], Budget: int64(c.Budget / money.PerMinor(m.CurrencyExponent)), BudgetPeriod: campaigns.Periods[c.Period],
		StartDate: resource.Time(c.StartMillis), EndDate: resource.TimeOf(c.EndMillis), CurrencyCode: m.CurrencyCode,
		IsActive: c.Active, CreatedAt: resource.Time(c.CreatedMillis), BidCount: c.BidCount,
	}
	if c.TargetROASMilli != 0 {
		a.TargetROAS = &resource.Decimal{Text: string(money.AppendDecimal(nil, money.Micros(c.TargetROASMilli)*microsPerMilli))}
	}
	return a
}
