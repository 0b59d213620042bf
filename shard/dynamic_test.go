package shard_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// openDynamic is openRetention at the level of dynamic segments, with two marketplaces and a campaign of each.
func openDynamic(t testingFataler) *shardtest.Replica {
	r := openRetention(t, shardtest.NewKV())
	for _, cmd := range dynamicCommands() {
		r.Do(cmd)
	}
	return r
}

func dynamicCommands() [][]byte {
	level := command.AppendSetFeature(nil, benchNow, command.SetFeature{Level: command.LevelDynamicSegments})
	return append(retentionCommands(benchNow), level)
}

func define(definition byte) []byte {
	return command.AppendDefineSegment(nil, benchNow, &command.DefineSegment{Marketplace: 1, Segment: "s", Definition: [16]byte{definition}})
}

func dropSegment() []byte {
	return command.AppendDefineSegment(nil, benchNow, &command.DefineSegment{Marketplace: 1, Segment: "s", Drop: true})
}

// decide makes users belong to the segment as of a time.
func decide(number uint64, asOf int64, all ...command.Membership) []byte {
	return command.AppendDecideMembers(nil, benchNow, &command.DecideMembers{
		Marketplace: 1, Segment: "s", Number: number, AsOfMillis: asOf, Members: all,
	})
}

func joins(user uint64, until int64) command.Membership {
	return command.Membership{User: user, Member: true, ChangesMillis: until}
}

// numberOf returns the number of the definition of the segment.
func numberOf(t *testing.T, b shard.Queries) uint64 {
	t.Helper()
	all := b.DynamicSegments(1)
	if len(all) != 1 || all[0].ID != "s" {
		t.Fatalf("the dynamic segments are %+v", all)
	}
	return all[0].Number
}

func shownUsers(r *shardtest.Replica) string { return r.Feed.Current["segment 1 s"] }

// Users join and leave by decisions. A decision that is late, or about another definition, changes nothing.
func TestDecisionsAreStoredInTheirOrder(t *testing.T) {
	r := openDynamic(t)
	records := r.KV.Len()
	r.Do(define(1))
	first := numberOf(t, r.Queries())
	now := int64(benchNow)
	expect(t, "decided", result(t, r.Do(decide(first, now+10, joins(3, now+50), joins(5, 0), joins(7, now+40)))), command.Result{})
	expect(t, "shown", shownUsers(r), "[3 5 7]")
	expect(t, "due later", r.Queries().DueMembers(first, now+39, 9), "[]")
	expect(t, "due in their order", r.Queries().DueMembers(first, now+50, 9), "[7 3]")
	expect(t, "due, at most one", r.Queries().DueMembers(first, now+50, 1), "[7]")
	expect(t, "as of the past", result(t, r.Do(decide(first, now+9, command.Membership{User: 5}))).Refusal, command.Conflict)
	expect(t, "of no definition", result(t, r.Do(decide(first+1, now+11, command.Membership{User: 5}))).Refusal, command.NotFound)
	expect(t, "unchanged", shownUsers(r), "[3 5 7]")
	leaves := decide(first, now+10, joins(3, now+60), command.Membership{User: 5}, command.Membership{User: 7, ChangesMillis: now + 90})
	for range 2 { // A repeat changes nothing.
		expect(t, "decided", result(t, r.Do(leaves)), command.Result{})
		expect(t, "one is left", shownUsers(r), "[3]")
		expect(t, "due", r.Queries().DueMembers(first, now+100, 9), "[3 7]")
	}
	restarted := open(t, r.KV)
	expect(t, "after a restart", shownUsers(restarted), "[3]")
	expect(t, "size", restarted.Queries().SegmentSize(1, "s"), 1)

	r.Do(define(1)) // The same definition.
	expect(t, "unchanged", shownUsers(r), "[3]")
	r.Do(define(2))
	expect(t, "a new definition", shownUsers(r), "[]")
	expect(t, "size", r.Queries().SegmentSize(1, "s"), 0)
	expect(t, "about the former one", result(t, r.Do(decide(first, now+99, joins(3, 0)))).Refusal, command.NotFound)
	r.Do(decide(numberOf(t, r.Queries()), now+10, joins(3, now+50)))
	open(t, r.KV)
	r.Do(dropSegment())
	expect(t, "dropped", shownUsers(r), "")
	expect(t, "records", r.KV.Len(), records)
	open(t, r.KV)
}

// The numbers of segments and of their users are bounded, and an upload to a dynamic segment is refused.
func TestDynamicSegmentsAreBounded(t *testing.T) {
	r := openDynamic(t)
	r.Machine.LimitDynamicUsers(2)
	r.Do(define(1))
	n := numberOf(t, r.Queries())
	r.Do(decide(n, benchNow, joins(3, 0), command.Membership{User: 4, ChangesMillis: benchNow + 9}, joins(5, 0)))
	expect(t, "without the last", shownUsers(r), "[3]")
	r.Do(decide(n, benchNow, command.Membership{User: 4}))
	r.Do(decide(n, benchNow, joins(5, 0)))
	expect(t, "with the last", shownUsers(r), "[3 5]")
	r.Do(command.AppendStageSegment(nil, benchNow, &command.StageSegment{Marketplace: 1, Segment: "s", Upload: [16]byte{1}, Users: []uint64{9}}))
	upload := command.CommitSegment{Marketplace: 1, Segment: "s", Upload: [16]byte{1}, Pieces: 1}
	expect(t, "an upload", commit(t, r, &upload), command.SegmentResult{Refusal: command.WrongState})
	cleared := command.CommitSegment{Marketplace: 1, Segment: "s", Upload: [16]byte{2}, Action: command.SegmentDrop}
	commit(t, r, &cleared)
	expect(t, "what was uploaded before is cleared", shownUsers(r), "[3 5]")
	for i := range shard.DynamicSegmentsMax {
		x := command.DefineSegment{Marketplace: 1, Segment: fmt.Sprint("t", i)}
		want := command.Done
		if i == shard.DynamicSegmentsMax-1 {
			want = command.TooMany
		}
		expect(t, x.Segment, result(t, r.Do(command.AppendDefineSegment(nil, benchNow, &x))).Refusal, want)
	}
}

func watch(was, kinds uint8) []byte {
	return command.AppendWatchUsers(nil, benchNow, &command.WatchUsers{Marketplace: 1, Was: was, Kinds: kinds})
}

// boughtCommand reports a purchase of a marketplace at a time.
func boughtCommand(marketplace uint16, n int, now, at int64, user uint64) []byte {
	r := command.EventRecord{
		Key: [16]byte{byte(n >> 8), byte(n), 1}, Kind: event.Purchase, OccurredMillis: at, Bucket: event.BucketOf(at), Cell: event.BucketOf(at) * 4,
		UserHash: user, Items: []command.PurchaseItem{{ProductID: []byte("p1"), VendorID: []byte("v1"), Quantity: 1}},
	}
	return command.AppendEvents(nil, now, &command.Events{Marketplace: marketplace, Records: []command.EventRecord{r}})
}

func userPurchases(b shard.Queries, marketplace uint16, user uint64) (n int) {
	b.PurchasesOf(marketplace, user, benchNow/day-40, benchNow/day+40, func(*shard.UserPurchase) { n++ })
	return n
}

// Only what a marketplace watches marks users, and only while purchases are watched they are stored for their users.
func TestOnlyWatchedActionsMarkTheirUsers(t *testing.T) {
	r := openDynamic(t)
	events := func(n int) {
		for marketplace := range uint16(2) {
			r.Do(clickCommand(marketplace+1, n, benchNow, benchNow)) // Of user 1, 2 or 3.
			r.Do(boughtCommand(marketplace+1, n, benchNow, benchNow, 7))
			n += 300
		}
	}
	marks := func() string {
		return fmt.Sprint(r.Queries().UserMarks(1, benchNow, 9), r.Queries().UserMarks(2, benchNow, 9))
	}
	events(3)
	expect(t, "nothing is watched", marks(), "[] []")
	expect(t, "nothing is stored", userPurchases(r.Queries(), 1, 7), 0)
	expect(t, "another than before", result(t, r.Do(watch(1, 2))).Refusal, command.Conflict)
	r.Do(watch(0, 1<<event.Click))
	events(6)
	expect(t, "clicks", marks(), fmt.Sprint([]command.UserMark{{Millis: benchNow, User: 1}}, []command.UserMark{}))
	r.Do(watch(1<<event.Click, 1<<event.Purchase))
	events(10)
	expect(t, "purchases", marks(), fmt.Sprint([]command.UserMark{{Millis: benchNow, User: 1}, {Millis: benchNow, User: 7}}, []command.UserMark{}))
	expect(t, "stored", fmt.Sprint(userPurchases(r.Queries(), 1, 7), userPurchases(r.Queries(), 2, 7), userPurchases(r.Queries(), 1, 1)), "1 0 0")
	expect(t, "users of the day", r.Queries().UsersOn(1, benchNow/day, 0, 9), "[1 2 7]")
	expect(t, "users after one, at most one", r.Queries().UsersOn(1, benchNow/day, 1, 1), "[2]")
	expect(t, "marketplaces", r.Queries().DynamicMarketplaces(), "[1]")

	forget := command.ForgetMarks{Marketplace: 1, Marks: []command.UserMark{{Millis: benchNow, User: 1}, {Millis: benchNow, User: 99}}}
	r.Do(command.AppendForgetMarks(nil, benchNow, &forget))
	expect(t, "one is left", len(r.Queries().UserMarks(1, benchNow, 9)), 1)
	expect(t, "none is older", len(r.Queries().UserMarks(1, benchNow-1, 9)), 0)
	r.Machine.LimitMarks(1)
	events(11)
	expect(t, "no more marks", len(r.Queries().UserMarks(1, benchNow, 9)), 1)
	r.Do(command.AppendForgetUser(nil, benchNow+1, &command.ForgetUser{Marketplace: 1, User: 7}))
	expect(t, "erased", userPurchases(r.Queries(), 1, 7), 0)
	expect(t, "an erased user is evaluated", r.Queries().UserMarks(1, benchNow+1, 9)[1], command.UserMark{Millis: benchNow + 1, User: 7})
	open(t, r.KV)
}

// An erased user leaves the dynamic segments of the marketplace at once.
func TestAnErasedUserLeavesDynamicSegments(t *testing.T) {
	r := openDynamic(t)
	r.Do(define(1))
	r.Do(decide(numberOf(t, r.Queries()), benchNow, joins(3, benchNow+9), joins(erased, benchNow+8)))
	r.Do(command.AppendForgetUser(nil, benchNow, &command.ForgetUser{Marketplace: 2, User: erased}))
	expect(t, "of another marketplace", r.Queries().SegmentSize(1, "s"), 2)
	r.Do(command.AppendForgetUser(nil, benchNow, &command.ForgetUser{Marketplace: 1, User: erased}))
	expect(t, "shown", shownUsers(r), "[3]")
	if namesUser(r.KV, erased) {
		t.Error("a record names the erased user")
	}
	open(t, r.KV)
}

// TestDynamicSegmentsAreEqualOnAllReplicas applies random commands to two replicas, one of them in batches and with
// restarts. Both have the same bytes and show the same users, which are those that a set has.
func TestDynamicSegmentsAreEqualOnAllReplicas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		single, batched := openRetention(t, shardtest.NewKV()), openRetention(t, shardtest.NewKV())
		do := func(cmd []byte) []byte {
			batched.Apply(cmd)
			return single.Do(cmd)
		}
		for _, cmd := range dynamicCommands() {
			do(cmd)
		}
		members, definition, watched := map[uint64]bool{}, byte(0), uint8(0)
		now := int64(benchNow)
		user := func() uint64 { return rapid.Uint64Range(1, 6).Draw(t, "user") }
		number := func() uint64 {
			for _, x := range single.Queries().DynamicSegments(1) {
				return x.Number
			}
			return 0
		}
		for n := range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 11).Draw(t, "step") {
			case 0:
				definition, members = definition+1, map[uint64]bool{}
				do(define(definition))
			case 1:
				members = map[uint64]bool{}
				do(dropSegment())
			case 2, 3, 4:
				x := command.Membership{User: user(), Member: rapid.Bool().Draw(t, "member"), ChangesMillis: int64(rapid.IntRange(0, 2).Draw(t, "changes"))}
				if of := number(); of != 0 {
					do(decide(of, now, x))
					members[x.User] = x.Member
				}
			case 5:
				kinds := rapid.Uint8Range(0, 7).Draw(t, "kinds")
				do(watch(watched, kinds))
				watched = kinds
			case 6:
				x := command.ForgetUser{Marketplace: 1, User: user()}
				do(command.AppendForgetUser(nil, now, &x))
				delete(members, x.User)
			case 7:
				x := command.ForgetMarks{Marketplace: 1, Marks: single.Queries().UserMarks(1, now, 2)}
				do(command.AppendForgetMarks(nil, now, &x))
			case 8:
				now += int64(rapid.IntRange(0, 20).Draw(t, "days")) * day
				kept := rapid.SampledFrom([]uint8{0, 16, 32}).Draw(t, "kept")
				do(command.AppendPutMarketplace(nil, now, &model.Marketplace{Ordinal: 1, TouchDays: kept}))
				do(command.AppendAdvance(nil, now, &command.Advance{}))
			case 9:
				batched.Commit()
				batched = openRetention(t, batched.KV)
			case 10:
				do(boughtCommand(1, n, now, now-day*int64(rapid.IntRange(0, 20).Draw(t, "days ago")), user()))
			default:
				do(clickCommand(1, n, now, now))
			}
		}
		batched.Commit()
		if !batched.KV.Equal(single.KV) || batched.Machine.Digest() != single.Machine.Digest() {
			t.Fatal("the replicas differ")
		}
		var want []uint64
		for u := uint64(1); u <= 6; u++ {
			if members[u] {
				want = append(want, u)
			}
		}
		for name, r := range map[string]*shardtest.Replica{"single": single, "batched": batched, "restarted": openRetention(t, single.KV)} {
			if got := shownUsers(r); number() != 0 && got != fmt.Sprint(want) || number() == 0 && got != "" {
				t.Fatalf("%s: auctions see %s, want %v", name, got, want)
			}
		}
		if size := single.Queries().SegmentSize(1, "s"); size != len(want) {
			t.Fatalf("the size is %d, want %d", size, len(want))
		}
	})
}
