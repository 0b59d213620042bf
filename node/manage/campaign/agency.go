package campaign

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

const agencyTag = "Agency"

// AgencyAreas are the path segments under which the operations are always served. Known clients use the second one.
var AgencyAreas = []string{"agency", "toppie"}

// AgencyBase is the path of the campaigns of an area.
func AgencyBase(area string) string { return "/public/v1/" + area + "/campaigns" }

// AgencyName is the part of the operation ids that names the area.
func AgencyName(area string) string { return strings.ToUpper(area[:1]) + area[1:] + "Campaign" }

// RegisterAgency mounts the operations for every area.
func RegisterAgency(api huma.API, areas []string) {
	for _, area := range areas {
		base, name := AgencyBase(area), AgencyName(area)
		resource.Add(api, resource.Op{
			ID: "create" + name, Method: http.MethodPost, Status: http.StatusCreated, Path: base, Tag: agencyTag,
			Doc: "Promote products of a vendor. The bids follow from the other bids of the marketplace.",
		}, createAgencyCampaign)
		resource.Add(api, resource.Op{ID: "list" + name + "s", Method: http.MethodGet, Path: base, Tag: agencyTag, Doc: "List the campaigns of all vendors, newest first, without deleted ones."}, listAgencyCampaigns(area))
		resource.Add(api, resource.Op{ID: "get" + name, Method: http.MethodGet, Path: base + "/{campaign_id}", Tag: agencyTag, Doc: "Get a campaign."}, getAgencyCampaign)
		resource.Add(api, resource.Op{ID: "patch" + name, Method: http.MethodPatch, Path: base + "/{campaign_id}", Tag: agencyTag, Doc: "Change a campaign."}, patchAgencyCampaign)
		resource.Add(api, resource.Op{
			ID: "delete" + name, Method: http.MethodDelete, Status: http.StatusNoContent, Path: base + "/{campaign_id}", Tag: agencyTag, Doc: "Delete a campaign; its reports stay.",
		}, removeAgencyCampaign)
	}
}

// AgencyCampaign is a campaign in answers.
type AgencyCampaign struct {
	ID           string            `json:"id" format:"uuid"`
	AccountID    string            `json:"accountId" format:"uuid" doc:"The account of the vendor."`
	Name         string            `json:"name"`
	AdFormat     string            `json:"adFormat" enum:"banner,listing,sponsored_brand"`
	ChargeType   string            `json:"chargeType" enum:"CPM,CPC,CPA"`
	Budget       *int64            `json:"budget" doc:"Minor units; null if the campaign is limited by the wallet only."`
	BudgetPeriod string            `json:"budgetPeriod" enum:"daily,weekly,monthly,total"`
	StartDate    resource.Time     `json:"startDate"`
	EndDate      *resource.Time    `json:"endDate"`
	TargetROAS   *resource.Decimal `json:"targetRoas"`
	CurrencyCode string            `json:"currencyCode"`
	IsActive     bool              `json:"isActive"`
	CreatedAt    resource.Time     `json:"createdAt"`
	BidCount     int               `json:"bidCount"`
}

// AgencyList is one page of campaigns.
type AgencyList struct {
	Campaigns []AgencyCampaign `json:"campaigns"`
	resource.Page
}

// AgencyPatch changes the members that it contains.
type AgencyPatch struct {
	Name         string                           `json:"name,omitempty" minLength:"1" maxLength:"75"`
	Budget       resource.Optional[int64]         `json:"budget,omitzero" minimum:"1" maximum:"20000000000" doc:"Minor units. Null, together with unlimited: no budget."`
	BudgetPeriod string                           `json:"budgetPeriod,omitempty" enum:"daily,weekly,monthly,total"`
	StartDate    *resource.Time                   `json:"startDate,omitempty"`
	EndDate      resource.Optional[resource.Time] `json:"endDate,omitzero" doc:"Null: no end."`
	IsActive     *bool                            `json:"isActive,omitempty"`

	TargetROAS resource.Optional[resource.Decimal] `json:"targetRoas,omitzero" minimum:"0.5" maximum:"20" doc:"At most three decimals. Null: no target; autobidding then needs an autobiddingObjective."`
	Unlimited  *bool                               `json:"unlimited,omitempty" doc:"True, together with budget null: the campaign is limited by the wallet only."`
}

type (
	agencyListInput struct {
		Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage string `query:"next_page"`
	}
	agencyPatchInput struct {
		OneAgencyCampaign
		Body AgencyPatch
	}
	agencyOutput     struct{ Body AgencyCampaign }
	agencyListOutput struct{ Body AgencyList }
)

// OneAgencyCampaign names a campaign.
type OneAgencyCampaign struct {
	ID string `path:"campaign_id" format:"uuid"`
	resource.Owned
}

// CheckOwner refuses a request that names another vendor than the campaign's.
func (c *OneAgencyCampaign) CheckOwner(ctx context.Context) error { return c.CheckCampaign(ctx, c.ID) }

const microsPerMilli = 1000

// agencyPlaces are where the members that rules name lie in a body.
var agencyPlaces = resource.Places{
	campaigns.BudgetAmount: {"budget"}, campaigns.BudgetPeriod: {"budgetPeriod"},
	campaigns.StartDate: {"endDate"}, campaigns.EndDate: {"endDate"}, campaigns.TargetROAS: {"targetRoas"},
}

func listAgencyCampaigns(area string) func(context.Context, *agencyListInput) (*agencyListOutput, error) {
	return func(ctx context.Context, in *agencyListInput) (*agencyListOutput, error) {
		st := resource.Tenant(ctx)
		cursors := resource.CursorsFor(ctx, st.CursorKey(), "listAgencyCampaigns", area)
		page, end, err := resource.List(cursors, in.NextPage, in.Limit, func(c store.CampaignState) string { return store.CampaignListPosition(&c) },
			func(p store.Page) ([]store.CampaignState, bool, error) { return st.CampaignsAfter(ctx, p) })
		if err != nil {
			return nil, resource.ErrorOf(err)
		}
		all := make([]AgencyCampaign, len(page))
		for i := range page {
			all[i] = agencyAnswer(st, &page[i])
		}
		return &agencyListOutput{AgencyList{all, end}}, nil
	}
}

// presentForAgency refuses deleted campaigns: for agencies they do not exist.
func presentForAgency(c *store.CampaignState) error {
	if c.Status == model.Terminated {
		return store.ErrNotFound
	}
	return nil
}

func getAgencyCampaign(ctx context.Context, in *OneAgencyCampaign) (*agencyOutput, error) {
	c, err := resource.Tenant(ctx).Campaign(ctx, resource.ParseUUID(in.ID))
	if err == nil {
		err = presentForAgency(&c)
	}
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &agencyOutput{agencyAnswer(resource.Tenant(ctx), &c)}, nil
}

func patchAgencyCampaign(ctx context.Context, in *agencyPatchInput) (*agencyOutput, error) {
	st := resource.Tenant(ctx)
	b := &in.Body
	c, found := b.changes(st.Settings().CurrencyExponent), unlimited(b.Unlimited, b.Budget.Set, b.Budget.Null)
	c.Malformed = len(found) > 0
	if err := campaigns.Patch(ctx, st, resource.ParseUUID(in.ID), c); err != nil {
		return nil, resource.CampaignErrorOf(err, agencyPlaces, found...)
	}
	return getAgencyCampaign(ctx, &in.OneAgencyCampaign)
}

// changes are the members of a change in the service's terms.
func (b *AgencyPatch) changes(exponent uint8) *campaigns.Changes {
	p := command.PatchCampaign{StartMillis: (*int64)(b.StartDate), EndMillis: (*int64)(b.EndDate.Pointer()), Active: b.IsActive}
	if b.Name != "" {
		p.Name = &b.Name
	}
	if amount := b.Budget.Pointer(); amount != nil {
		p.Budget = new(campaigns.Amount(*amount, exponent))
	}
	if b.Budget.Null && isTrue(b.Unlimited, false) {
		p.Budget = new(money.Micros(0))
	}
	if b.BudgetPeriod != "" {
		p.Period = new(campaigns.Number[model.Period](campaigns.Periods, b.BudgetPeriod))
	}
	return &campaigns.Changes{
		Members: p, TargetROAS: b.TargetROAS.Pointer().String(), NoEnd: b.EndDate.Null, NoROAS: b.TargetROAS.Null, Sees: presentForAgency,
		Complete: func(_ context.Context, now *store.CampaignState, p *command.PatchCampaign) error {
			return hasGoal(now, p, decodeDocument(now.Document).AutobiddingObjective, true)
		},
	}
}

func removeAgencyCampaign(ctx context.Context, in *OneAgencyCampaign) (*struct{}, error) {
	return nil, resource.ErrorOf(campaigns.Delete(ctx, resource.Tenant(ctx), resource.ParseUUID(in.ID), updatedBy(ctx), presentForAgency))
}

func agencyAnswer(st store.Tenant, c *store.CampaignState) AgencyCampaign {
	m := st.Settings()
	a := AgencyCampaign{
		ID: c.ID.String(), AccountID: st.AccountID(c.VendorID).String(), Name: c.Name,
		AdFormat: campaigns.Formats[c.Format], ChargeType: campaigns.Charges[c.Charge], BudgetPeriod: campaigns.Periods[c.Period],
		StartDate: resource.Time(c.StartMillis), EndDate: resource.TimeOf(c.EndMillis), CurrencyCode: m.CurrencyCode,
		IsActive: c.Active, CreatedAt: resource.Time(c.CreatedMillis), BidCount: c.BidCount,
	}
	if c.Budget != 0 {
		a.Budget = new(money.Minor(c.Budget, m.CurrencyExponent))
	}
	if c.TargetROASMilli != 0 {
		a.TargetROAS = &resource.Decimal{Text: string(money.AppendDecimal(nil, money.Micros(c.TargetROASMilli)*microsPerMilli))}
	}
	return a
}
