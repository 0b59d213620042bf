package campaign

import (
	"context"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// DialogSpend counts events of one kind.
type DialogSpend struct {
	Total   int64 `json:"total"`
	Charged int64 `json:"charged"`
	AdSpent int64 `json:"adSpent" doc:"Minor units."`
}

// DialogPurchases are those that the campaign led to.
type DialogPurchases struct {
	Amount         int64            `json:"amount" doc:"Minor units."`
	Count          int64            `json:"count"`
	Quantity       int64            `json:"quantity"`
	CountByProduct map[string]int64 `json:"countByProduct" doc:"Always null."`
}

// DialogAuctions are members that the dialog requires in every report.
type DialogAuctions struct {
	PercentageWon float64 `json:"percentageWon" doc:"Always 0: auctions are not counted by campaign, but the client requires a number."`
	Won           int64   `json:"won" doc:"Always 0."`
	Lost          int64   `json:"lost" doc:"Always 0."`
}

// DialogNumbers are the counters of a span of days.
type DialogNumbers struct {
	Impressions DialogSpend     `json:"impressions"`
	Clicks      DialogSpend     `json:"clicks"`
	Purchases   DialogPurchases `json:"purchases"`
}

// DialogReport is the sum of a span of days.
type DialogReport struct {
	DialogNumbers
	Auctions DialogAuctions `json:"auctions"`
}

// DialogDay is one day of a report.
type DialogDay struct {
	Date string `json:"date" format:"date"`
	DialogNumbers
}

// DialogDays are the days on which something happened.
type DialogDays struct {
	Reports []DialogDay `json:"reports"`
}

type (
	reportInput struct {
		CampaignID string `path:"campaign_id" format:"uuid"`
		StartDate  string `query:"start_date" required:"true" format:"date" doc:"In the marketplace's time zone."`
		EndDate    string `query:"end_date" required:"true" format:"date" doc:"Inclusive; at most 366 days with start_date."`
	}
	reportOutput struct{ Body DialogReport }
	daysOutput   struct{ Body DialogDays }
)

func dialogReport(ctx context.Context, in *reportInput) (*reportOutput, error) {
	days, err := resource.Days(in.StartDate, in.EndDate)
	if err != nil {
		return nil, err
	}
	c, err := findDialogCampaign(ctx, in.CampaignID)
	if err != nil {
		return nil, err
	}
	sum, err := resource.Tenant(ctx).CampaignReport(ctx, c.ID, days)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &reportOutput{DialogReport{DialogNumbers: numbersOf(&sum, resource.Tenant(ctx).Settings().CurrencyExponent)}}, nil
}

func daily(ctx context.Context, in *reportInput) (*daysOutput, error) {
	days, err := resource.Days(in.StartDate, in.EndDate)
	if err != nil {
		return nil, err
	}
	c, err := findDialogCampaign(ctx, in.CampaignID)
	if err != nil {
		return nil, err
	}
	rows, err := resource.Tenant(ctx).CampaignRows(ctx, c.ID, days, store.Daily)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	all := make([]DialogDay, len(rows))
	for i := range rows {
		all[i] = DialogDay{rows[i].Date, numbersOf(&rows[i].Counters, resource.Tenant(ctx).Settings().CurrencyExponent)}
	}
	return &daysOutput{DialogDays{all}}, nil
}

func numbersOf(c *rollup.Counters, exponent uint8) DialogNumbers {
	return DialogNumbers{
		Impressions: DialogSpend{c.Impressions, c.ChargedImpressions, money.Minor(c.SpentImpressions, exponent)},
		Clicks:      DialogSpend{c.Clicks, c.ChargedClicks, money.Minor(c.SpentClicks, exponent)},
		Purchases:   DialogPurchases{Amount: money.Minor(c.PurchaseAmount, exponent), Count: c.Purchases, Quantity: c.PurchaseQuantity},
	}
}
