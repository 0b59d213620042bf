package campaign

import (
	"time"

	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// DialogBudget is what a campaign may spend.
type DialogBudget struct {
	Amount int64  `json:"amount" minimum:"1" maximum:"20000000000" doc:"Minor units."`
	Type   string `json:"type,omitempty" enum:"daily,weekly,monthly" doc:"Default daily."`
}

// DialogBudgetPatch changes the members of a budget that it contains.
type DialogBudgetPatch struct {
	Amount *int64 `json:"amount,omitempty" minimum:"1" maximum:"20000000000" doc:"Minor units."`
	Type   string `json:"type,omitempty" enum:"daily,weekly,monthly"`
}

// DialogPromotionType is the ad format in requests of the dialog.
type DialogPromotionType struct {
	AdFormat string `json:"adFormat,omitempty" enum:"listing" doc:"The dialog promotes products."`
}

// DialogTarget is the product of a bid.
type DialogTarget struct {
	Type string `json:"type" enum:"product" doc:"The dialog promotes products."`
	ID   string `json:"id" minLength:"1" maxLength:"255"`
}

// DialogTrigger limits a bid to auctions that name its product.
type DialogTrigger struct {
	Type  string             `json:"type" enum:"product" doc:"Absent: product and category auctions."`
	Value DialogTriggerValue `json:"value"`
}

// DialogTriggerValue names the product of a trigger.
type DialogTriggerValue struct {
	ProductID string `json:"productId" minLength:"1" maxLength:"255"`
}

// DialogBid is a product to promote.
type DialogBid struct {
	Target  DialogTarget   `json:"target"`
	Amount  *int64         `json:"amount,omitempty" minimum:"1" maximum:"20000000000" doc:"Minor units a click; default: the upper bound of most bids of the marketplace, or the budget if that is less."`
	Trigger *DialogTrigger `json:"trigger,omitempty"`
}

// DialogCampaignBody is a campaign as the dialog sends it. A vendor's page cannot set the status.
type DialogCampaignBody struct {
	Name          string               `json:"name" minLength:"1" maxLength:"255"`
	Budget        DialogBudget         `json:"budget"`
	StartDate     *resource.Time       `json:"startDate,omitempty" doc:"Default now."`
	EndDate       *resource.Time       `json:"endDate,omitempty" doc:"After startDate; absent: no end."`
	IsActive      *bool                `json:"isActive,omitempty" doc:"Default true."`
	CampaignType  string               `json:"campaignType,omitempty" enum:"autobidding,manual" doc:"Default autobidding."`
	PromotionType *DialogPromotionType `json:"promotionType,omitempty"`
	CurrencyCode  string               `json:"currencyCode,omitempty" maxLength:"3" doc:"The currency of the marketplace."`
	Bids          []DialogBid          `json:"bids" minItems:"1" maxItems:"500"`
}

// DialogPatchBody changes the members that it contains.
type DialogPatchBody struct {
	Name      string                           `json:"name,omitempty" minLength:"1" maxLength:"255"`
	Budget    *DialogBudgetPatch               `json:"budget,omitempty"`
	StartDate *resource.Time                   `json:"startDate,omitempty"`
	EndDate   resource.Optional[resource.Time] `json:"endDate,omitzero" doc:"Null: no end."`
	IsActive  *bool                            `json:"isActive,omitempty"`
}

// DialogCampaign is a campaign in answers. Members that the dialog reads as texts are never null.
type DialogCampaign struct {
	CampaignID      string        `json:"campaignId" format:"uuid"`
	Name            string        `json:"name"`
	Budget          *DialogBudget `json:"budget" doc:"null if the campaign is limited by the wallet only, or by a budget of type total."`
	StartDate       resource.Time `json:"startDate"`
	EndDate         resource.Time `json:"endDate" doc:"The end of the year 9999 means no end."`
	ActiveBidsCount int           `json:"activeBidsCount" doc:"Products that the campaign promotes now."`
	IsActive        bool          `json:"isActive"`
	Status          string        `json:"status" enum:"pending,approved,rejected" doc:"pending: the marketplace has not reviewed the campaign yet."`
}

// draft is the body in the service's terms, and what is wrong with members that only it has. Bids without an amount have none yet.
func (b *DialogCampaignBody) draft(m *model.Marketplace, nowMillis int64) (d campaigns.Draft, found []resource.Violation) {
	c := model.Campaign{
		Name: b.Name, Type: model.Autobidding, Charge: model.CPC, Budget: campaigns.Amount(b.Budget.Amount, m.CurrencyExponent),
		Period: periodOf(b.Budget.Type), StartMillis: nowMillis, Active: b.IsActive == nil || *b.IsActive,
	}
	if b.CampaignType != "" {
		c.Type = b.CampaignType
	}
	if b.StartDate != nil {
		c.StartMillis = int64(*b.StartDate)
	}
	if b.CurrencyCode != "" && b.CurrencyCode != m.CurrencyCode {
		found = append(found, resource.At("value_error", "must be the marketplace's currency", "body", "currencyCode"))
	}
	bids := make([]model.Bid, len(b.Bids))
	for i := range b.Bids {
		x := &b.Bids[i]
		bids[i] = campaigns.ListingBid(x.Target.ID)
		if x.Amount != nil {
			bids[i].Amount = campaigns.Amount(*x.Amount, m.CurrencyExponent)
		}
		if x.Trigger == nil {
			continue
		}
		if x.Trigger.Value.ProductID != x.Target.ID {
			found = append(found, resource.At("value_error", "must be the target's id", "body", "bids", i, "trigger", "value", "productId"))
		}
		bids[i].Triggers = bids[i].Triggers[:1] // The trigger that names the product.
	}
	return campaigns.Draft{Campaign: c, Bids: bids, End: (*int64)(b.EndDate), Malformed: len(found) > 0}, found
}

func dialogCampaignOf(c *store.CampaignState, exponent uint8) DialogCampaign {
	a := DialogCampaign{
		CampaignID: c.ID.String(), Name: c.Name, StartDate: resource.Time(c.StartMillis), EndDate: dialogNoEnd,
		ActiveBidsCount: 0, IsActive: c.Active, Status: campaigns.Statuses[c.Status],
	}
	if c.EndMillis != 0 {
		a.EndDate = resource.Time(c.EndMillis)
	}
	if c.Budget != 0 && c.Period != model.Total {
		a.Budget = &DialogBudget{money.Minor(c.Budget, exponent), campaigns.Periods[c.Period]}
	}
	return a
}

func periodOf(word string) model.Period {
	return campaigns.Number[model.Period](campaigns.Periods, word)
}

const dialogAmountMax = 20_000_000_000 // BOUND: the largest amount of the interface, in minor units.

// dialogNoEnd is the endDate in answers for a campaign without an end, because the dialog requires a date.
var dialogNoEnd = resource.Time(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).UnixMilli())
