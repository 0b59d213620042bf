package report

import (
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/attribution/models"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// ModelsReport is a job with its result.
type ModelsReport struct {
	ModelsJob
	Campaigns       []ModelsRow      `json:"campaigns" doc:"Campaigns with sales, those with the largest reported amount first: at most 500, and one row without a campaign that sums up all others. Empty until the job is completed."`
	OtherCampaigns  int              `json:"otherCampaigns" doc:"How many campaigns are summed up in the last row."`
	Total           *ModelsColumns   `json:"total,omitempty" doc:"The sum of all campaigns."`
	Purchases       *ModelsPurchases `json:"purchases,omitempty" doc:"How many purchases were looked at: all that may have been credited to a click or impression of the days."`
	CompleteThrough *resource.Time   `json:"completeThrough,omitempty" doc:"Purchases that were reported later are in no column, though reports show them."`
}

// ModelsRow is what a campaign gets.
type ModelsRow struct {
	CampaignID   string `json:"campaignId" doc:"Empty in the row that sums up further campaigns."`
	CampaignName string `json:"campaignName" doc:"The name of the campaign."`
	VendorID     string `json:"vendorId" doc:"The vendor of the campaign."`
	ModelsColumns
}

// ModelsColumns are the sales by each model. By the day of the click or impression, as in all reports.
type ModelsColumns struct {
	Reported        ModelsSales `json:"reported" doc:"What was credited when the purchases were reported: the numbers of attributed in the reports."`
	Standard        ModelsSales `json:"standard" doc:"The marketplace's own rules, computed again: the last click or impression. With notRecomputable it is reported, exactly."`
	FirstClick      ModelsSales `json:"firstClick" doc:"The first click or, where the rules credit an impression, the first impression."`
	Linear          ModelsSales `json:"linear" doc:"All clicks, or impressions, of which the standard model takes the last, in equal parts."`
	Position        ModelsSales `json:"position" doc:"The same clicks or impressions: 40 % the first, 40 % the last, 20 % those between."`
	ViewOnly        ModelsSales `json:"viewOnly" doc:"The last impression, as if nobody had clicked."`
	OtherWindows    ModelsSales `json:"otherWindows" doc:"The standard model with other windows."`
	NotRecomputable ModelsSales `json:"notRecomputable" doc:"The part of reported whose purchases cannot be divided again; the models do not have it."`
}

// ModelsSales are items, or parts of items.
type ModelsSales struct {
	Amount        int64  `json:"amount" doc:"Minor units, rounded half up."`
	AmountDecimal string `json:"amountDecimal" csv:"number" doc:"Minor units, exact, with as many decimals as the currency needs."`
	Count         string `json:"count" csv:"number" doc:"Items, whatever their quantity, with up to six decimals: a model may divide an item."`
	Quantity      string `json:"quantity" csv:"number" doc:"Pieces, with up to six decimals."`
}

// ModelsPurchases counts the purchases of a job.
type ModelsPurchases struct {
	Recomputed   int64 `json:"recomputed" doc:"They were divided again."`
	BuyerUnknown int64 `json:"buyerUnknown" doc:"They were credited and cannot be divided again: their user was erased, or they were reported before the cluster kept users with purchases."`
	Changed      int64 `json:"changed" doc:"What is stored of their clicks and impressions would be credited otherwise now: a linked user was erased, or touchRetentionDays was changed."`
	TooOld       int64 `json:"tooOld" doc:"They were credited, and a window of a model begins before the first stored day."`
	Pending      int64 `json:"pending" doc:"They were being credited or returned while the job read them. They are in no column."`
}

// Table has one row per campaign.
func (r ModelsReport) Table() resource.Table {
	t := resource.Table{Rows: r.Campaigns}
	if r.CompleteThrough != nil {
		t.CompleteThrough = *r.CompleteThrough
	}
	return t
}

func modelsReportOf(x *store.Job, exponent uint8) ModelsReport {
	a := ModelsReport{ModelsJob: modelsJobOf(x), Campaigns: []ModelsRow{}}
	r := x.Models.Result
	if r == nil {
		return a
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		out := ModelsRow{CampaignName: row.Name, VendorID: row.VendorID, ModelsColumns: modelsColumnsOf(row, exponent)}
		if row.Campaign != (ids.UUID{}) {
			out.CampaignID = row.Campaign.String()
		}
		a.Campaigns = append(a.Campaigns, out)
	}
	a.OtherCampaigns, a.CompleteThrough = r.Others, new(resource.Time(r.ThroughMillis))
	a.Total = new(modelsColumnsOf(&r.Total, exponent))
	a.Purchases = &ModelsPurchases{
		Recomputed: r.Counts.Recomputed, BuyerUnknown: r.Counts.BuyerUnknown, Changed: r.Counts.Changed, TooOld: r.Counts.TooOld,
		Pending: r.Counts.Pending,
	}
	return a
}

func modelsColumnsOf(r *store.ModelRow, exponent uint8) ModelsColumns {
	of := func(s store.ModelSales) ModelsSales {
		return ModelsSales{
			Amount: money.Minor(s.Amount, exponent), AmountDecimal: string(money.AppendMinorDecimal(nil, s.Amount, exponent)),
			Count: decimalOf(s.Count), Quantity: decimalOf(s.Quantity),
		}
	}
	return ModelsColumns{
		Reported: of(r.Reported()), Standard: of(r.ByModel[models.Standard]), FirstClick: of(r.ByModel[models.First]),
		Linear: of(r.ByModel[models.Linear]), Position: of(r.ByModel[models.Position]), ViewOnly: of(r.ByModel[models.ViewOnly]),
		OtherWindows: of(r.ByModel[models.OtherWindows]), NotRecomputable: of(r.NotRecomputable),
	}
}

// decimalOf writes a number of store.ModelUnit as a decimal. ModelUnit is a million, as the micro-units of an amount are, and a
// currency without minor units has them as decimals.
func decimalOf(n int64) string { return string(money.AppendMinorDecimal(nil, money.Micros(n), 0)) }
