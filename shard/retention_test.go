package shard_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// TestTouchesAreKeptForTheDaysOfTheMarketplace reports clicks of two marketplaces, one of which changes for how many days
// it keeps them, on two replicas that delete two touches with an Advance, one of them in batches and with restarts. Both
// have the same bytes, and in the end the touches of the days that are kept, and those alone.
func TestTouchesAreKeptForTheDaysOfTheMarketplace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		single, batched := openRetention(t, shardtest.NewKV()), openRetention(t, shardtest.NewKV())
		now, clicks, kept := int64(benchNow), 0, uint8(0)
		do := func(cmd []byte) {
			single.Do(cmd)
			batched.Apply(cmd)
		}
		for _, cmd := range retentionCommands(now) {
			do(cmd)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 8).Draw(t, "step") {
			case 0:
				now += day * int64(rapid.IntRange(1, 20).Draw(t, "days"))
			case 1:
				kept = rapid.SampledFrom([]uint8{0, 2, 16, 32}).Draw(t, "kept")
				do(command.AppendPutMarketplace(nil, now, &model.Marketplace{Ordinal: 1, TouchDays: kept}))
			case 2, 3:
				do(command.AppendAdvance(nil, now, &command.Advance{}))
			case 4:
				batched.Commit()
				batched = openRetention(t, batched.KV)
			default:
				clicks++
				at := now - day*int64(rapid.IntRange(0, 25).Draw(t, "days ago"))
				do(clickCommand(uint16(rapid.IntRange(1, 2).Draw(t, "marketplace")), clicks, now, at))
			}
		}
		for range clicks {
			do(command.AppendAdvance(nil, now, &command.Advance{}))
		}
		batched.Commit()
		if !batched.KV.Equal(single.KV) || batched.Machine.Digest() != single.Machine.Digest() {
			t.Fatal("the replicas differ")
		}
		old := touchesBefore(single, 1, now, int64(kept))
		if kept != 0 && old > 0 || touchesBefore(single, 2, now, 90) > 0 {
			t.Fatalf("%d touches are older than %d days", old, kept)
		}
		check(t, single.Queries().Verify())
	})
}

// A touch that is kept for long enough stays, also when the other marketplace deletes those of the same day.
func TestTouchesOfOtherMarketplacesStay(t *testing.T) {
	r := openRetention(t, shardtest.NewKV())
	for _, cmd := range retentionCommands(benchNow) {
		r.Do(cmd)
	}
	for i := range 12 {
		r.Do(clickCommand(uint16(1+i%2), i, benchNow, benchNow))
	}
	now := int64(benchNow + 16*day)
	r.Do(command.AppendPutMarketplace(nil, now, &model.Marketplace{Ordinal: 1, TouchDays: 16}))
	var left []string
	for range 4 {
		r.Do(command.AppendAdvance(nil, now, &command.Advance{}))
		left = append(left, fmt.Sprint(touchesBefore(r, 1, now, 0), touchesBefore(r, 2, now, 0)))
	}
	if got, want := fmt.Sprint(left), "[4 6 2 6 0 6 0 6]"; got != want {
		t.Errorf("touches left of both marketplaces after each second: %s, want %s", got, want)
	}
	r.Do(clickCommand(1, 100, now, benchNow)) // Too old to be stored.
	r.Do(clickCommand(1, 101, now, now-15*day))
	if got := touchesBefore(r, 1, now, 0); got != 1 {
		t.Errorf("%d touches, want that of the first day that is kept", got)
	}
}

// Whether a further touch is stored does not depend on when a replica has started: one that remembers that a user has all touches of a
// day forgets it when some of them are deleted, which a marketplace that keeps its touches for longer again may notice.
func TestDeletedTouchesMakeSpace(t *testing.T) {
	running, restarted := openRetention(t, shardtest.NewKV()), openRetention(t, shardtest.NewKV())
	running.Machine.LimitTouches(3)
	restarted.Machine.LimitTouches(3)
	now := int64(benchNow)
	do := func(cmd []byte) {
		running.Do(cmd)
		restarted.Do(cmd)
	}
	for _, cmd := range retentionCommands(now) {
		do(cmd)
	}
	do(command.AppendAdvance(nil, now, &command.Advance{}))
	for n := range 4 { // Of the same user; the last one is too many.
		do(clickCommand(1, 3*n, now, now-20*day))
	}
	expect(t, "touches", touchesBefore(running, 1, now, 0), 3)
	do(command.AppendPutMarketplace(nil, now, &model.Marketplace{Ordinal: 1, TouchDays: 16}))
	do(command.AppendAdvance(nil, now, &command.Advance{}))
	do(command.AppendPutMarketplace(nil, now, &model.Marketplace{Ordinal: 1, TouchDays: 32}))
	expect(t, "touches after a purge", touchesBefore(running, 1, now, 0), 1)
	restarted = openRetention(t, restarted.KV)
	restarted.Machine.LimitTouches(3)
	do(clickCommand(1, 99, now, now-20*day))
	expect(t, "touches with another one", touchesBefore(restarted, 1, now, 0), 2)
	if !restarted.KV.Equal(running.KV) || restarted.Machine.Digest() != running.Machine.Digest() {
		t.Error("the replicas differ")
	}
}

func openRetention(t testingFataler, kv *shardtest.KV) *shardtest.Replica {
	r := open(t, kv)
	r.Machine.LimitTouchesPurged(2)
	return r
}

// retentionCommands make a campaign in each of two marketplaces.
func retentionCommands(now int64) [][]byte {
	all := [][]byte{command.AppendSetFeature(nil, now, command.SetFeature{Level: command.LevelUsers})}
	for n := range uint16(2) {
		id := ids.Mint(0, [10]byte{}, ids.ShardOf(ids.AccountOf(n+1, "v")))
		all = append(all,
			command.AppendPutMarketplace(nil, now, &model.Marketplace{Ordinal: n + 1}),
			command.AppendCreateCampaign(nil, now, &command.CreateCampaign{Campaign: model.Campaign{ID: id, Marketplace: n + 1, VendorID: "v"}}))
	}
	return all
}

// clickCommand reports a click of a marketplace at a time.
func clickCommand(marketplace uint16, n int, now, at int64) []byte {
	r := command.EventRecord{
		Key: [16]byte{byte(n >> 8), byte(n)}, Kind: event.Click, OccurredMillis: at, Bucket: event.BucketOf(at), Cell: event.BucketOf(at) * 4,
		UserHash: uint64(1 + n%3), Campaign: uint32(marketplace),
	}
	return command.AppendEvents(nil, now, &command.Events{Marketplace: marketplace, Records: []command.EventRecord{r}})
}

// touchesBefore counts the touches of a marketplace that are not of the last days, the current one included.
func touchesBefore(r *shardtest.Replica, marketplace uint16, now, days int64) (n int) {
	last := now/day - days
	for user := uint64(1); user <= 3; user++ {
		r.Queries().Touches(marketplace, user, uint32(last-130), uint32(last), func(*shard.Touch) bool {
			n++
			return true
		})
	}
	return n
}
