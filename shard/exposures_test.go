package shard_test

import (
	"slices"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// An item that is credited to a touch counts once for the caps on conversions, however often the command is repeated.
func TestCreditedItemsAreConversions(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(command.AppendSetFeature(nil, benchNow, command.SetFeature{Level: command.LevelAttribution}))
	c := model.Campaign{
		ID: ids.Mint(0, [10]byte{}, ids.ShardOf(ids.AccountOf(1, "v"))), Marketplace: 1, VendorID: "v", Caps: []model.Cap{{Type: 1, Limit: 3}},
	}
	expect(t, "created", result(t, r.Do(command.AppendCreateCampaign(nil, benchNow, &command.CreateCampaign{Campaign: c}))).Refusal, command.Done)
	x := command.ApplyCredits{Credits: []command.Credit{{
		Purchase: command.PurchaseName{OpenedMillis: benchNow}, Marketplace: 1, Campaign: 1, Bid: 4, Kind: event.Click, UserHash: 5, Product: "p", Quantity: 2,
	}}}
	for range 2 {
		expect(t, "credited", result(t, r.Do(command.AppendApplyCredits(nil, benchNow, &x))).Refusal, command.Done)
	}
	if want := []string{"campaign 1 {User:5 Bid:4 Interaction:2 Day:0 Week:0 Month:0}"}; !slices.Equal(r.Feed.Exposures, want) {
		t.Errorf("told %q, want %q", r.Feed.Exposures, want)
	}
}

// The feed receives an exposure for each counted impression and click of a known user with a campaign that has caps,
// and no other exposure.
func TestCountedEventsAreExposures(t *testing.T) {
	r := open(t, shardtest.NewKV())
	account := ids.AccountOf(1, "v")
	for n := range byte(2) {
		c := model.Campaign{ID: ids.Mint(int64(n), [10]byte{n}, ids.ShardOf(account)), Marketplace: 1, VendorID: "v"}
		if n == 0 {
			c.Caps = []model.Cap{{Type: 1, Limit: 3}}
		}
		expect(t, "created", result(t, r.Do(command.AppendCreateCampaign(nil, benchNow, &command.CreateCampaign{Campaign: c}))).Refusal, command.Done)
	}
	r.Do(command.AppendAdvance(nil, benchNow, &command.Advance{Periods: []command.Periods{{Marketplace: 1, Day: 7, Week: 1, Month: 9}}}))
	e := command.Events{Marketplace: 1}
	for i, x := range []command.EventRecord{
		{Kind: event.Impression, Campaign: 1, Bid: 4, UserHash: 5},
		{Kind: event.Impression, Campaign: 1, Bid: 4},
		{Kind: event.Click, Campaign: 1, UserHash: 6},
		{Kind: event.Pageview, Campaign: 1, UserHash: 6},
		{Kind: event.Impression, Campaign: 2, UserHash: 5},
		{Kind: event.Impression, UserHash: 5},
	} {
		x.Key, x.OccurredMillis, x.Bucket = [16]byte{byte(i)}, benchNow, event.BucketOf(benchNow)
		e.Records = append(e.Records, x, x) // The repeat is neither counted nor reported as an exposure.
	}
	r.Do(command.AppendEvents(nil, benchNow, &e))
	want := []string{
		"campaign 1 {User:5 Bid:4 Interaction:0 Day:7 Week:1 Month:9}",
		"campaign 1 {User:6 Bid:0 Interaction:1 Day:7 Week:1 Month:9}",
	}
	if !slices.Equal(r.Feed.Exposures, want) {
		t.Errorf("told %q, want %q", r.Feed.Exposures, want)
	}
}
