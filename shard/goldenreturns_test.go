package shard_test

import (
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// returnCommands builds a campaign with a target return that pays for clicks and sells, and what its controller remembers.
// ordinal is the
// next free one of a campaign, and pace the number of the next Pace.
func returnCommands(now int64, ordinal uint32, pace uint64) [][]byte {
	c := model.Campaign{
		ID: ids.UUID{0: 'r'}, Marketplace: 1, VendorID: "v1", Name: "returns", Status: model.Approved, Active: true, Charge: model.CPC,
		Type: model.Autobidding, TargetROASMilli: 4_000, CreatedMillis: now, UpdatedMillis: now,
	}
	c.ID[15] = byte(ids.ShardOf(ids.AccountOf(1, "v1")))
	e := command.Events{Marketplace: 1}
	for i := range byte(4) {
		e.Records = append(e.Records, command.EventRecord{
			Key: [16]byte{'R', i}, ChargeKey: [16]byte{'r', i, 15: 1}, Kind: event.Click, Charge: model.CPC, Bucket: event.BucketOf(now),
			Cell: event.BucketOf(now) * 4, OccurredMillis: now, Campaign: ordinal, Bid: 1, Price: 90, UserHash: 7, Rank: 1, Product: []byte("p1"),
		})
	}
	x := command.ApplyCredits{}
	for item := range uint16(2) {
		x.Credits = append(x.Credits, command.Credit{
			Purchase: command.PurchaseName{OpenedMillis: now, Key: [16]byte{'R'}}, Item: item, Group: 1, Marketplace: 1, Campaign: ordinal,
			Bid: 1, Kind: event.Click, Cell: event.BucketOf(now) * 4, Product: "p1", Quantity: 1, UnitPrice: 1_000,
		})
	}
	decision := command.Pace{Number: pace, Campaigns: []command.Paced{{
		Campaign: ordinal, Word: pacing.Word(1, 0.5), Status: pacing.LimitedByReturn,
		Memory: pacing.Memory{AtMillis: now, Return: pacing.ReturnMemory{
			AtMillis: now, Log: -1 << 23, Pending: [3]money.Micros{1, 2, 3}, Spend: 4, Value: 5, CountedSpend: 360, CountedValue: 2_000,
		}},
	}}}
	return [][]byte{
		command.AppendCreateCampaign(nil, now, &command.CreateCampaign{Campaign: c, Bids: []model.Bid{
			{ID: ids.UUID{'R', 1}, Target: "p1", Amount: 250, Active: true, CreatedMillis: now, UpdatedMillis: now},
		}}),
		command.AppendEvents(nil, now, &e), command.AppendApplyCredits(nil, now, &x), command.AppendPace(nil, now, &decision),
	}
}
