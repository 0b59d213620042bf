package modal

import (
	"context"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Spend counts events of one kind.
type Spend struct {
	Total   int64 `json:"total"`
	Charged int64 `json:"charged"`
	AdSpent int64 `json:"adSpent" doc:"Minor units."`
}

// Purchases are those that the campaign led to.
type Purchases struct {
	Amount         int64            `json:"amount" doc:"Minor units."`
	Count          int64            `json:"count"`
	Quantity       int64            `json:"quantity"`
	CountByProduct map[string]int64 `json:"countByProduct" doc:"Always null."`
}

// Auctions are members that the dialog requires in every report.
type Auctions struct {
	PercentageWon float64 `json:"percentageWon" doc:"Always 0: auctions are not counted by campaign, but the client requires a number."`
	Won           int64   `json:"won" doc:"Always 0."`
	Lost          int64   `json:"lost" doc:"Always 0."`
}

// Numbers are the counters of a span of days.
type Numbers struct {
	Impressions Spend     `json:"impressions"`
	Clicks      Spend     `json:"clicks"`
	Purchases   Purchases `json:"purchases"`
}

// Report is the sum of a span of days.
type Report struct {
	Numbers
	Auctions Auctions `json:"auctions"`
}

// Day is one day of a report.
type Day struct {
	Date string `json:"date" format:"date"`
	Numbers
}

// Days are the days on which something happened.
type Days struct {
	Reports []Day `json:"reports"`
}

type (
	reportInput struct {
		CampaignID string `path:"campaign_id" format:"uuid"`
		StartDate  string `query:"start_date" required:"true" format:"date" doc:"In the marketplace's time zone."`
		EndDate    string `query:"end_date" required:"true" format:"date" doc:"Inclusive; at most 366 days with start_date."`
	}
	reportOutput struct{ Body Report }
	daysOutput   struct{ Body Days }
)

func report(ctx context.Context, in *reportInput) (*reportOutput, error) {
	days, err := resource.Days(in.StartDate, in.EndDate)
	if err != nil {
		return nil, err
	}
	c, err := find(ctx, in.CampaignID)
	if err != nil {
		return nil, err
	}
	sum, err := storeOf(ctx).CampaignReport(ctx, c.ID, days)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &reportOutput{Report{Numbers: numbersOf(&sum, storeOf(ctx).Settings().CurrencyExponent)}}, nil
}

func daily(ctx context.Context, in *reportInput) (*daysOutput, error) {
	days, err := resource.Days(in.StartDate, in.EndDate)
	if err != nil {
		return nil, err
	}
	c, err := find(ctx, in.CampaignID)
	if err != nil {
		return nil, err
	}
	rows, err := storeOf(ctx).CampaignDaily(ctx, c.ID, days)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	all := make([]Day, len(rows))
	for i := range rows {
		all[i] = Day{rows[i].Date, numbersOf(&rows[i].Counters, storeOf(ctx).Settings().CurrencyExponent)}
	}
	return &daysOutput{Days{all}}, nil
}

func numbersOf(c *rollup.Counters, exponent uint8) Numbers {
	return Numbers{
		Impressions: Spend{c.Impressions, c.ChargedImpressions, money.Minor(c.SpentImpressions, exponent)},
		Clicks:      Spend{c.Clicks, c.ChargedClicks, money.Minor(c.SpentClicks, exponent)},
		Purchases:   Purchases{Amount: money.Minor(c.PurchaseAmount, exponent), Count: c.Purchases, Quantity: c.PurchaseQuantity},
	}
}
