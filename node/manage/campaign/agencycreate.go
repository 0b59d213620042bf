package campaign

import (
	"context"

	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/model"
)

// AgencyTarget is what a campaign promotes.
type AgencyTarget struct {
	Type string `json:"type" enum:"product" doc:"Only products, because everything else needs a creative."`
	ID   string `json:"id" minLength:"1" maxLength:"255"`
}

// AgencyBody is a campaign as an agency sends it.
type AgencyBody struct {
	Name         string           `json:"name" minLength:"1" maxLength:"75"`
	Budget       int64            `json:"budget" minimum:"1" maximum:"20000000000" doc:"Minor units."`
	BudgetPeriod string           `json:"budgetPeriod,omitempty" enum:"daily,weekly,monthly,total" doc:"Default daily."`
	Targets      []AgencyTarget   `json:"targets" minItems:"1" maxItems:"500" doc:"Each gets one bid: the upper bound of most bids of the marketplace, or the budget if that is less."`
	TargetROAS   resource.Decimal `json:"targetRoas" minimum:"0.5" maximum:"20" doc:"At most three decimals. A bid is at most 10 % of the product's catalog price divided by this."`
	StartDate    resource.Time    `json:"startDate"`
	EndDate      *resource.Time   `json:"endDate,omitempty" doc:"After startDate; absent: no end."`
}

type agencyCreateInput struct {
	VendorID string `query:"vendor_id" required:"true" minLength:"1" maxLength:"255" doc:"The vendor of the campaign."`
	Body     AgencyBody
}

func createAgencyCampaign(ctx context.Context, in *agencyCreateInput) (*agencyOutput, error) {
	st := resource.Tenant(ctx)
	d := in.Body.draft(st.Settings().CurrencyExponent)
	d.Campaign.VendorID, d.Campaign.StatusUpdatedBy = in.VendorID, updatedBy(ctx)
	d.Complete = func(ctx context.Context, _ *model.Vendor) error { return d.Price(ctx, st) }
	if err := campaigns.Create(ctx, st, &d); err != nil {
		return nil, resource.CampaignErrorOf(err, agencyPlaces)
	}
	return getAgencyCampaign(ctx, &OneAgencyCampaign{ID: d.Campaign.ID.String()})
}

// draft is the body in the service's terms, with a bid on each target.
func (b *AgencyBody) draft(exponent uint8) campaigns.Draft {
	d := campaigns.Draft{
		Campaign: model.Campaign{
			Name: b.Name, Type: model.Autobidding, Charge: model.CPC, Budget: campaigns.Amount(b.Budget, exponent),
			Period:      campaigns.Number[model.Period](campaigns.Periods, b.BudgetPeriod),
			StartMillis: int64(b.StartDate), Active: true, Status: model.Approved,
		},
		Bids: make([]model.Bid, len(b.Targets)), End: (*int64)(b.EndDate), TargetROAS: b.TargetROAS.String(),
	}
	for i := range b.Targets {
		d.Bids[i] = campaigns.ListingBid(b.Targets[i].ID)
	}
	return d
}
