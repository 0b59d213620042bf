package shard_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/rollup"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// ruled returns a replica with two marketplaces that have rules, and two campaigns of the first and one of the second.
func ruled(t testingFataler, kv *shardtest.KV, rules model.ClickRules) *shardtest.Replica {
	r := open(t, kv)
	for _, cmd := range ruledCommands(rules) {
		r.Do(cmd)
	}
	return r
}

func ruledCommands(rules model.ClickRules) [][]byte {
	all := [][]byte{command.AppendSetFeature(nil, benchNow, command.SetFeature{Level: command.LevelNewest})}
	for n := range uint16(2) {
		all = append(all, command.AppendPutMarketplace(nil, benchNow, &model.Marketplace{Ordinal: n + 1, PostPaid: true, ClickRules: rules}))
	}
	for n, marketplace := range []uint16{1, 1, 2} {
		c := campaign(marketplace, "v", byte(n+1))
		c.Caps = []model.Cap{{Type: 1, Limit: 1_000}}
		all = append(all, command.AppendCreateCampaign(nil, benchNow, &command.CreateCampaign{Campaign: c}))
	}
	return all
}

// aClick is a click on its own token. Its zero value is one of user 5 on bid 1 of campaign 1 at benchNow, which is
// midnight, that was reported 100 s after its auction.
type aClick struct {
	after         int64 // Milliseconds from benchNow to the click.
	age           int   // Seconds from the auction to the report, less 100.
	user          uint64
	campaign, bid uint32
	unranked      bool // The record has no rank, so the age is not known.
	want          string
}

// record returns the click as the record of an event whose id is n.
func (x *aClick) record(n int) command.EventRecord {
	r := click(0, 0)
	r.Key, r.ChargeKey = [16]byte{1, byte(n >> 8), byte(n)}, [16]byte{2, byte(n >> 8), byte(n)}
	r.OccurredMillis, r.UserHash, r.Rank, r.AgeSeconds = benchNow+x.after, 5+x.user, 1, uint32(100+x.age)
	r.Campaign, r.Bid = 1+x.campaign, 1+x.bid
	if x.unranked {
		r.Rank, r.AgeSeconds = 0, 0
	}
	return r
}

const paid = "charged:100 "

var reasons = [rollup.InvalidReasons]string{
	rollup.TooSoon: "too soon", rollup.TooLate: "too late", rollup.Repeated: "repeated",
	rollup.ByCampaignHour: "by campaign and hour", rollup.ByUserHour: "by hour", rollup.ByUserDay: "by day",
}

// invalidOf returns how many clicks on the campaigns of ruled are invalid, by reason.
func invalidOf(r *shardtest.Replica) [rollup.InvalidReasons]int64 {
	var sum rollup.Counters
	for n, marketplace := range []uint16{1, 1, 2} {
		c := r.Queries().CampaignCounters(campaign(marketplace, "v", byte(n+1)).ID, 0, 1<<32-1)
		sum.Add(&c)
	}
	return sum.Invalid
}

// difference names the reasons whose counts differ.
func difference(before, after [rollup.InvalidReasons]int64) (names string) {
	for why := range after {
		if after[why] != before[why] {
			names += reasons[why]
		}
	}
	return names
}

// TestClickRules reports clicks one after the other at the edges of each rule, with a restart before each.
func TestClickRules(t *testing.T) {
	const minute, midnight = 60_000, 24 * hour
	for name, x := range map[string]struct {
		rules  model.ClickRules
		clicks []aClick
	}{
		"no rule": {model.ClickRules{}, []aClick{{age: -100, want: paid}, {want: paid}, {want: paid}}},
		"too soon": {model.ClickRules{MinSeconds: 101}, []aClick{
			{want: "too soon"}, {age: 1, want: paid}, {unranked: true, want: paid},
		}},
		"too late": {model.ClickRules{MaxHours: 1}, []aClick{
			{age: 3_500, want: paid}, {age: 3_501, want: "too late"}, {unranked: true, want: paid},
		}},
		"repeated": {model.ClickRules{RepeatSeconds: 60}, []aClick{
			{after: midnight, want: paid},
			{after: midnight, want: "repeated"},
			{after: midnight + minute - 1, want: "repeated"},
			{after: midnight + minute, want: paid},
			{after: midnight + 2*minute - 1, want: "repeated"},
			{after: midnight, bid: 1, want: paid},
			{after: midnight, campaign: 1, want: paid},
			{after: midnight, user: 1, want: paid},
		}},
		"repeated in reports out of order, across midnight": {model.ClickRules{RepeatSeconds: 60}, []aClick{
			{want: paid},
			{after: 1 - minute, want: "repeated"},
			{after: -minute, want: paid},
			{after: -2*minute + 1, want: "repeated"},
			{after: midnight - 1, want: paid},
			{after: midnight + minute - 2, want: "repeated"},
			{after: midnight + minute - 1, want: paid},
		}},
		"invalid clicks do not extend the interval": {model.ClickRules{RepeatSeconds: 60, MinSeconds: 1}, []aClick{
			{want: paid}, {after: 40_000, want: "repeated"}, {after: 80_000, age: -100, want: "too soon"}, {after: 80_000, want: paid},
		}},
		"by campaign and hour": {model.ClickRules{PerCampaignHour: 2}, []aClick{
			{want: paid},
			{after: hour - 1, bid: 1, want: paid},
			{after: 1, bid: 2, want: "by campaign and hour"},
			{after: 1, campaign: 1, want: paid},
			{after: 1, user: 1, want: paid},
			{after: hour, want: paid},
			{after: -1, want: paid},
		}},
		"by hour": {model.ClickRules{PerUserHour: 2}, []aClick{
			{want: paid}, {campaign: 1, want: paid}, {after: hour - 1, want: "by hour"}, {after: hour, want: paid}, {user: 1, want: paid},
		}},
		"by day": {model.ClickRules{PerUserDay: 2}, []aClick{
			{want: paid},
			{after: midnight - 1, campaign: 1, want: paid},
			{after: 1, want: "by day"},
			{after: -1, want: paid},
			{after: midnight, want: paid},
			{after: 1, user: 1, want: paid},
		}},
		"the first rule": {model.ClickRules{MinSeconds: 1, MaxHours: 1, RepeatSeconds: 60, PerCampaignHour: 1, PerUserHour: 1, PerUserDay: 1}, []aClick{
			{want: paid},
			{age: -100, want: "too soon"},
			{age: 4_000, want: "too late"},
			{want: "repeated"},
			{bid: 1, want: "by campaign and hour"},
			{campaign: 1, want: "by hour"},
			{campaign: 1, after: hour, want: "by day"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := ruled(t, shardtest.NewKV(), x.rules)
			before := invalidOf(r)
			for i, click := range x.clicks {
				r = open(t, r.KV)
				got := outcomes(report(t, r, benchNow+2*day, click.record(i)))
				after := invalidOf(r)
				got = strings.TrimPrefix(got, "invalid_traffic:0 ") + difference(before, after)
				before = after
				expect(t, fmt.Sprint("click ", i), got, click.want)
			}
		})
	}
}

// An invalid click is known by its id, and has no other effect: its token is charged for the next valid click.
func TestAnInvalidClickHasNoEffect(t *testing.T) {
	r := ruled(t, shardtest.NewKV(), model.ClickRules{MinSeconds: 100, PerUserDay: 1})
	x := aClick{age: -1}
	early := x.record(1)
	early.Product = []byte("p1")
	expect(t, "a click and its repeat", outcomes(report(t, r, benchNow, early, early)), "invalid_traffic:0 duplicate:0 ")
	unchanged(t, r)
	r = open(t, r.KV)
	unchanged(t, r)
	again := early
	again.OccurredMillis, again.Bucket = early.OccurredMillis-4*hour, early.Bucket-4
	expect(t, "a repeat with another time", outcomes(report(t, r, benchNow, again)), "duplicate:0 ")

	due := early
	due.Key, due.AgeSeconds = [16]byte{9}, 100
	expect(t, "a valid click on the token", outcomes(report(t, r, benchNow, due)), paid)
	touches := 0
	r.Queries().Touches(1, due.UserHash, benchNow/day, benchNow/day, func(*shard.Touch) bool {
		touches++
		return true
	})
	if c := r.Queries().CampaignCounters(campaign(1, "v", 1).ID, 0, 1<<32-1); c.Clicks != 1 || c.InvalidClicks() != 1 || touches != 1 {
		t.Errorf("%d clicks, %d invalid ones, %d touches; want one each", c.Clicks, c.InvalidClicks(), touches)
	}
}

// unchanged checks that one invalid click of user 5 is counted and has left nothing else.
func unchanged(t *testing.T, r *shardtest.Replica) {
	t.Helper()
	b := r.Queries()
	x, _ := b.Campaign(campaign(1, "v", 1).ID)
	got := b.CampaignCounters(x.ID, 0, 1<<32-1)
	if want := (rollup.Counters{Invalid: [rollup.InvalidReasons]int64{rollup.TooSoon: 1}}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	if x.Money.SpentTotal != 0 || len(r.Feed.Exposures) != 0 || len(b.ClickRates(1)) != 0 || b.ClickDelay(1).Clicks != 0 {
		t.Errorf("spent %d, exposures %v, click rates %v", x.Money.SpentTotal, r.Feed.Exposures, b.ClickRates(1))
	}
	b.Touches(1, 5, benchNow/day-1, benchNow/day+1, func(touch *shard.Touch) bool {
		t.Errorf("touch %+v", touch)
		return false
	})
	if n := userClickRecords(r.KV); n != 0 {
		t.Errorf("%d records of clicks of users", n)
	}
}

// userClickRecords counts the records of the clicks of users on a day.
func userClickRecords(kv *shardtest.KV) (n int) {
	const tableUserClicks = 0x43
	kv.Scan([]byte{tableUserClicks}, []byte{tableUserClicks + 1}, func(_, _ []byte) bool {
		n++
		return true
	})
	return n
}

// Impressions, purchases and clicks that no campaign pays for are not subject to the rules.
func TestOnlyClicksOnAdsAreInvalid(t *testing.T) {
	r := ruled(t, shardtest.NewKV(), model.ClickRules{MinSeconds: 200, PerUserDay: 1})
	x := aClick{}
	for kind := range event.Kind(event.Kinds) {
		of := x.record(int(kind))
		of.Kind, of.Charge = kind, model.CPC
		if kind == event.Click {
			of.Campaign = 0
		}
		expect(t, kind.String(), outcomes(report(t, r, benchNow, of)), "counted:0 ")
	}
}

// Marketplaces count for themselves, also when the hashes of two users are equal.
func TestClicksOfOtherMarketplacesDoNotCount(t *testing.T) {
	r := ruled(t, shardtest.NewKV(), model.ClickRules{RepeatSeconds: 60, PerUserHour: 1, PerUserDay: 1})
	for i, marketplace := range []uint16{1, 2} {
		x := aClick{campaign: uint32(2 * i)}
		e := command.Events{Marketplace: marketplace, Records: []command.EventRecord{x.record(i)}}
		all, err := command.ReadEventResults(nil, r.Do(command.AppendEvents(nil, benchNow, &e)))
		check(t, err)
		expect(t, fmt.Sprint("marketplace ", marketplace), outcomes(all), paid)
	}
}

// A marketplace without rules stores nothing about users' clicks, and rules that are turned off catch nothing any more.
func TestRulesCanBeTurnedOff(t *testing.T) {
	r := ruled(t, shardtest.NewKV(), model.ClickRules{PerUserDay: 1})
	x := aClick{}
	expect(t, "two clicks", outcomes(report(t, r, benchNow, x.record(1), x.record(2))), paid+"invalid_traffic:0 ")
	stored := userClickRecords(r.KV)
	r.Do(command.AppendPutMarketplace(nil, benchNow, &model.Marketplace{Ordinal: 1, PostPaid: true}))
	other := aClick{user: 1}
	expect(t, "two more", outcomes(report(t, r, benchNow, x.record(3), other.record(4))), paid+paid)
	if got := userClickRecords(r.KV); stored != 1 || got != stored {
		t.Errorf("%d records, then %d", stored, got)
	}
}

// Below LevelInvalidTraffic rules are refused, and change nothing.
func TestRulesNeedTheirLevel(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(command.AppendSetFeature(nil, benchNow, command.SetFeature{Level: command.LevelInvalidTraffic - 1}))
	x := model.Marketplace{Ordinal: 1, ClickRules: model.ClickRules{MaxHours: 1}}
	expect(t, "rules", result(t, r.Do(command.AppendPutMarketplace(nil, benchNow, &x))).Refusal, command.TooEarly)
	r.Do(command.AppendSetFeature(nil, benchNow, command.SetFeature{Level: command.LevelInvalidTraffic}))
	expect(t, "rules", result(t, r.Do(command.AppendPutMarketplace(nil, benchNow, &x))).Refusal, command.Done)
}

// Clicks are kept as long as events of their day are counted, and of a day at most 256.
func TestClicksOfUsersExpire(t *testing.T) {
	r := ruled(t, shardtest.NewKV(), model.ClickRules{RepeatSeconds: 1})
	for i := range 257 {
		x := aClick{after: int64(1_000 * i)}
		expect(t, fmt.Sprint("click ", i), outcomes(report(t, r, benchNow+hour, x.record(i))), paid)
	}
	r = open(t, r.KV)
	first, second, last := aClick{}, aClick{after: 500}, aClick{after: 256_999}
	got := outcomes(report(t, r, benchNow+hour, last.record(300), second.record(301), first.record(302)))
	expect(t, "the last, the second, and the first, which is forgotten", got, "invalid_traffic:0 invalid_traffic:0 "+paid)
	for _, x := range []struct {
		days int64
		want int
	}{{31, 1}, {32, 0}} {
		r.Do(command.AppendAdvance(nil, benchNow+x.days*day, &command.Advance{}))
		expect(t, fmt.Sprint("records after ", x.days, " days"), userClickRecords(r.KV), x.want)
		check(t, r.Queries().Verify())
		r = open(t, r.KV)
	}
}

// Erasing a user deletes the user's clicks, in the same batch and later: the next click is the first.
func TestClicksOfAnErasedUserAreDeleted(t *testing.T) {
	for _, batched := range []bool{false, true} {
		r := ruled(t, shardtest.NewKV(), model.ClickRules{PerUserDay: 1})
		apply := func(records ...command.EventRecord) {
			r.Apply(command.AppendEvents(nil, benchNow, &command.Events{Marketplace: 1, Records: records}))
			if !batched {
				r.Commit()
			}
		}
		x, other := aClick{user: erased - 5}, aClick{}
		apply(x.record(1), other.record(2))
		if !batched && !namesUser(r.KV, erased) {
			t.Fatal("nothing was stored of the user")
		}
		r.Apply(command.AppendForgetUser(nil, benchNow, &command.ForgetUser{Marketplace: 1, User: erased}))
		r.Commit()
		if namesUser(r.KV, erased) || userClickRecords(r.KV) != 1 {
			t.Errorf("batched %v: %d records of clicks are left", batched, userClickRecords(r.KV))
		}
		r = open(t, r.KV)
		expect(t, "the next clicks", outcomes(report(t, r, benchNow, x.record(3), other.record(4))), paid+"invalid_traffic:0 ")
	}
}

// TestValidAndInvalidClicksAreAllThatWereSent reports random clicks to three replicas: one commits each command, one
// commits batches, and one is restarted often. They have the same bytes, and all clicks are counted once.
func TestValidAndInvalidClicksAreAllThatWereSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := model.ClickRules{
			MinSeconds: rapid.SampledFrom([]uint8{0, 100, 101}).Draw(t, "least age"), RepeatSeconds: rapid.Uint16Max(90).Draw(t, "interval"),
			PerCampaignHour: rapid.Uint8Max(3).Draw(t, "per campaign"), PerUserHour: rapid.Uint8Max(4).Draw(t, "per hour"),
			PerUserDay: rapid.Uint8Max(6).Draw(t, "per day"),
		}
		single, batched, restarted := ruled(t, shardtest.NewKV(), rules), ruled(t, shardtest.NewKV(), rules), ruled(t, shardtest.NewKV(), rules)
		sent, valid := rapid.IntRange(1, 40).Draw(t, "clicks"), 0
		for i := range sent {
			x := aClick{
				after: int64(rapid.IntRange(-200, 200).Draw(t, "second")) * 30_000, age: rapid.IntRange(0, 1).Draw(t, "age"),
				user: uint64(rapid.IntRange(0, 1).Draw(t, "user")), campaign: uint32(rapid.IntRange(0, 1).Draw(t, "campaign")),
				bid: uint32(rapid.IntRange(0, 1).Draw(t, "bid")),
			}
			cmd := command.AppendEvents(nil, benchNow+day, &command.Events{Marketplace: 1, Records: []command.EventRecord{x.record(i)}})
			answer := single.Do(cmd)
			all, err := command.ReadEventResults(nil, answer)
			check(t, err)
			if all[0].Outcome == command.Charged {
				valid++
			}
			restarted = open(t, restarted.KV)
			if !slices.Equal(batched.Apply(cmd), answer) || !slices.Equal(restarted.Do(cmd), answer) {
				t.Fatal("the replicas answer differently")
			}
			if i%5 == 0 {
				batched.Commit()
			}
		}
		batched.Commit()
		if !batched.KV.Equal(single.KV) || !restarted.KV.Equal(single.KV) || batched.Machine.Digest() != single.Machine.Digest() {
			t.Fatal("the replicas differ")
		}
		sum := single.Queries().CampaignCounters(campaign(1, "v", 1).ID, 0, 1<<32-1)
		other := single.Queries().CampaignCounters(campaign(1, "v", 2).ID, 0, 1<<32-1)
		sum.Add(&other)
		if sum.Clicks != int64(valid) || sum.Clicks != sum.ChargedClicks || sum.Clicks+sum.InvalidClicks() != int64(sent) {
			t.Fatalf("%d clicks were sent, %d valid and %d invalid ones counted, %d charged", sent, sum.Clicks, sum.InvalidClicks(), sum.ChargedClicks)
		}
		check(t, single.Queries().Verify())
	})
}
