package shard_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// A campaign with creatives, keywords and targeting can be patched, is loaded after a restart, and is fed to auctions in
// the same form.
func TestCampaignWithTargeting(t *testing.T) {
	r := open(t, shardtest.NewKV())
	c := model.Campaign{
		ID: ids.Mint(1, [10]byte{1}, ids.ShardOf(ids.AccountOf(1, "v"))), Marketplace: 1, VendorID: "v", Format: model.Banner,
		Charge: model.CPM, Products: []string{"p"}, Segments: model.SegmentRules{Include: []string{"s"}},
	}
	bid := model.Bid{
		ID: ids.UUID{7}, Target: "acme", TargetType: model.TargetBrand, Amount: 5, Active: true,
		Triggers: []model.Trigger{{Kind: model.TriggerBroad, Value: "red shoes", Words: []string{"Red", "SHOES"}}},
		Creative: &model.Creative{Place: "top", Assets: []model.BannerAsset{{URL: "https://a/1.png"}}},
	}
	create := command.AppendCreateCampaign(nil, benchNow, &command.CreateCampaign{Campaign: c, Bids: []model.Bid{bid}})
	expect(t, "created", result(t, r.Do(create)).Refusal, command.Done)

	c.Schedule = slices.Repeat([]uint16{50}, model.ScheduleHours)
	c.Caps = []model.Cap{{Type: 4, Limit: 2}}
	c.Segments = model.SegmentRules{Exclude: []string{"x"}, Multipliers: []model.SegmentMultiplier{{Segment: "y", Multiplier: 500_000}}}
	c.Products = []string{"q"}
	patch := command.PatchCampaign{
		Campaign: c.ID, Marketplace: 1, Schedule: &c.Schedule, Caps: &c.Caps, Segments: &c.Segments, Products: &c.Products,
	}
	expect(t, "patched", result(t, r.Do(command.AppendPatchCampaign(nil, benchNow, &patch))).Refusal, command.Done)
	// A later version of the bid may change its triggers, not what it shows.
	changed := bid
	changed.Triggers, changed.Creative, changed.TargetType = bid.Triggers[:0], nil, model.TargetProduct
	put := command.AppendPutBids(nil, benchNow, &command.PutBids{Campaign: c.ID, Marketplace: 1, Bids: []model.Bid{changed}})
	expect(t, "bid changed", result(t, r.Do(put)).Refusal, command.Done)

	told := r.Feed.Lines()
	again := open(t, r.KV)
	if !slices.Equal(again.Feed.Lines(), told) {
		t.Errorf("after a restart auctions are told %q, before %q", again.Feed.Lines(), told)
	}
	stored, _ := again.Queries().Campaign(c.ID)
	got := model.Campaign{Products: stored.Products, Segments: stored.Segments, Schedule: stored.Schedule, Caps: stored.Caps}
	want := model.Campaign{Products: c.Products, Segments: c.Segments, Schedule: c.Schedule, Caps: c.Caps}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the campaign has %+v, want %+v", got, want)
	}
	bids, _ := again.Queries().Bids(stored.Ordinal, 0, 10)
	if len(bids) != 1 || bids[0].TargetType != model.TargetBrand || !reflect.DeepEqual(bids[0].Creative, bid.Creative) || len(bids[0].Triggers) != 0 {
		t.Errorf("the bids are %+v", bids)
	}
}
