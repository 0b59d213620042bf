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

	"github.com/gavel-ads/gavel/node/apierr"
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

var (
	formats = []string{"listing", "banner", "sponsored_brand"}
	charges = []string{"", "CPC", "CPM", "CPA"}
	periods = []string{"daily", "weekly", "monthly", "total"}
)

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

// find returns a campaign that is not deleted. A deleted one is answered with 404.
func find(ctx context.Context, in *OneCampaign) (store.CampaignState, error) {
	c, err := storeOf(ctx).Campaign(ctx, resource.ParseUUID(in.ID))
	if err != nil {
		return c, resource.ErrorOf(err)
	}
	return c, notDeleted(&c)
}

func notDeleted(c *store.CampaignState) error {
	if c.Status == market.Terminated {
		return resource.Refuse(apierr.ResourceNotFound, "")
	}
	return nil
}

func get(ctx context.Context, in *OneCampaign) (*output, error) {
	c, err := find(ctx, in)
	if err != nil {
		return nil, err
	}
	return &output{answer(storeOf(ctx), &c)}, nil
}

func patch(ctx context.Context, in *patchInput) (*output, error) {
	st := storeOf(ctx)
	err := st.ChangeCampaign(ctx, resource.ParseUUID(in.ID), func(now *store.CampaignState) (*command.PatchCampaign, error) {
		if err := notDeleted(now); err != nil {
			return nil, err
		}
		return in.Body.command(now, st.Settings().CurrencyExponent)
	})
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return get(ctx, &in.OneCampaign)
}

func (b *Patch) command(c *store.CampaignState, exponent uint8) (*command.PatchCampaign, error) {
	p := &command.PatchCampaign{Campaign: c.ID, StartMillis: (*int64)(b.StartDate), EndMillis: (*int64)(b.EndDate), Active: b.IsActive}
	start, end := c.StartMillis, c.EndMillis
	if b.StartDate != nil {
		start = int64(*b.StartDate)
	}
	if b.EndDate != nil {
		end = int64(*b.EndDate)
	}
	var found []resource.Violation
	if end != 0 && end <= start {
		found = append(found, resource.At("value_error", "endDate must be after startDate", "body", "endDate"))
	}
	if b.Name != "" {
		p.Name = &b.Name
	}
	if b.Budget != nil {
		amount, err := money.FromMinor(*b.Budget, exponent)
		if err != nil {
			found = append(found, resource.At("less_than_equal", "is out of range", "body", "budget"))
		}
		p.Budget = &amount
	}
	if b.BudgetPeriod != "" {
		if c.Charge == market.CPA && b.BudgetPeriod != "total" {
			found = append(found, resource.At("value_error", "CPA needs a budget of type total", "body", "budgetPeriod"))
		}
		p.Period = new(periodOf(b.BudgetPeriod))
	}
	if b.TargetROAS != nil {
		milli, ok := b.TargetROAS.Thousandths()
		if !ok {
			found = append(found, roasViolation)
		}
		p.TargetROASMilli = &milli
	}
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	return p, nil
}

func periodOf(word string) market.Period {
	for i, w := range periods {
		if w == word {
			return market.Period(i) //nolint:gosec // four words.
		}
	}
	panic("the kit has checked this word")
}

func remove(ctx context.Context, in *OneCampaign) (*struct{}, error) {
	c, err := find(ctx, in)
	if err != nil {
		return nil, err
	}
	return nil, resource.ErrorOf(storeOf(ctx).PatchCampaign(ctx, &command.PatchCampaign{
		Campaign: c.ID, Status: new(market.Terminated), StatusUpdatedBy: new("key:" + resource.CallerOf(ctx).KeyID),
	}))
}

func answer(st Store, c *store.CampaignState) Campaign {
	m := st.Settings()
	a := Campaign{
		ID: c.ID.String(), AccountID: st.AccountID(c.VendorID).String(), Name: c.Name,
		AdFormat: formats[c.Format], ChargeType: charges[c.Charge], Budget: int64(c.Budget / money.PerMinor(m.CurrencyExponent)), BudgetPeriod: periods[c.Period],
		StartDate: resource.Time(c.StartMillis), EndDate: resource.TimeOf(c.EndMillis), CurrencyCode: m.CurrencyCode,
		IsActive: c.Active, CreatedAt: resource.Time(c.CreatedMillis), BidCount: c.BidCount,
	}
	if c.TargetROASMilli != 0 {
		a.TargetROAS = &resource.Decimal{Text: string(money.AppendDecimal(nil, money.Micros(c.TargetROASMilli)*microsPerMilli))}
	}
	return a
}
