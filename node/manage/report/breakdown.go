package report

import (
	"context"
	"errors"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// BreakdownInput selects the days and what the rows stand for.
type BreakdownInput struct {
	StartDate string `query:"start_date" required:"true" format:"date" doc:"First day, in the marketplace's time zone."`
	EndDate   string `query:"end_date" required:"true" format:"date" doc:"Last day; at most 366 days in all."`
	By        string `query:"by" default:"placement" enum:"placement,device,channel,slot,keyword,format" doc:"What a row stands for: the placementId of the auction; the device or channel of the event; the banner slot or sponsored-brand placement, the keywords, or the ad format of the bid that won."`
	Paging
}

// CampaignBreakdownInput selects the campaign.
type CampaignBreakdownInput struct {
	CampaignID string `path:"campaign_id" format:"uuid"`
	resource.Owned
	BreakdownInput
}

// CheckOwner refuses a request that names another vendor than the campaign's.
func (in *CampaignBreakdownInput) CheckOwner(ctx context.Context) error {
	return in.CheckCampaign(ctx, in.CampaignID)
}

// VendorBreakdownInput selects the vendor.
type VendorBreakdownInput struct {
	VendorID string `path:"vendor_id" minLength:"1" maxLength:"255"`
	BreakdownInput
}

// MarketplaceBreakdownInput selects all campaigns.
type MarketplaceBreakdownInput struct{ BreakdownInput }

// Part is the numbers of one value.
type Part struct {
	Value *string `json:"value" doc:"A placementId; desktop or mobile; onsite, offsite, instore or other; the external id of a slot or placement; the keywords of a bid, separated by commas, because a click does not say which of them was searched for; listing, banner or sponsored_brand. Null: none, or not known. What reversals have given back is subtracted in the row of null, or of onsite, so its amounts may be negative."`
	Numbers
}

// Parts is one page of values.
type Parts struct {
	Reports []Part `json:"reports"`
	resource.Page
	CompleteThrough resource.Time `json:"completeThrough"`
}

// Table has one row per value.
func (p Parts) Table() resource.Table {
	return resource.Table{Rows: p.Reports, Page: p.Page, CompleteThrough: p.CompleteThrough}
}

type partsOutput struct{ Body Parts }

func registerBreakdowns(api huma.API) {
	const doc = " by placement, device, channel, slot, keyword or ad format, in the order of their values. Purchases are those attributed to the ads."
	add(api, "getCampaignBreakdown", base+"/breakdown", "List a campaign's numbers"+doc, campaignBreakdown)
	add(api, "getVendorBreakdown", service+"/vendors/{vendor_id}/breakdown", "List the numbers of a vendor's campaigns"+doc, vendorBreakdown)
	add(api, "getMarketplaceBreakdown", service+"/marketplace/breakdown", "List the numbers of all campaigns"+doc, marketplaceBreakdown)
}

var dimensions = map[string]store.Dimension{
	"placement": store.ByPlacement, "device": store.ByDevice, "channel": store.ByChannel, "slot": store.BySlot, "keyword": store.ByKeyword,
	"format": store.ByFormat,
}

func campaignBreakdown(ctx context.Context, in *CampaignBreakdownInput) (*partsOutput, error) {
	return in.parts(ctx, "campaign "+in.CampaignID, resource.ErrorOf, func(st store.Tenant, d store.Dates, by store.Dimension) ([]store.BreakdownRow, error) {
		return st.CampaignBreakdown(ctx, resource.ParseUUID(in.CampaignID), d, by)
	})
}

func vendorBreakdown(ctx context.Context, in *VendorBreakdownInput) (*partsOutput, error) {
	return in.parts(ctx, "vendor "+in.VendorID, resource.VendorErrorOf, func(st store.Tenant, d store.Dates, by store.Dimension) ([]store.BreakdownRow, error) {
		return st.VendorBreakdown(ctx, in.VendorID, d, by)
	})
}

func marketplaceBreakdown(ctx context.Context, in *MarketplaceBreakdownInput) (*partsOutput, error) {
	return in.parts(ctx, "marketplace", resource.ErrorOf, func(st store.Tenant, d store.Dates, by store.Dimension) ([]store.BreakdownRow, error) {
		return st.VendorBreakdown(ctx, "", d, by)
	})
}

// parts serves a page of the rows of a subject. It reads completeThrough before the numbers, so that it never promises too much.
func (in *BreakdownInput) parts(
	ctx context.Context, of string, errorOf func(error) error, read func(store.Tenant, store.Dates, store.Dimension) ([]store.BreakdownRow, error),
) (*partsOutput, error) {
	d, err := resource.Days(in.StartDate, in.EndDate)
	if err != nil {
		return nil, err
	}
	st := resource.Tenant(ctx)
	through := resource.Time(st.CompleteThrough().UnixMilli())
	rows, err := read(st, d, dimensions[in.By])
	if errors.Is(err, store.ErrTooMany) {
		return nil, resource.Invalid(resource.At("value_error", fmt.Sprintf(
			"%s has more than %d values in these days; ask for one vendor, one campaign, or fewer days", in.By, store.BreakdownMax), "query", "by"))
	}
	if err != nil {
		return nil, errorOf(err)
	}
	cursors := resource.CursorsFor(ctx, st.CursorKey(), "breakdown", of, in.By, in.StartDate, in.EndDate)
	page, end, err := cut(cursors, in.Paging, func(r store.BreakdownRow) string { return "=" + r.Value }, rows) // The first id is not empty.
	if err != nil {
		return nil, err
	}
	all := make([]Part, len(page))
	for i := range page {
		if page[i].Value != "" {
			all[i].Value = &page[i].Value
		}
		all[i].Numbers = numbersOf(&page[i].Counters, st.Settings().CurrencyExponent)
	}
	return &partsOutput{Parts{all, end, through}}, nil
}
