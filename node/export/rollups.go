package export

import (
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// RollupRow are the counters of one bid in one local hour: what reports sum up.
type RollupRow struct {
	Group              int32  `json:"group" parquet:"group" doc:"Raft group that counted. The same campaign and hour may be counted in several groups; reports sum them."`
	Cell               int64  `json:"cell" parquet:"cell,timestamp(millisecond)" doc:"Begin of the local hour; in zones that differ by quarter hours it is no full UTC hour."`
	VendorID           string `json:"vendor_id" parquet:"vendor_id,dict" doc:"Vendor of the campaign; empty for events without a campaign."`
	CampaignID         string `json:"campaign_id" parquet:"campaign_id,dict" doc:"The campaign; empty for events without one."`
	BidID              string `json:"bid_id" parquet:"bid_id,dict" doc:"The bid; empty for events that named the campaign by its external id."`
	Target             string `json:"target" parquet:"target,dict" doc:"Target of the bid, such as a product id; empty without a bid."`
	Impressions        int64  `json:"impressions" parquet:"impressions" doc:"Impressions."`
	ChargedImpressions int64  `json:"charged_impressions" parquet:"charged_impressions" doc:"Those of them that were charged."`
	SpentImpressions   int64  `json:"spent_impressions_micros" parquet:"spent_impressions_micros" doc:"What they were charged, less reversals."`
	Clicks             int64  `json:"clicks" parquet:"clicks" doc:"Clicks."`
	ChargedClicks      int64  `json:"charged_clicks" parquet:"charged_clicks" doc:"Those of them that were charged."`
	SpentClicks        int64  `json:"spent_clicks_micros" parquet:"spent_clicks_micros" doc:"What they were charged, less reversals."`
	Purchases          int64  `json:"purchases" parquet:"purchases" doc:"Purchases that named the ad themselves, less those that came back as a whole."`
	PurchaseQuantity   int64  `json:"purchase_quantity" parquet:"purchase_quantity" doc:"Their pieces, less returns."`
	PurchaseAmount     int64  `json:"purchase_amount_micros" parquet:"purchase_amount_micros" doc:"Their price, less returns."`
	Pageviews          int64  `json:"pageviews" parquet:"pageviews" doc:"Page views."`
	Overdelivery       int64  `json:"overdelivery_micros" parquet:"overdelivery_micros" doc:"Prices of interactions, as far as budget or wallet could not pay them."`
	Attributed         int64  `json:"attributed" parquet:"attributed" doc:"Items of purchases that were credited to touches of the hour, less returns."`
	AttributedQuantity int64  `json:"attributed_quantity" parquet:"attributed_quantity" doc:"Their pieces."`
	AttributedAmount   int64  `json:"attributed_amount_micros" parquet:"attributed_amount_micros" doc:"Their price."`
	Halo               int64  `json:"halo" parquet:"halo" doc:"Those of them that were of another product of the vendor."`
	HaloQuantity       int64  `json:"halo_quantity" parquet:"halo_quantity" doc:"Their pieces."`
	HaloAmount         int64  `json:"halo_amount_micros" parquet:"halo_amount_micros" doc:"Their price."`
	Viewed             int64  `json:"viewed" parquet:"viewed" doc:"Those of them that were credited to an impression."`
	ViewedQuantity     int64  `json:"viewed_quantity" parquet:"viewed_quantity" doc:"Their pieces."`
	ViewedAmount       int64  `json:"viewed_amount_micros" parquet:"viewed_amount_micros" doc:"Their price."`
	ChargedPurchases   int64  `json:"charged_purchases" parquet:"charged_purchases" doc:"Credited items that were charged."`
	SpentPurchases     int64  `json:"spent_purchases_micros" parquet:"spent_purchases_micros" doc:"What they were charged, less reversals."`
	InvalidClicks      int64  `json:"invalid_clicks" parquet:"invalid_clicks" doc:"Clicks that rules of the marketplace found invalid; clicks does not contain them."`
}

func (RollupRow) weight() int { return 1 }

func (r RollupRow) sums(add func(string, int64)) {
	add("impressions", r.Impressions)
	add("clicks", r.Clicks)
	add("spent_micros", r.SpentImpressions+r.SpentClicks+r.SpentPurchases)
	add("attributed_amount_micros", r.AttributedAmount)
}

func rollupRow(g ids.Group, c *store.ExportedCell) RollupRow {
	return RollupRow{
		Group: int32(g), Cell: int64(c.Cell) * cellMillis, VendorID: c.VendorID, CampaignID: text(c.CampaignID), BidID: text(c.BidID), Target: c.Target,
		Impressions: c.Impressions, ChargedImpressions: c.ChargedImpressions, SpentImpressions: int64(c.SpentImpressions),
		Clicks: c.Clicks, ChargedClicks: c.ChargedClicks, SpentClicks: int64(c.SpentClicks),
		Purchases: c.Purchases, PurchaseQuantity: c.PurchaseQuantity, PurchaseAmount: int64(c.PurchaseAmount),
		Pageviews: c.Pageviews, Overdelivery: int64(c.Overdelivery),
		Attributed: c.Attributed.Count, AttributedQuantity: c.Attributed.Quantity, AttributedAmount: int64(c.Attributed.Amount),
		Halo: c.Halo.Count, HaloQuantity: c.Halo.Quantity, HaloAmount: int64(c.Halo.Amount),
		Viewed: c.Viewed.Count, ViewedQuantity: c.Viewed.Quantity, ViewedAmount: int64(c.Viewed.Amount),
		ChargedPurchases: c.ChargedPurchases, SpentPurchases: int64(c.SpentPurchases), InvalidClicks: c.InvalidClicks(),
	}
}
