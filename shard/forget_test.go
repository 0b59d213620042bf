package shard_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// erased is a user hash that no other number of the test contains.
const erased = 0xe7a5_ed01_c0de_ab1e

// namesUser reports whether a key or value of the state contains the hash of a user, in any of the encodings of a u64.
func namesUser(kv *shardtest.KV, user uint64) (found bool) {
	forms := [][]byte{
		binary.BigEndian.AppendUint64(nil, user), binary.LittleEndian.AppendUint64(nil, user), binary.AppendUvarint(nil, user),
	}
	kv.Scan(nil, []byte{0xff}, func(key, value []byte) bool {
		for _, form := range forms {
			found = found || bytes.Contains(key, form) || bytes.Contains(value, form)
		}
		return !found
	})
	return found
}

// shopperCommands make every record that names a user: touches, links in both directions, an open purchase that is
// decided and one that is not, one that is credited to nobody, a credited item, and a segment.
func shopperCommands(t *testing.T, r *shardtest.Replica) (all [][]byte) {
	c := model.Campaign{ID: forgetCampaign(), Marketplace: 1, VendorID: "v"}
	expect(t, "created", result(t, r.Do(command.AppendCreateCampaign(nil, benchNow, &command.CreateCampaign{Campaign: c}))).Refusal, command.Done)
	record := func(n byte, kind event.Kind) command.EventRecord {
		return command.EventRecord{
			Key: [16]byte{n}, Kind: kind, OccurredMillis: benchNow, Bucket: event.BucketOf(benchNow), Cell: event.BucketOf(benchNow) * 4, UserHash: erased,
		}
	}
	click, late := record(1, event.Click), record(2, event.Impression)
	click.Campaign, late.Campaign = 1, 1
	late.OccurredMillis -= 24 * 3_600_000
	bought := []command.PurchaseItem{{ProductID: []byte("p1"), Quantity: 1, UnitPrice: 1}}
	one, two, three := record(3, event.Purchase), record(4, event.Purchase), record(5, event.Purchase)
	one.Items, two.Items, three.Items = bought, bought, bought
	credit := command.Credit{
		Purchase: command.PurchaseName{OpenedMillis: benchNow, Key: one.Key}, Group: 1, Marketplace: 1, Campaign: 1, Kind: event.Click,
		Cell: one.Cell, UserHash: erased, Product: "p1", Quantity: 1, UnitPrice: 1,
	}
	decided := command.DecideCredits{Decisions: []command.CreditDecision{
		{Purchase: credit.Purchase, Credits: []command.Credit{credit}},
		{Purchase: command.PurchaseName{OpenedMillis: benchNow, Key: three.Key}},
	}}
	return [][]byte{
		command.AppendEvents(nil, benchNow, &command.Events{Marketplace: 1, Records: []command.EventRecord{click, late, one, two, three}}),
		command.AppendLinkUsers(nil, benchNow, &command.LinkUsers{Marketplace: 1, From: 5, To: erased}),
		command.AppendLinkUsers(nil, benchNow, &command.LinkUsers{Marketplace: 1, From: erased, To: 6}),
		command.AppendDecideCredits(nil, benchNow, &decided),
		command.AppendApplyCredits(nil, benchNow, &command.ApplyCredits{Credits: []command.Credit{credit}}),
		command.AppendStageSegment(nil, benchNow, &command.StageSegment{Marketplace: 1, Segment: "s", Upload: ids.UUID{1}, Users: []uint64{5, erased}}),
		command.AppendCommitSegment(nil, benchNow, &command.CommitSegment{Marketplace: 1, Segment: "s", Upload: ids.UUID{1}, Pieces: 1}),
	}
}

func forgetCampaign() ids.UUID { return ids.Mint(0, [10]byte{}, ids.ShardOf(ids.AccountOf(1, "v"))) }

// After a user is erased no record names the user, and counters and charges are as before, whether all this is one batch or many,
// and after a restart. What the user does later is stored again.
func TestNoRecordNamesAnErasedUser(t *testing.T) {
	for _, level := range []command.Level{command.LevelUsers, command.LevelModels} {
		eraseAt(t, level)
	}
}

func eraseAt(t *testing.T, level command.Level) {
	t.Helper()
	var digests []uint64
	for _, batched := range []bool{false, true} {
		r := open(t, shardtest.NewKV())
		r.Do(command.AppendSetFeature(nil, benchNow, command.SetFeature{Level: level}))
		all := shopperCommands(t, r)
		apply := func(cmd []byte) {
			r.Apply(cmd)
			if !batched {
				r.Commit()
			}
		}
		for _, cmd := range all {
			apply(cmd)
		}
		if !batched && !namesUser(r.KV, erased) {
			t.Fatal("nothing was stored of the user")
		}
		for range 2 { // A repeat finds nothing.
			apply(command.AppendForgetUser(nil, benchNow, &command.ForgetUser{Marketplace: 1, User: erased, Segment: "s"}))
		}
		r.Commit()
		if namesUser(r.KV, erased) {
			t.Errorf("level %d, batched %v: a record names the erased user", level, batched)
		}
		staying(t, r.Queries())
		digests = append(digests, r.Machine.Digest())
		r = open(t, r.KV)
		staying(t, r.Queries())
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %x", digests)
	}
}

// staying checks what stays of the erased user's clicks and purchases.
func staying(t *testing.T, b shard.Queries) {
	t.Helper()
	check(t, b.Verify())
	c := b.CampaignCounters(forgetCampaign(), 0, 1<<32-1)
	if c.Clicks != 1 || c.Impressions != 1 || c.Attributed.Count != 1 {
		t.Errorf("the campaign has %d clicks, %d impressions and %d sales, want 1 each", c.Clicks, c.Impressions, c.Attributed.Count)
	}
	if open := b.OpenCredits(9, 9); len(open) != 1 || !open[0].Decided {
		t.Errorf("open purchases: %+v, want the decided one", open)
	}
	if got := b.SegmentSize(1, "s"); got != 1 {
		t.Errorf("the segment has %d users, want one", got)
	}
}
