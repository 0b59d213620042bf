package report

import (
	"context"
	"math"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/attribution"
)

// registerReach mounts the counts of different users.
func registerReach(api huma.API) {
	const doc = " who saw and clicked ads and bought from them, by the clicks and impressions that are stored of each user."
	add(api, "getCampaignReach", base+"/reach", "Count the different users of a campaign"+doc, campaignReach)
	add(api, "getVendorReach", service+"/vendors/{vendor_id}/reach", "Count the different users of a vendor's campaigns"+doc, vendorReach)
	add(api, "getMarketplaceReach", service+"/marketplace/reach", "Count the different users of all campaigns"+doc, marketplaceReach)
}

// ReachNumbers count different users, and how often they saw and clicked.
type ReachNumbers struct {
	Reached     int64    `json:"reached" doc:"Different users (opaqueUserId) with an impression. Users who were erased are not counted, here and below."`
	Clicked     int64    `json:"clicked" doc:"Different users with a click."`
	Bought      *int64   `json:"bought" doc:"Different users with a purchase of which an item was credited to one of the ads on the days, and did not come back whole. Null when start_date is more than 62 UTC days ago, because purchases are not kept longer."`
	Impressions int64    `json:"impressions" doc:"Impressions of the users reached."`
	Clicks      int64    `json:"clicks" doc:"Clicks of the users who clicked."`
	Frequency   *float64 `json:"frequency" doc:"Impressions per user reached, with two decimals. Null when nobody was reached."`
}

// PlacementReach are the numbers of one placementId. A user may be in several.
type PlacementReach struct {
	PlacementID int64 `json:"placementId" doc:"The placementId of the auctions; 0: auctions without one."`
	ReachNumbers
}

// Reach counts the different users of some ads.
type Reach struct {
	days store.Dates // For CSV; JSON does not repeat what the request says.
	ReachNumbers
	ByPlacement     []PlacementReach `json:"byPlacement" doc:"By the placementId of the auctions, those without any user left out. A user of several counts in each, so the rows do not add up."`
	Incomplete      bool             `json:"incomplete" doc:"Some user had 100 or more impressions, or clicks, on a UTC day. Of a user and day a group of nodes keeps 100 of each; further ones are in other reports only."`
	KeptDays        int              `json:"keptDays" doc:"For how many UTC days, the current one included, the marketplace keeps clicks and impressions of users (touchRetentionDays)."`
	FirstDate       string           `json:"firstDate" format:"date" doc:"The earliest start_date at present."`
	CompleteThrough resource.Time    `json:"completeThrough" doc:"All events accepted before are counted, purchases within a minute."`
}

// ReachDays selects the days.
type ReachDays struct {
	StartDate string `query:"start_date" required:"true" format:"date" doc:"First day, in the marketplace's time zone; not before firstDate."`
	EndDate   string `query:"end_date" required:"true" format:"date" doc:"Last day; at most 90 days in all."`
}

// CampaignReachInput selects the campaign and the days.
type CampaignReachInput struct {
	CampaignID string `path:"campaign_id" format:"uuid"`
	resource.Owned
	ReachDays
}

// CheckOwner refuses a request that names another vendor than the campaign's.
func (in *CampaignReachInput) CheckOwner(ctx context.Context) error {
	return in.CheckCampaign(ctx, in.CampaignID)
}

// VendorReachInput selects the vendor and the days.
type VendorReachInput struct {
	VendorID string `path:"vendor_id" minLength:"1" maxLength:"255"`
	ReachDays
}

type reachOutput struct{ Body Reach }

func campaignReach(ctx context.Context, in *CampaignReachInput) (*reachOutput, error) {
	x, err := in.reach(ctx, store.ReachOf{Campaign: resource.ParseUUID(in.CampaignID)})
	return x, resource.ErrorOf(err)
}

func vendorReach(ctx context.Context, in *VendorReachInput) (*reachOutput, error) {
	x, err := in.reach(ctx, store.ReachOf{VendorID: in.VendorID})
	return x, resource.VendorErrorOf(err)
}

func marketplaceReach(ctx context.Context, in *ReachDays) (*reachOutput, error) {
	x, err := in.reach(ctx, store.ReachOf{})
	return x, resource.ErrorOf(err)
}

// reach counts the users of the days. It checks again afterwards that the days are kept, because the count may go on over
// midnight, when the first day is dropped.
func (in *ReachDays) reach(ctx context.Context, of store.ReachOf) (*reachOutput, error) {
	d, err := resource.DaysWithin(in.StartDate, in.EndDate, attribution.WindowDaysMax)
	if err != nil {
		return nil, err
	}
	if _, _, err := in.kept(ctx); err != nil {
		return nil, err
	}
	st := resource.Tenant(ctx)
	through := resource.Time(st.CompleteThrough().UnixMilli())
	x, err := st.Reach(ctx, of, d)
	if err != nil {
		return nil, err
	}
	first, days, err := in.kept(ctx)
	if err != nil {
		return nil, err
	}
	return &reachOutput{Reach{
		days: d, ReachNumbers: reachNumbers(&x.ReachSum, x.BuyersKept), ByPlacement: byPlacement(&x), Incomplete: x.Full,
		KeptDays: days, FirstDate: first, CompleteThrough: through,
	}}, nil
}

// kept refuses days of which the touches are not kept any more. It returns the first kept day and for how many UTC days the
// marketplace keeps touches.
func (in *ReachDays) kept(ctx context.Context) (first string, days int, err error) {
	first, days, err = resource.Tenant(ctx).ReachFirstDay()
	if err == nil && in.StartDate < first {
		err = resource.Invalid(resource.At("value_error", "is "+in.StartDate+", must not be before "+first+
			": clicks and impressions of users are kept for "+strconv.Itoa(days)+" UTC days (touchRetentionDays)", "query", "start_date"))
	}
	return first, days, err
}

func reachNumbers(s *store.ReachSum, buyers bool) ReachNumbers {
	n := ReachNumbers{Reached: s.Reached, Clicked: s.Clicked, Impressions: s.Impressions, Clicks: s.Clicks}
	if buyers {
		n.Bought = &s.Bought
	}
	if s.Reached > 0 {
		n.Frequency = new(math.Round(float64(s.Impressions)/float64(s.Reached)*100) / 100)
	}
	return n
}

func byPlacement(x *store.Reach) []PlacementReach {
	all := []PlacementReach{}
	for i := range x.ByPlacement {
		if s := &x.ByPlacement[i]; *s != (store.ReachSum{}) {
			all = append(all, PlacementReach{int64(i), reachNumbers(s, x.BuyersKept)})
		}
	}
	return all
}

// ReachRow is a row of a table: of all users if it has no placement, else of those of the placement.
type ReachRow struct {
	StartDate   string `json:"startDate"`
	EndDate     string `json:"endDate"`
	PlacementID *int64 `json:"placementId"`
	ReachNumbers
}

// Table has one row of all users, and one of each placement.
func (r Reach) Table() resource.Table {
	rows := []ReachRow{{r.days.From, r.days.To, nil, r.ReachNumbers}}
	for i := range r.ByPlacement {
		p := &r.ByPlacement[i]
		rows = append(rows, ReachRow{r.days.From, r.days.To, &p.PlacementID, p.ReachNumbers})
	}
	return resource.Table{Rows: rows, CompleteThrough: r.CompleteThrough}
}
