package shard_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// returning is learning with campaign 3: autobidding with a target return, and one bid, 3, on product p3.
func returning(t *testing.T) *shardtest.Replica {
	t.Helper()
	r := learning(t)
	c := campaign(1, "v", 3)
	c.Type, c.TargetROASMilli = model.Autobidding, 4_000
	bid := model.Bid{ID: ids.UUID{'b', 3}, Target: "p3", Amount: 500, Active: true}
	r.Do(command.AppendCreateCampaign(nil, benchNow, &command.CreateCampaign{Campaign: c, Bids: []model.Bid{bid}}))
	onDay(r, 20_000)
	return r
}

// credit returns an item of a purchase that is credited to a bid.
func credit(purchase byte, item uint16, campaign, bid uint32, price micros) command.Credit {
	return command.Credit{
		Purchase: command.PurchaseName{OpenedMillis: benchNow, Key: [16]byte{purchase}}, Item: item, Group: 1, Marketplace: 1,
		Campaign: campaign, Bid: bid, Kind: event.Click, Cell: event.BucketOf(benchNow) * 4, Product: "sold", Quantity: 2, UnitPrice: price,
	}
}

func credits(r *shardtest.Replica, all ...command.Credit) {
	r.Do(command.AppendApplyCredits(nil, benchNow, &command.ApplyCredits{Credits: all}))
}

// bidOf returns the ordinal of the only bid of returning's campaign 3.
func bidOf(t *testing.T, r *shardtest.Replica) uint32 {
	t.Helper()
	for ordinal := uint32(1); ordinal < 10; ordinal++ {
		if b, found := r.Queries().BidByOrdinal(3, ordinal); found && b.Target == "p3" {
			return ordinal
		}
	}
	t.Fatal("no bid on p3")
	return 0
}

// boughtText lists what was learned, as text, as it is on a day.
func boughtText(r *shardtest.Replica, day uint32) (text string) {
	for _, x := range r.Queries().Purchases(1) {
		x.Decay(day)
		of := fmt.Sprint(x.Format)
		if x.Product != "" {
			of += " " + x.Product
		}
		if x.Campaign != 0 {
			of += fmt.Sprint(" campaign ", x.Campaign)
		}
		part := func(n uint64) float64 { return float64(n) / learn.One }
		text += fmt.Sprintf("%s: %.2f clicks, %.2f pending, %.2f bought for %d, new %.0f %.0f %d; ", of, part(x.Clicks), part(x.Pending),
			part(x.Purchases.Purchases), x.Value, part(x.New.Clicks), part(x.New.Purchases), x.New.Value)
	}
	return text
}

// Clicks are new until an item is credited to the ad, and of the format until the day ends. Three items of one purchase
// are one purchase. A repeat teaches nothing.
func TestCreditsTeachPurchases(t *testing.T) {
	r := returning(t)
	bid := bidOf(t, r)
	one := shown(event.Click, 1, 1, "p3")
	one.Campaign, one.Bid = 3, bid
	two := one
	two.Key, two.ChargeKey = [16]byte{2}, [16]byte{2}
	report(t, r, benchNow, one, two, one, shown(event.Impression, 5, 1, "p3"))
	expect(t, "two clicks", boughtText(r, 20_000), "0: 0.00 clicks, 0.00 pending, 0.00 bought for 0, new 2 0 0; "+
		"0 p3: 0.00 clicks, 0.00 pending, 0.00 bought for 0, new 2 0 0; ")
	if len(r.Feed.Bought) != 0 {
		t.Error("what is new is published")
	}
	purchase := []command.Credit{credit(9, 0, 3, bid, 1_000), credit(9, 1, 3, bid, 500), credit(9, 2, 2, 7, 10)}
	credits(r, purchase...)
	credits(r, purchase...)
	const want = "0: 0.00 clicks, 0.00 pending, 0.00 bought for 0, new 2 1 3000; " +
		"0 p3: 1.00 clicks, 1.00 pending, 1.00 bought for 3000, new 0 0 0; " +
		"1: 0.00 clicks, 0.00 pending, 0.00 bought for 0, new 0 1 20; " +
		"1 campaign 2: 0.00 clicks, 0.00 pending, 1.00 bought for 20, new 0 0 0; "
	expect(t, "a purchase", boughtText(r, 20_000), want)
	expect(t, "paid and sold", r.Queries().Returned(3), market.Returned{Clicks: 2, Purchases: 2, Spend: 200, Value: 3_000})
	expect(t, "of a campaign without target", r.Queries().Returned(2), market.Returned{})
	check(t, r.Queries().Verify())
	for what, again := range map[string]*shardtest.Replica{"restarted": open(t, r.KV), "from a snapshot": open(t, r.KV.Copy())} {
		expect(t, what, boughtText(again, 20_000), want)
		expect(t, what+", published", again.Feed.Lines(), r.Feed.Lines())
		expect(t, what+", digest", again.Machine.Digest(), r.Machine.Digest())
	}
	if got := r.Feed.Bought[market.PurchaseCell{Marketplace: 1, Product: "p3"}]; got != (learn.Bought{Clicks: learn.One, Purchases: learn.One, Value: 3_000}) {
		t.Errorf("published is %+v", got)
	}
	onDay(r, 20_001)
	format := r.Feed.Bought[market.PurchaseCell{Marketplace: 1}]
	if math.Abs(float64(format.Clicks)/learn.One-1.105) > 0.001 || format.Value != 2_855 {
		t.Errorf("the next day the format is %+v, want 1.1 clicks and 2855", format)
	}
}

// Below LevelTargetReturn nothing is learned and nothing summed, by all replicas alike.
func TestNoPurchasesAreLearnedBelowTheirLevel(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(command.AppendSetFeature(nil, benchNow, command.SetFeature{Level: command.LevelAttribution}))
	r.Do(deposit(1, "v", 1_000_000))
	c := campaign(1, "v", 1)
	c.Type, c.TargetROASMilli = model.Autobidding, 4_000
	r.Do(command.AppendCreateCampaign(nil, benchNow, &command.CreateCampaign{Campaign: c}))
	report(t, r, benchNow, shown(event.Click, 1, 1, "p1"))
	credits(r, credit(9, 0, 1, 1, 1_000))
	expect(t, "learned", boughtText(r, 20_000), "")
	expect(t, "paid and sold", r.Queries().Returned(1), market.Returned{})
	r.Do(command.AppendSetFeature(nil, benchNow, command.SetFeature{Level: command.LevelTargetReturn}))
	report(t, r, benchNow, shown(event.Click, 2, 1, "p1"))
	expect(t, "paid at the level", r.Queries().Returned(1), market.Returned{Clicks: 1, Spend: 100})
}

// With as many ads as there may be, a further one teaches its format only; an ad of which less than one click is left makes
// room.
func TestPurchasesAreBounded(t *testing.T) {
	r := returning(t)
	r.Machine.LimitPurchaseAds(1)
	report(t, r, benchNow, shown(event.Click, 1, 1, "p1"), shown(event.Click, 2, 1, "p2"))
	expect(t, "full", boughtText(r, 20_000), "0: 0.00 clicks, 0.00 pending, 0.00 bought for 0, new 2 0 0; "+
		"0 p1: 0.00 clicks, 0.00 pending, 0.00 bought for 0, new 1 0 0; ")
	onDay(r, 20_010)
	report(t, r, benchNow, shown(event.Click, 3, 1, "p2"))
	if got := r.Queries().Purchases(1); len(got) != 2 || got[1].Product != "p2" {
		t.Errorf("ten days later %+v", got)
	}
}

// Three replicas that batch the same log in their own ways, one of which is replaced by a new node with a snapshot of
// another, have equal digests and tell the auctions the same, whenever all have committed.
func TestReplicasLearnTheSamePurchases(t *testing.T) {
	rapid.Check(t, func(p *rapid.T) {
		replicas := [3]*shardtest.Replica{returning(t), returning(t), returning(t)}
		bid := bidOf(t, replicas[0])
		day := uint32(20_000)
		for step := range rapid.IntRange(1, 40).Draw(p, "steps") {
			cmd := randomLesson(p, byte(step), bid, &day)
			for i, r := range replicas {
				r.Apply(cmd)
				if rapid.IntRange(0, i).Draw(p, "commit") == 0 {
					r.Commit()
				}
			}
			if rapid.IntRange(0, 5).Draw(p, "compare") > 0 {
				continue
			}
			for i, r := range replicas {
				r.Commit()
				if i > 0 && (r.Machine.Digest() != replicas[0].Machine.Digest() || fmt.Sprint(r.Feed.Lines()) != fmt.Sprint(replicas[0].Feed.Lines())) {
					p.Fatalf("replica %d has\n%v\n%v\nand the first\n%v\n%v", i, boughtText(r, day), r.Feed.Bought, boughtText(replicas[0], day), replicas[0].Feed.Bought)
				}
			}
			replicas[2] = open(t, replicas[1].KV.Copy())
		}
	})
}

// randomLesson returns a click, some credits, or the next day.
func randomLesson(p *rapid.T, step byte, bid uint32, day *uint32) []byte {
	switch rapid.IntRange(0, 4).Draw(p, "lesson") {
	case 0:
		*day += uint32(rapid.IntRange(0, 20).Draw(p, "days"))
		return command.AppendAdvance(nil, benchNow, &command.Advance{Periods: []command.Periods{{Marketplace: 1, Day: *day}}})
	case 1, 2:
		e := shown(event.Click, step, 1, fmt.Sprint("p", rapid.IntRange(1, 3).Draw(p, "product")))
		e.Campaign = uint32(rapid.IntRange(1, 3).Draw(p, "campaign"))
		return command.AppendEvents(nil, benchNow, &command.Events{Marketplace: 1, Records: []command.EventRecord{e}})
	default:
		x := command.ApplyCredits{}
		for item := range rapid.IntRange(1, 3).Draw(p, "items") {
			campaign := uint32(rapid.IntRange(1, 3).Draw(p, "campaign"))
			x.Credits = append(x.Credits, credit(step, uint16(item), campaign, bid, micros(rapid.IntRange(1, 1_000).Draw(p, "price"))))
		}
		return command.AppendApplyCredits(nil, benchNow, &x)
	}
}

// Verify finds an ad without its format, and purchases of a day that has not come. Load refuses malformed keys and sums.
func TestInconsistentPurchasesAreFound(t *testing.T) {
	taught := func() *shardtest.Replica {
		r := returning(t)
		report(t, r, benchNow, shown(event.Click, 1, 1, "p3"))
		return r
	}
	r := taught()
	b := r.KV.Batch()
	b.Delete([]byte{0x3e, 0, 1, 0})
	b.Commit()
	if err := r.Queries().Verify(); !errors.Is(err, shard.ErrLearned) {
		t.Errorf("without the format: %v", err)
	}
	r = taught()
	r.KV.Put([]byte{0x3e, 0, 1, 0}, append([]byte{0x21, 0x4e, 0, 0}, bytes.Repeat([]byte{0}, 7)...))
	if err := r.Queries().Verify(); !errors.Is(err, shard.ErrLearned) {
		t.Errorf("of tomorrow: %v", err)
	}
	for _, forged := range [][2][]byte{
		{{0x3e, 0, 1, 9}, bytes.Repeat([]byte{0}, 11)},             // No such format.
		{{0x3e, 0, 1, 1, 7}, bytes.Repeat([]byte{0}, 11)},          // A campaign of one byte.
		{{0x3e, 0, 1, 1, 0, 0, 0, 0}, bytes.Repeat([]byte{0}, 11)}, // Campaign 0.
		{{0x3e, 0, 1, 0, 'p'}, {1, 2}},                             // Too short.
		{{0x3f, 0, 0, 0, 9}, bytes.Repeat([]byte{0}, 18)},          // An unknown campaign.
		{{0x3f, 0, 0, 0, 3}, {1}},                                  // Too short.
	} {
		r := taught()
		r.KV.Put(forged[0], forged[1])
		if _, err := shardtest.NewReplica(1, true, r.KV); !errors.Is(err, shard.ErrCorrupt) {
			t.Errorf("%x: %v", forged[0], err)
		}
	}
}
