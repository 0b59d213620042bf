package shard_test

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/money"
)

// TestFullCountersStayFull credits two items of as many pieces as a counter can have, and then one piece, of which the first
// is halo, and returns the items one after the other. The counters and the verifier agree after every step, although the
// counters have lost what did not fit.
func TestFullCountersStayFull(t *testing.T) {
	r := returning(t)
	bid := bidOf(t, r)
	r.Do(setFeature(command.LevelFullCounters))
	name := func(n byte) command.PurchaseName {
		return command.PurchaseName{OpenedMillis: benchNow, Key: [16]byte{n}}
	}
	credit := func(n byte, pieces int64, price money.Micros, halo bool) {
		r.Do(command.AppendApplyCredits(nil, benchNow, &command.ApplyCredits{Credits: []command.Credit{{
			Purchase: name(n), Group: 1, Marketplace: 1, Campaign: 3, Bid: bid, Kind: event.Impression, Cell: 4, Product: "p1",
			Quantity: pieces, UnitPrice: price, Halo: halo,
		}}}))
		check(t, r.Queries().Verify())
	}
	giveBack := func(n byte, pieces int64) {
		r.Do(command.AppendApplyReturns(nil, benchNow, &command.ApplyReturns{Returns: []command.ItemReturn{
			{Purchase: name(n), Quantity: pieces},
		}}))
		check(t, r.Queries().Verify())
	}
	const full = int64(money.MaxMicros)
	credit(1, full, 1, true)
	credit(2, full, 1, false)
	credit(3, 1, 1, false)
	for _, pieces := range []int64{1, full / 2, full} {
		giveBack(2, pieces)
	}
	giveBack(3, 1)
	giveBack(1, full)
	c := r.Queries().CampaignSales(campaign(1, "v", 3).ID, 0, 9)[0].Counters
	expect(t, "items", c.Attributed.Count, 0)
	expect(t, "pieces of a full counter", c.Attributed.Quantity, full)
	expect(t, "pieces of a full part", c.Halo.Quantity, full)
}
