package shard_test

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// paceOf is the Pace with a number.
func paceOf(number uint64, campaigns ...command.Paced) []byte {
	return command.AppendPace(nil, benchNow, &command.Pace{Number: number, Campaigns: campaigns})
}

// paced opens a replica on the newest level with three campaigns of one vendor, whose budget is 500 a day.
func paced(t *testing.T) *shardtest.Replica {
	t.Helper()
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNewest))
	r.Do(deposit(1, "v", 10_000))
	for n := range byte(3) {
		expect(t, "create", result(t, r.Do(newCampaign(n+1, model.CPC, 500, model.Daily))).Refusal, command.Done)
	}
	return r
}

// seen is what auctions read of the n-th campaign of vendor v.
func seen(r *shardtest.Replica, n byte) (word uint64, hold micros, walletHold int64) {
	b := r.Feed.Balances[ids.UUID{0: n, 15: byte(ids.ShardOf(ids.AccountOf(1, "v")))}]
	return b.Pacing.Load(), micros(b.Hold.Load()), b.WalletHold.Load()
}

// Decisions reach the auctions of their campaign, and the hold those of all campaigns of the wallet. Only the next number
// is applied, unknown campaigns are skipped and counted, and a terminated campaign holds nothing.
func TestPaceReachesAuctions(t *testing.T) {
	r := paced(t)
	word := pacing.Word(1, 0.5)
	got := result(t, r.Do(paceOf(1, command.Paced{Campaign: 1, Word: word, Hold: 30}, command.Paced{Campaign: 2, Word: word, Hold: 4},
		command.Paced{Campaign: 9, Hold: 7})))
	expect(t, "a pace with an unknown campaign", got, command.Result{Index: 1})
	check := func(what string, n byte, wantWord uint64, wantHold micros, wantWallet int64) {
		t.Helper()
		if w, hold, wallet := seen(r, n); w != wantWord || hold != wantHold || wallet != wantWallet {
			t.Errorf("%s: campaign %d has word %x, hold %d and wallet hold %d", what, n, w, hold, wallet)
		}
	}
	check("paced", 1, word, 30, 34)
	check("paced", 2, word, 4, 34)
	check("not paced", 3, pacing.Open, 0, 34)

	digest := r.Machine.Digest()
	for _, number := range []uint64{0, 1, 3} {
		expect(t, "another number", result(t, r.Do(paceOf(number, command.Paced{Campaign: 1}))).Refusal, command.Conflict)
	}
	raised := command.Paced{Campaign: 1, Word: pacing.Open + 1}
	expect(t, "a factor above 1", result(t, r.Do(paceOf(2, raised))).Refusal, command.Invalid)
	expect(t, "a negative hold", result(t, r.Do(paceOf(2, command.Paced{Campaign: 1, Hold: -1}))).Refusal, command.Invalid)
	twice := command.Paced{Campaign: 1, Word: word}
	expect(t, "a campaign twice", result(t, r.Do(paceOf(2, twice, twice))).Refusal, command.Invalid)
	expect(t, "digest after refusals", r.Machine.Digest(), digest)

	r.Do(patchOf(2, command.PatchCampaign{Status: new(model.Terminated)}))
	check("one is terminated", 1, word, 30, 30)
	if _, found := r.Queries().Paced(2); found {
		t.Error("the pace of a terminated campaign is still stored")
	}
	expect(t, "a terminated campaign", result(t, r.Do(paceOf(2, command.Paced{Campaign: 2, Hold: 1}))), command.Result{Index: 1})
	check("one is terminated", 1, word, 30, 30)

	r = open(t, r.KV)
	check("a restart", 1, word, 30, 30)
	check("a restart", 3, pacing.Open, 0, 30)
}

// The hold of a campaign follows it to another wallet.
func TestHoldFollowsTheCampaign(t *testing.T) {
	r := paced(t)
	r.Do(paceOf(1, command.Paced{Campaign: 1, Word: pacing.Open, Hold: 30}, command.Paced{Campaign: 2, Word: pacing.Open, Hold: 4}))
	second := ids.UUID{0: 'w', 15: byte(ids.ShardOf(ids.AccountOf(1, "v")))}
	r.Do(command.AppendOpenAccount(nil, benchNow, &command.OpenAccount{Request: ids.UUID{1}, Account: second, Marketplace: 1, VendorID: "v", Name: "second"}))
	expect(t, "another wallet", result(t, r.Do(patchOf(1, command.PatchCampaign{Wallet: &second}))).Refusal, command.Done)
	for n, want := range map[byte]int64{1: 30, 2: 4, 3: 4} {
		if _, _, got := seen(r, n); got != want {
			t.Errorf("the wallet of campaign %d holds %d, want %d", n, got, want)
		}
	}
}

// A new period starts with the hold and the word of the one before: ads of yesterday are charged today when they are
// clicked.
func TestNewPeriodKeepsTheHold(t *testing.T) {
	r := paced(t)
	word := pacing.Word(1, 0.5)
	r.Do(paceOf(1, command.Paced{Campaign: 1, Word: word, Hold: 30, Memory: pacing.Memory{Aggressiveness: -5}}))
	r.Do(command.AppendAdvance(nil, benchNow, &command.Advance{Periods: []command.Periods{{Marketplace: 1, Day: 9}}}))
	if got, hold, _ := seen(r, 1); got != word || hold != 30 {
		t.Errorf("word %x and hold %d after the roll", got, hold)
	}
	if x, _ := r.Queries().Paced(1); x.Memory.Aggressiveness != -5 {
		t.Errorf("the memory is %+v", x.Memory)
	}
	expect(t, "periods fed", r.Feed.Current["periods 1 1"], "{Marketplace:1 Day:9 Week:0 Month:0}")
}

// What could not be charged is counted in the campaign's period and in its reports, from LevelPacing on.
func TestOverdeliveryIsCounted(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNotices))
	r.Do(deposit(1, "v", 10_000))
	r.Do(create(1, "v", 1, 150))
	id := campaign(1, "v", 1).ID
	clipped := func(what string, period, total micros) {
		t.Helper()
		c, _ := r.Queries().Campaign(id)
		counted := r.Queries().CampaignCounters(id, 0, ^uint32(0)).Overdelivery
		if c.Money.Overdelivered != period || c.Money.OverdeliveredTotal != total || counted != total {
			t.Errorf("%s: %+v, and %d in reports", what, c.Money, counted)
		}
		expect(t, what+": the machine's sum", r.Machine.Overdelivered(), int64(total))
		check(t, r.Queries().Verify())
	}
	report(t, r, benchNow, click(1, 1), click(2, 2))
	clipped("before the level", 0, 0)
	r.Do(setFeature(command.LevelPacing))
	report(t, r, benchNow, click(3, 3))
	clipped("nothing left", 100, 100)
	r.Do(command.AppendAdvance(nil, benchNow, &command.Advance{Periods: []command.Periods{{Marketplace: 1, Day: 99_999}}}))
	clipped("another day", 0, 100)
	report(t, r, benchNow, click(4, 4), click(5, 5))
	clipped("clipped", 50, 150)
	r = open(t, r.KV)
	clipped("after a restart", 50, 150)
}

// The newest counted report of each node is stored and fed, also after a restart, until the node is gone for a day.
func TestCountedReports(t *testing.T) {
	r := paced(t)
	const node, other = 7, 9
	count := func(number uint64, now int64, reports ...command.CountedReport) {
		t.Helper()
		cmd := command.AppendPace(nil, now, &command.Pace{Number: number, Counted: reports})
		expect(t, "count", result(t, r.Do(cmd)).Refusal, command.Done)
	}
	count(1, benchNow, command.CountedReport{Node: node, Start: 1, Number: 5}, command.CountedReport{Node: other, Start: 3, Number: 1})
	count(2, benchNow+1_000, command.CountedReport{Node: node, Start: 2, Number: 1})
	r = open(t, r.KV)
	want := []command.CountedReport{{Node: node, Start: 2, Number: 1}, {Node: other, Start: 3, Number: 1}}
	number, got := r.Queries().CountedReports()
	expect(t, "number", number, uint64(2))
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] || r.Feed.Counted[node] != want[0] || r.Feed.Counted[other] != want[1] {
		t.Errorf("counted %+v, fed %+v", got, r.Feed.Counted)
	}
	count(3, benchNow+day+500, command.CountedReport{Node: node, Start: 2, Number: 2})
	if _, got = r.Queries().CountedReports(); len(got) != 1 || got[0].Node != node {
		t.Errorf("after a day: %+v", got)
	}
}
