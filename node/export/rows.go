package export

import (
	"encoding/hex"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// SchemaVersion is the version of the rows below and of the manifest. A column may be added at the end without a new version; a
// column that is removed, or means something else, needs one.
const SchemaVersion = 1

// Dataset names one of the exported tables.
type Dataset string

// The datasets.
const (
	Journal     Dataset = "journal"
	Conversions Dataset = "conversions"
	Rollups     Dataset = "rollups"
	Events      Dataset = "events"
)

// Datasets lists all of them.
var Datasets = []Dataset{Journal, Conversions, Rollups, Events}

// isFixed reports whether the rows of an hour never change: those that are dated by their commit.
func (d Dataset) isFixed() bool { return d == Journal || d == Events }

// row is a row of a dataset. sums adds what the manifest says of all rows.
type row interface {
	JournalRow | ConversionRow | RollupRow | EventRow
	sums(add func(name string, n int64))
	weight() int // The memory that the row takes in a row group, as a multiple of that of a line of the journal.
}

// JournalRow is a line of a group's journal that charges, gives back or moves money.
type JournalRow struct {
	Group       int32  `json:"group" parquet:"group" doc:"Raft group whose journal has the line."`
	Line        int64  `json:"line" parquet:"line" doc:"Number of the line; with group it is unique for ever. Lines of other marketplaces and lines that move no money leave gaps."`
	CommittedAt int64  `json:"committed_at" parquet:"committed_at,timestamp(millisecond)" doc:"When the line was committed; it never goes back within a group."`
	Kind        string `json:"kind" parquet:"kind,dict" doc:"click_charge, impression_charge, purchase_charge, adjustment, transfer, transfer_sent, transfer_received, transfer_returned, click_reversal, impression_reversal, purchase_reversal."`
	VendorID    string `json:"vendor_id" parquet:"vendor_id,dict" doc:"Vendor of the wallet; empty for an account of the marketplace."`
	WalletID    string `json:"wallet_id" parquet:"wallet_id,dict" doc:"The wallet or account that was changed."`
	CampaignID  string `json:"campaign_id" parquet:"campaign_id,dict" doc:"Campaign that was charged or gets back; else empty."`
	BidID       string `json:"bid_id" parquet:"bid_id,dict" doc:"Its bid; empty without one."`
	Reference   string `json:"reference" parquet:"reference" doc:"32 hex digits: what is charged, at most once (charges); the request (adjustments); the transfer; the reversal."`
	Requested   int64  `json:"requested_micros" parquet:"requested_micros" doc:"Price of a charge, before budget and wallet limited it; amount of an adjustment or transfer; of a reversal the part that the budget may spend again."`
	Amount      int64  `json:"amount_micros" parquet:"amount_micros" doc:"What was charged, added (negative: taken), or given back."`
	Wallet      int64  `json:"wallet_micros" parquet:"wallet_micros" doc:"Change of the wallet's balance: minus the amount of a charge, plus that of all other lines. All of them sum to the balance."`
}

func (JournalRow) weight() int { return 1 }

func (r JournalRow) sums(add func(string, int64)) {
	add("amount_micros", r.Amount)
	add("wallet_micros", r.Wallet)
}

// lineKinds names the kinds of lines that are exported.
var lineKinds = map[ledger.LineKind]string{
	ledger.ClickCharge: "click_charge", ledger.ImpressionCharge: "impression_charge", ledger.PurchaseCharge: "purchase_charge",
	ledger.Adjustment: "adjustment", ledger.TransferLeg: "transfer", ledger.TransferSent: "transfer_sent",
	ledger.TransferReceived: "transfer_received", ledger.TransferReturned: "transfer_returned",
	ledger.ClickReversal: "click_reversal", ledger.ImpressionReversal: "impression_reversal", ledger.PurchaseReversal: "purchase_reversal",
}

// RowOfLine returns the row of a line of a group's journal.
func RowOfLine(g ids.Group, l *store.ExportedLine) JournalRow {
	r := JournalRow{
		Group: int32(g), Line: int64(l.Seq), CommittedAt: l.Millis, Kind: lineKinds[l.Kind], // Numbers of lines fit.
		VendorID: l.VendorID, WalletID: text(l.Wallet),
		CampaignID: text(l.CampaignID), BidID: text(l.BidID), Reference: hex.EncodeToString(l.Key[:]),
		Requested: int64(l.Price), Amount: int64(l.Amount), Wallet: int64(l.Amount),
	}
	if l.Kind == ledger.ClickCharge || l.Kind == ledger.ImpressionCharge || l.Kind == ledger.PurchaseCharge {
		r.Wallet = -r.Amount
	}
	return r
}

// ConversionRow is an item of a purchase that was credited to an ad.
type ConversionRow struct {
	Group          int32  `json:"group" parquet:"group" doc:"Raft group of the ad."`
	PurchaseID     string `json:"purchase_id" parquet:"purchase_id" doc:"32 hex digits that stand for the purchase: a keyed hash of the id that the shop gave it."`
	Item           int32  `json:"item" parquet:"item" doc:"Index of the item in the purchase; with purchase_id and opened_at it is unique."`
	OpenedAt       int64  `json:"opened_at" parquet:"opened_at,timestamp(millisecond)" doc:"When the purchase was committed; the hour of the segment."`
	TouchCell      int64  `json:"touch_cell" parquet:"touch_cell,timestamp(millisecond)" doc:"Begin of the local hour of the click or impression; reports date the item by it."`
	TouchKind      string `json:"touch_kind" parquet:"touch_kind,dict" doc:"clicks or impressions."`
	Halo           bool   `json:"halo" parquet:"halo" doc:"The ad was of the item's vendor, not of its product."`
	VendorID       string `json:"vendor_id" parquet:"vendor_id,dict" doc:"Vendor of the campaign."`
	CampaignID     string `json:"campaign_id" parquet:"campaign_id,dict" doc:"Campaign of the ad."`
	BidID          string `json:"bid_id" parquet:"bid_id,dict" doc:"Bid of the ad."`
	ProductID      string `json:"product_id" parquet:"product_id,dict" doc:"The product that was sold."`
	Attribution    string `json:"attribution" parquet:"attribution,dict" doc:"The rules that decided: standard, reference, long-click, amazon."`
	Quantity       int64  `json:"quantity" parquet:"quantity" doc:"Pieces that were bought."`
	Returned       int64  `json:"returned_quantity" parquet:"returned_quantity" doc:"Pieces of them that came back, until the revision was written."`
	UnitPrice      int64  `json:"unit_price_micros" parquet:"unit_price_micros" doc:"Price of a piece."`
	Amount         int64  `json:"amount_micros" parquet:"amount_micros" doc:"Price of all pieces."`
	ReturnedAmount int64  `json:"returned_amount_micros" parquet:"returned_amount_micros" doc:"Price of the pieces that came back."`
	Charged        int64  `json:"charged_micros" parquet:"charged_micros" doc:"What the campaign was charged for the item."`
}

func (ConversionRow) weight() int { return 1 }

func (r ConversionRow) sums(add func(string, int64)) {
	add("quantity", r.Quantity)
	add("returned_quantity", r.Returned)
	add("amount_micros", r.Amount)
	add("returned_amount_micros", r.ReturnedAmount)
	add("charged_micros", r.Charged)
}

// attributions names the rules as the settings of a marketplace do.
var attributions = [model.Attributions]string{
	model.AttributionStandard: "standard", model.AttributionReference: "reference",
	model.AttributionLongClick: "long-click", model.AttributionAmazon: "amazon",
}

// RowOfCredit returns the row of an item that was credited to an ad of a group.
func RowOfCredit(g ids.Group, c *store.ExportedCredit) ConversionRow {
	return ConversionRow{
		Group: int32(g), PurchaseID: hex.EncodeToString(c.Purchase.Key[:]), Item: int32(c.Item), OpenedAt: c.Purchase.OpenedMillis,
		TouchCell: int64(c.Cell) * cellMillis, TouchKind: c.Kind.String(), Halo: c.Halo, VendorID: c.VendorID, CampaignID: text(c.CampaignID),
		BidID: text(c.BidID), ProductID: c.Product, Attribution: attributions[c.Attribution], Quantity: c.Quantity, Returned: c.Returned,
		UnitPrice: int64(c.UnitPrice), Amount: priceOf(c.UnitPrice, c.Quantity), ReturnedAmount: priceOf(c.UnitPrice, c.Returned),
		Charged: int64(c.Charged),
	}
}

// priceOf is the price of some pieces, which saturates as in the reports.
func priceOf(unit money.Micros, pieces int64) int64 {
	amount, ok := money.Mul(unit, pieces)
	if !ok {
		return int64(money.MaxMicros)
	}
	return int64(amount)
}

const cellMillis = rollup.CellSeconds * 1000

// text is the text of an id, empty for none.
func text(id ids.UUID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}
