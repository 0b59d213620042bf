package export

import (
	"context"
	"encoding/hex"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// EventRow is an event as it was reported, with what became of it.
type EventRow struct {
	Group       int32          `json:"group" parquet:"group" doc:"Raft group that counted it."`
	Number      int64          `json:"number" parquet:"number" doc:"Number of the event among those of the group and of the UTC day of committed_at. It begins at 0 again when events were not kept for a while."`
	CommittedAt int64          `json:"committed_at" parquet:"committed_at,timestamp(millisecond)" doc:"When the event was committed; it never goes back within a group. The hour of the segment."`
	OccurredAt  int64          `json:"occurred_at" parquet:"occurred_at,timestamp(millisecond)" doc:"When it happened, as reported."`
	Cell        int64          `json:"cell" parquet:"cell,timestamp(millisecond)" doc:"Begin of the local hour in which reports count it."`
	Kind        string         `json:"kind" parquet:"kind,dict" doc:"impressions, clicks, purchases or pageviews."`
	Outcome     string         `json:"outcome" parquet:"outcome,dict" doc:"What became of it: counted (nothing to charge), charged, clipped (charged in part), nothing_left (budget or wallet was empty), already_charged, too_late (to be charged), unknown_bid, invalid_traffic."`
	EventID     string         `json:"event_id" parquet:"event_id" doc:"32 hex digits that stand for the event: a keyed hash of the id that the shop gave it. For a purchase it is purchase_id of conversions."`
	Reference   string         `json:"reference" parquet:"reference" doc:"reference of the line of the journal that charges this interaction with the ad, if one does, also when another report of it was charged; empty without an ad."`
	VendorID    string         `json:"vendor_id" parquet:"vendor_id,dict" doc:"Vendor of the campaign; empty for events without a campaign."`
	CampaignID  string         `json:"campaign_id" parquet:"campaign_id,dict" doc:"The campaign; empty for events without one."`
	BidID       string         `json:"bid_id" parquet:"bid_id,dict" doc:"The bid; empty for events that named the campaign by its external id."`
	Placement   int32          `json:"placement" parquet:"placement" doc:"placementId of the auction; 0 for none."`
	Rank        int32          `json:"rank" parquet:"rank" doc:"Rank of the ad in its auction, from 1; 0 when it is not known."`
	Device      string         `json:"device" parquet:"device,dict" doc:"unknown, desktop or mobile."`
	Channel     string         `json:"channel" parquet:"channel,dict" doc:"onsite, offsite, instore or other."`
	ChargeType  string         `json:"charge_type" parquet:"charge_type,dict" doc:"What the ad is charged for: CPC, CPM or CPA; empty without an ad."`
	Price       int64          `json:"price_micros" parquet:"price_micros" doc:"Price of a charged interaction, from the auction."`
	Charged     int64          `json:"charged_micros" parquet:"charged_micros" doc:"What was charged for the event, before reversals. Purchases are charged when they are credited, and have 0."`
	Product     string         `json:"product_id" parquet:"product_id,dict" doc:"The product that the ad was for; empty for formats without one, and when it is not known."`
	EntityType  string         `json:"entity_type" parquet:"entity_type,dict" doc:"What an event without an ad was about: product, vendor, brand or url; else empty."`
	Entity      string         `json:"entity" parquet:"entity" doc:"Its id or address, as reported."`
	ReturnOf    string         `json:"return_of" parquet:"return_of" doc:"event_id of the purchase whose items came back; empty for an event that is no return."`
	Items       []EventItemRow `json:"items" parquet:"items,list" doc:"The items of a purchase or return, in their order."`
}

// EventItemRow is an item of a purchase.
type EventItemRow struct {
	Product   string `json:"product_id" parquet:"product_id" doc:"The product."`
	VendorID  string `json:"vendor_id" parquet:"vendor_id" doc:"Its vendor."`
	Quantity  int64  `json:"quantity" parquet:"quantity" doc:"Pieces."`
	UnitPrice int64  `json:"unit_price_micros" parquet:"unit_price_micros" doc:"Price of a piece: as reported, or that of the catalog. Not used for returns."`
}

// weight counts the items, of which a purchase may have a thousand, and the address of a page, which may have 2,083 characters.
func (r EventRow) weight() int { return 1 + len(r.Items) + len(r.Entity)/256 }

func (r EventRow) sums(add func(string, int64)) { add("charged_micros", r.Charged) }

var (
	chargeTypes = [model.ChargeTypes]string{model.CPC: "CPC", model.CPM: "CPM", model.CPA: "CPA"}
	entityTypes = [...]string{
		event.NoEntity: "", event.ProductEntity: "product", event.VendorEntity: "vendor", event.BrandEntity: "brand", event.URLEntity: "url",
	}
)

// RowOfEvent returns the row of an event that a group has counted.
func RowOfEvent(g ids.Group, e *store.ExportedEvent) EventRow {
	return EventRow{
		Group: int32(g), Number: int64(e.Number), CommittedAt: e.CommittedMillis, OccurredAt: e.OccurredMillis, Cell: int64(e.Cell) * cellMillis,
		Kind: e.Kind.String(), Outcome: e.Outcome.String(), EventID: hex.EncodeToString(e.Key[:]), Reference: keyText(&e.ChargeKey),
		VendorID: e.VendorID, CampaignID: text(e.CampaignID), BidID: text(e.BidID),
		Placement: int32(e.Place.Placement()), Rank: int32(e.Rank), Device: e.Place.Device().String(), Channel: e.Place.Channel().String(),
		ChargeType: chargeTypes[e.Charge], Price: int64(e.Price), Charged: int64(e.Charged), Product: string(e.Product),
		EntityType: entityTypes[e.EntityType], Entity: string(e.Entity), ReturnOf: keyText(&e.ReturnOf), Items: itemRows(e.Items),
	}
}

func itemRows(items []command.PurchaseItem) []EventItemRow {
	rows := make([]EventItemRow, len(items))
	for i := range items {
		item := &items[i]
		rows[i] = EventItemRow{string(item.ProductID), string(item.VendorID), item.Quantity, int64(item.UnitPrice)}
	}
	return rows
}

// keyText is the text of a key, empty for none.
func keyText(key *[16]byte) string {
	if *key == [16]byte{} {
		return ""
	}
	return hex.EncodeToString(key[:])
}

func eventsOf(ctx context.Context, t store.Tenant, g ids.Group, span shard.Span) producer[EventRow] {
	return func(add func(EventRow) error) error {
		return t.ExportEvents(ctx, g, span, func(e *store.ExportedEvent) error { return add(RowOfEvent(g, e)) })
	}
}
