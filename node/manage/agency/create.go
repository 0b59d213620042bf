package agency

import (
	"context"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// Target is what a campaign promotes.
type Target struct {
	Type string `json:"type" enum:"product" doc:"Only products, because everything else needs a creative."`
	ID   string `json:"id" minLength:"1" maxLength:"255"`
}

// Body is a campaign as an agency sends it.
type Body struct {
	Name         string           `json:"name" minLength:"1" maxLength:"75"`
	Budget       int64            `json:"budget" minimum:"1" maximum:"20000000000" doc:"Minor units."`
	BudgetPeriod string           `json:"budgetPeriod,omitempty" enum:"daily,weekly,monthly,total" doc:"Default daily."`
	Targets      []Target         `json:"targets" minItems:"1" maxItems:"500" doc:"Each gets one bid: the upper bound of most bids of the marketplace, or the budget if that is less."`
	TargetROAS   resource.Decimal `json:"targetRoas" minimum:"0.5" maximum:"20" doc:"At most three decimals. It is stored, but bids do not depend on it yet."`
	StartDate    resource.Time    `json:"startDate"`
	EndDate      *resource.Time   `json:"endDate,omitempty" doc:"After startDate; absent: no end."`
}

type createInput struct {
	VendorID string `query:"vendor_id" required:"true" minLength:"1" maxLength:"255" doc:"The vendor of the campaign."`
	Body     Body
}

// roasViolation refuses a target that is not a whole number of thousandths, the unit in which it is stored.
var roasViolation = resource.At("value_error", "must have at most three decimals", "body", "targetRoas")

func create(ctx context.Context, in *createInput) (*output, error) {
	st, m := storeOf(ctx), storeOf(ctx).Settings()
	c, found := in.Body.campaign(m.CurrencyExponent)
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	if _, err := st.Vendor(ctx, in.VendorID); err != nil {
		return nil, resource.VendorErrorOf(err)
	}
	r, err := st.BidRange(ctx)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	bids := make([]market.Bid, len(in.Body.Targets))
	for i := range bids {
		bids[i] = resource.ListingBid(in.Body.Targets[i].ID)
		bids[i].Amount = min(money.Micros(r.High)*money.PerMinor(m.CurrencyExponent), c.Budget)
	}
	c.VendorID, c.StatusUpdatedBy = in.VendorID, "key:"+resource.CallerOf(ctx).KeyID
	if err := st.CreateCampaign(ctx, &c, bids); err != nil {
		return nil, resource.ErrorOf(err)
	}
	return get(ctx, &OneCampaign{ID: c.ID.String()})
}

func (b *Body) campaign(exponent uint8) (c market.Campaign, found []resource.Violation) {
	budget, err := money.FromMinor(b.Budget, exponent)
	if err != nil {
		found = append(found, resource.At("less_than_equal", "is out of range", "body", "budget"))
	}
	milli, ok := b.TargetROAS.Thousandths()
	if !ok {
		found = append(found, roasViolation)
	}
	c = market.Campaign{
		Name: b.Name, Type: "autobidding", Charge: market.CPC, Budget: budget, StartMillis: int64(b.StartDate),
		Active: true, Status: market.Approved, TargetROASMilli: milli,
	}
	if b.BudgetPeriod != "" {
		c.Period = periodOf(b.BudgetPeriod)
	}
	if b.EndDate != nil {
		c.EndMillis = int64(*b.EndDate)
		if c.EndMillis <= c.StartMillis {
			found = append(found, resource.At("value_error", "must be after startDate", "body", "endDate"))
		}
	}
	return c, found
}
