package shard_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// A golden log ends with the commands that the generator of shardtest does not make, because its model
// does not implement them. They come last, because they use ordinals that the model does not count.

// adsCommands builds campaigns with creatives, keywords and targeting, changes them, reports events of them, and fills
// segments. first is the next free ordinal of a campaign.
func adsCommands(random *rand.Rand, now int64, first uint32) (all [][]byte) {
	all = append(all,
		command.AppendPutMarketplace(nil, now, &model.Marketplace{
			Ordinal: 1, Name: "m", CurrencyCode: "USD", H3: true, VendorMax: 2, Reserves: []model.ReserveRule{
				{Charge: model.CPM, Amount: 1_000, Format: model.Banner, Place: "top", Category: "c1"}, {Charge: model.CPC, Amount: 20, AnyFormat: true},
			},
		}),
		command.AppendPutProducts(nil, now, &command.PutProducts{Marketplace: 1, Products: []model.Product{
			{ID: "p1", Name: "n", Vendors: []string{"v1"}, Active: true, Brand: "acme"}, {ID: "p9", Name: "n", Active: true},
		}}),
		command.AppendAdjustWallet(nil, now, &command.AdjustWallet{Request: ids.UUID{'d'}, Marketplace: 1, VendorID: "v1", Amount: 1_000_000}),
	)
	for n := range byte(4) {
		all = append(all, adsCampaign(random, now, n, first+uint32(n))...)
	}
	for n := range 24 {
		all = append(all, adsUpload(random, now, n)...)
	}
	return all
}

func adsCampaign(random *rand.Rand, now int64, n byte, ordinal uint32) (all [][]byte) {
	c := model.Campaign{
		ID: ids.UUID{0: 'a', 1: n}, Marketplace: 1, VendorID: "v1", Name: fmt.Sprint("ads ", n), Status: model.Approved, Active: true,
		Format: []model.AdFormat{model.Listing, model.Banner, model.SponsoredBrand, model.Banner}[n], Charge: model.CPM, Budget: 900,
		Period: model.Daily, Products: []string{"p1", "p9"}, CreatedMillis: now, UpdatedMillis: now,
		Segments: model.SegmentRules{Include: []string{"s0"}, Multipliers: []model.SegmentMultiplier{{Segment: "s1", Multiplier: 1_500_000}}},
		Schedule: slices.Repeat([]uint16{uint16(50 * n)}, model.ScheduleHours), Caps: []model.Cap{{Type: 4, Limit: 2}},
	}
	c.ID[15] = byte(ids.ShardOf(ids.AccountOf(1, "v1")))
	bids := []model.Bid{
		{
			ID: ids.UUID{'A', n, 1}, Target: "p1", Amount: 250, Active: true, CreatedMillis: now, UpdatedMillis: now,
			Triggers: []model.Trigger{
				{Kind: model.TriggerPhrase, Value: "red shoes", Words: []string{"Red", "shoes"}}, {Kind: model.TriggerNotBroad, Value: "cheap"},
			},
		},
		{
			ID: ids.UUID{'A', n, 2}, Target: "acme", TargetType: model.TargetBrand, Amount: 300, Active: true, CreatedMillis: now, UpdatedMillis: now,
			Creative: &model.Creative{
				Place: "top", Device: model.Mobile, Title: "Acme", TemplateID: "t", Products: []string{"p1"},
				Assets: []model.BannerAsset{{URL: "https://example.com/a.png", ContentType: "image/png", Bytes: 1_000, AssetID: "a"}},
			},
		},
	}
	all = append(all, command.AppendCreateCampaign(nil, now, &command.CreateCampaign{Campaign: c, Bids: bids}))
	e := command.Events{Marketplace: 1}
	for i := range byte(6) {
		e.Records = append(e.Records, command.EventRecord{
			Key: [16]byte{'E', n, i}, ChargeKey: [16]byte{'K', n, i / 2, 15: 1}, Kind: event.Impression, Charge: model.CPM, Bucket: event.BucketOf(now),
			Cell: event.BucketOf(now) * 4, OccurredMillis: now, Campaign: ordinal, Bid: 1, Price: money.Micros(1 + random.IntN(600)), UserHash: 7,
		})
	}
	schedule, caps := c.Schedule[:0], []model.Cap{{Type: 18, Limit: 3}}
	bids[1].Triggers, bids[1].Amount = bids[0].Triggers, 301
	bids[0].Deleted = n%2 == 0
	return append(
		all, command.AppendEvents(nil, now, &e),
		command.AppendPatchCampaign(nil, now, &command.PatchCampaign{
			Campaign: c.ID, Marketplace: 1, Products: &[]string{"p9"}, Segments: &model.SegmentRules{Exclude: []string{"s2"}}, Schedule: &schedule, Caps: &caps,
		}),
		command.AppendPutBids(nil, now, &command.PutBids{Campaign: c.ID, Marketplace: 1, Bids: bids}),
		command.AppendEvents(nil, now, &e),
	)
}

// adsUpload fills one of three segments, in pieces, and commits twice; some uploads lack a piece.
func adsUpload(random *rand.Rand, now int64, n int) (all [][]byte) {
	x := command.CommitSegment{
		Marketplace: 1, Segment: fmt.Sprint("s", n%3), Upload: ids.UUID{'U', byte(n)}, Action: command.SegmentAction(random.IntN(4)),
	}
	if x.Action != command.SegmentDrop {
		var users []uint64
		for range random.IntN(12) {
			users = append(users, random.Uint64N(40))
		}
		slices.Sort(users)
		for some := range slices.Chunk(slices.Compact(users), 3) {
			if random.IntN(12) > 0 {
				all = append(all, command.AppendStageSegment(nil, now, &command.StageSegment{
					Marketplace: 1, Segment: x.Segment, Upload: x.Upload, Piece: x.Pieces, Users: some,
				}))
			}
			x.Pieces++
		}
	}
	commit := command.AppendCommitSegment(nil, now, &x)
	return append(all, commit, commit)
}
