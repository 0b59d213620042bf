package shard_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// bought returns a purchase without a campaign.
func bought(id byte, cell uint32, products ...string) command.EventRecord {
	r := click(id, 0)
	r.Kind, r.Campaign, r.Charge, r.ChargeKey, r.Bid, r.Cell = event.Purchase, 0, model.ChargeNone, [16]byte{}, 0, cell
	for _, p := range products {
		r.Items = append(r.Items, command.PurchaseItem{ProductID: []byte(p), Quantity: 2, UnitPrice: 300})
	}
	return r
}

func TestReportsByCellBidAndProduct(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(deposit(1, "v", 1_000))
	r.Do(create(1, "v", 1, 0))
	at := func(e command.EventRecord, cell, bid uint32) command.EventRecord {
		e.Cell, e.Bid = cell, bid
		return e
	}
	report(t, r, benchNow, at(click(1, 1), 4, 1), at(click(2, 2), 4, 7), at(click(3, 3), 8, 1), at(click(4, 4), 12, 1),
		bought(5, 4, "p1", "p2"), bought(6, 8, "p1"), bought(7, 8, "p10"), bought(8, 12, "p1"), bought(9, 3, "p0"))
	b := r.Queries()

	text := ""
	cells := func(x *shard.BidCell) { text += fmt.Sprintf("%d %d(%s):%d ", x.Cell, x.Bid, x.Target, x.Clicks) }
	b.CampaignBidCells(campaign(1, "v", 1).ID, 4, 12, cells)
	expect(t, "per cell and bid", text, "4 1(p1):1 4 7():1 8 1(p1):1 ")
	text = ""
	b.CampaignBidCells(campaign(1, "v", 2).ID, 0, math.MaxUint32, cells)
	expect(t, "of an unknown campaign", text, "")

	text = ""
	for _, x := range b.NoCampaignCells(1, 4, 12) {
		text += fmt.Sprintf("%d:%d ", x.Cell, x.Purchases)
	}
	expect(t, "of no campaign", text, "4:1 8:2 ")

	sold := func(marketplace uint16, from, to uint32) (text string) {
		b.ProductsSold(marketplace, from, to, func(product string, c *shard.CellCounters) {
			text += fmt.Sprintf("%s %d:%d,%d ", product, c.Cell, c.Purchases, c.PurchaseQuantity)
		})
		return text
	}
	expect(t, "sold", sold(1, 4, 12), "p1 4:1,2 p1 8:1,2 p2 4:1,2 p10 8:1,2 ")
	expect(t, "sold at the end", sold(1, 12, 13), "p1 12:1,2 ")
	expect(t, "sold by another marketplace", sold(2, 0, math.MaxUint32), "")
}
