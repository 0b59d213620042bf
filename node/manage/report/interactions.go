package report

import (
	"context"
	"time"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/money"
)

// InteractionsInput selects lines.
type InteractionsInput struct {
	StartDate   string `query:"start_date" required:"true" format:"date-time" doc:"Hours that begin earlier are left out."`
	EndDate     string `query:"end_date" required:"true" format:"date-time" doc:"Hours that begin at this time or later are left out. At most 366 days after start_date."`
	Limit       int    `query:"limit" minimum:"0" maximum:"1000" default:"1000"`
	NextPage    string `query:"next_page"`
	GroupBy     string `query:"group_by" enum:"vendor,campaign,product" default:"vendor"`
	Granularity string `query:"granularity" enum:"daily,hourly" default:"daily"`
}

// Interaction is one line. By campaign, purchases are those that were reported with the campaign; otherwise all purchases of
// the products.
type Interaction struct {
	VendorID              *string       `json:"vendorId" doc:"Null if several vendors sell the product, or if it is not in the catalog any more: counters do not contain the vendor."`
	CampaignID            string        `json:"campaignId,omitempty" doc:"By campaign."`
	ProductID             string        `json:"productId,omitempty" doc:"By product."`
	Timestamp             resource.Time `json:"timestamp" doc:"Start of the hour or day in the marketplace's time zone."`
	Impressions           int64         `json:"impressions"`
	Clicks                int64         `json:"clicks"`
	ChargedImpressions    int64         `json:"chargedImpressions"`
	ChargedClicks         int64         `json:"chargedClicks"`
	AdSpentImpressions    int64         `json:"adSpentImpressions" doc:"Minor units, rounded half up."`
	AdSpentClicks         int64         `json:"adSpentClicks" doc:"Minor units, rounded half up."`
	TotalPurchaseAmount   int64         `json:"totalPurchaseAmount" doc:"Minor units, rounded half up."`
	TotalPurchaseQuantity int64         `json:"totalPurchaseQuantity"`
	TotalPurchaseCount    int64         `json:"totalPurchaseCount"`
}

// Interactions is one page of lines.
type Interactions struct {
	Interactions []Interaction `json:"interactions"`
	resource.Page
	CompleteThrough resource.Time `json:"completeThrough"`
}

type interactionsOutput struct{ Body Interactions }

// span reads the times and checks what the schema cannot check: their order and distance.
func (in *InteractionsInput) span() (from, to time.Time, err error) {
	from, errFrom := time.Parse(time.RFC3339, in.StartDate)
	to, errTo := time.Parse(time.RFC3339, in.EndDate)
	if errFrom != nil || errTo != nil {
		panic("the kit has checked these times")
	}
	const day = 24 * time.Hour
	switch {
	case to.Before(from):
		err = resource.Invalid(resource.At("value_error", "must not be before start_date", "query", "end_date"))
	case to.Sub(from) > resource.DaysMax*day:
		err = resource.Invalid(resource.At("value_error", "must be at most 366 days after start_date", "query", "end_date"))
	}
	return from, to, err
}

func interactions(ctx context.Context, in *InteractionsInput) (*interactionsOutput, error) {
	from, to, err := in.span()
	if err != nil {
		return nil, err
	}
	st := resource.Tenant(ctx)
	through := resource.Time(st.CompleteThrough().UnixMilli())
	cursors := resource.CursorsFor(ctx, st.CursorKey(), "listInteractions", in.StartDate, in.EndDate, in.GroupBy, in.Granularity)
	page, end, err := resource.ListOrPeek(cursors, in.NextPage, in.Limit, func(x store.Interaction) string { return x.ListPosition() },
		func(p store.Page) ([]store.Interaction, bool, error) {
			return st.Interactions(ctx, &store.Interactions{
				From: from, To: to, By: store.Grouping(in.GroupBy), Hourly: in.Granularity == "hourly", Page: p,
			})
		})
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	all := make([]Interaction, len(page))
	for i := range page {
		all[i] = interactionOf(&page[i], st.Settings().CurrencyExponent)
	}
	return &interactionsOutput{Interactions{all, end, through}}, nil
}

func interactionOf(x *store.Interaction, exponent uint8) Interaction {
	line := Interaction{
		ProductID: x.Product, Timestamp: resource.Time(x.Millis),
		Impressions: x.Impressions, ChargedImpressions: x.ChargedImpressions, AdSpentImpressions: money.Minor(x.SpentImpressions, exponent),
		Clicks: x.Clicks, ChargedClicks: x.ChargedClicks, AdSpentClicks: money.Minor(x.SpentClicks, exponent),
		TotalPurchaseAmount: money.Minor(x.PurchaseAmount, exponent), TotalPurchaseQuantity: x.PurchaseQuantity, TotalPurchaseCount: x.Purchases,
	}
	if x.VendorID != "" {
		line.VendorID = &x.VendorID
	}
	if !x.Campaign.IsZero() {
		line.CampaignID = x.Campaign.String()
	}
	return line
}
