package shard_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

type micros = money.Micros

const hour, day = 3_600_000, 24 * 3_600_000

func campaign(marketplace uint16, vendor string, n byte) model.Campaign {
	id := ids.UUID{0: 'c', 1: n}
	id[15] = byte(ids.ShardOf(ids.AccountOf(marketplace, vendor)))
	return model.Campaign{
		ID: id, Marketplace: marketplace, VendorID: vendor, Name: fmt.Sprint("campaign ", n), Active: true,
		Status: model.Approved, Charge: model.CPC, CreatedMillis: benchNow + int64(n),
	}
}

func deposit(n byte, vendor string, amount micros) []byte {
	return command.AppendAdjustWallet(nil, benchNow, &command.AdjustWallet{
		Request: ids.UUID{'r', n}, Marketplace: 1, VendorID: vendor, Amount: amount, Strict: true,
	})
}

// click returns a click with its own id on a token of campaign 1 for 100 micros, issued at benchNow.
func click(id, token byte) command.EventRecord {
	return command.EventRecord{
		Key: [16]byte{id}, ChargeKey: [16]byte{token}, Kind: event.Click, Charge: model.CPC,
		Bucket: event.BucketOf(benchNow), Cell: event.BucketOf(benchNow) * 4, OccurredMillis: benchNow,
		Campaign: 1, Bid: 1, Price: 100,
	}
}

// report applies events at a time as one batch and returns their results.
func report(t *testing.T, r *shardtest.Replica, now int64, records ...command.EventRecord) []command.EventResult {
	t.Helper()
	all, err := command.ReadEventResults(nil, r.Do(command.AppendEvents(nil, now, &command.Events{Marketplace: 1, Records: records})))
	check(t, err)
	check(t, r.Queries().Verify())
	return all
}

func outcomes(all []command.EventResult) string {
	var text []byte
	for _, x := range all {
		text = fmt.Appendf(text, "%s:%d ", x.Outcome, x.Charged)
	}
	return string(text)
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func result(t *testing.T, answer []byte) command.Result {
	t.Helper()
	r, err := command.ReadResult(answer)
	check(t, err)
	return r
}

func TestOneChargePerToken(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(deposit(1, "v", 1_000))
	r.Do(create(1, "v", 1, 0))
	got := report(t, r, benchNow, click(1, 1), click(2, 1), click(1, 1), click(3, 2))
	expect(t, "two ids for one token, a repeat, another token", outcomes(got),
		"charged:100 already_charged:0 duplicate:0 charged:100 ")
	c, _ := r.Queries().CampaignByOrdinal(1)
	counted := r.Queries().CampaignCounters(c.ID, 0, math.MaxUint32)
	expect(t, "clicks and charged", [2]int64{counted.Clicks, counted.ChargedClicks}, "[3 2]")
}

func TestChargeIsClippedToBudgetAndWallet(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(deposit(1, "v", 230))
	r.Do(create(1, "v", 1, 150))
	got := report(t, r, benchNow, click(1, 1), click(2, 2), click(3, 3))
	expect(t, "budget of 150", outcomes(got), "charged:100 clipped:50 nothing_left:0 ")
	expect(t, "what the clip left out", got[1].Clipped, 50)

	r.Do(command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{
		Campaign: campaign(1, "v", 1).ID, Marketplace: 1, Budget: new(micros(10_000)),
	}))
	got = report(t, r, benchNow, click(4, 3), click(5, 5), click(6, 6))
	expect(t, "wallet of 80 left; token 3 was decided when nothing was left", outcomes(got),
		"already_charged:0 clipped:80 nothing_left:0 ")
	w, _ := r.Queries().Wallet(ids.DefaultWalletOf(1, "v"))
	expect(t, "wallet", []micros{w.Balance, w.Deposited, w.Spent}, "[0 230 230]")
	slot := r.Feed.Balances[campaign(1, "v", 1).ID]
	expect(t, "auctions see", []int64{slot.BudgetLeft.Load(), slot.WalletBalance.Load()}, "[9770 0]")

	r.Do(command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{
		Campaign: campaign(1, "v", 1).ID, Marketplace: 1, Budget: new(micros(5)),
	}))
	c, _ := r.Queries().CampaignByOrdinal(1)
	expect(t, "a budget cut below what is spent changes no charge", c.Money.Spent, 230)
	expect(t, "and stops the campaign", slot.BudgetLeft.Load(), 0)
}

func TestPostPaidWalletGoesBelowZero(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(command.AppendPutMarketplace(nil, benchNow, &model.Marketplace{Ordinal: 1, PostPaid: true}))
	r.Do(create(1, "v", 1, 0))
	expect(t, "charge", outcomes(report(t, r, benchNow, click(1, 1))), "charged:100 ")
	w, _ := r.Queries().Wallet(ids.DefaultWalletOf(1, "v"))
	expect(t, "balance", w.Balance, -100)
	slot := r.Feed.Balances[campaign(1, "v", 1).ID]
	expect(t, "auctions see no limit", slot.WalletBalance.Load() == math.MaxInt64 && slot.BudgetLeft.Load() == math.MaxInt64, true)
	r.Do(command.AppendPutMarketplace(nil, benchNow, &model.Marketplace{Ordinal: 1}))
	expect(t, "and the debt, back in prepaid mode", slot.WalletBalance.Load(), -100)
}

// Events may wait for a later write, because their balances are published without it; every other command is written with
// its batch.
func TestEventsMayBeDeferred(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(deposit(1, "v", 1_000))
	r.Do(create(1, "v", 1, 0))
	r.Apply(create(1, "v", 2, 0))
	expect(t, "after a campaign", r.Machine.EndBatch(), false)
	r.Commit()
	other := r.Feed.Balances[campaign(1, "v", 2).ID]
	for i := range byte(3) {
		r.Apply(command.AppendEvents(nil, benchNow, &command.Events{
			Marketplace: 1, Records: []command.EventRecord{click(i+1, i+1)},
		}))
		expect(t, "after an event", r.Machine.EndBatch(), true)
		expect(t, "auctions of the wallet's other campaign see", other.WalletBalance.Load(), 900-100*int64(i))
	}
	w, _ := r.Queries().Wallet(ids.DefaultWalletOf(1, "v"))
	expect(t, "stored", w.Balance, 1_000)
	r.Apply(deposit(2, "v", 50))
	expect(t, "after a deposit", r.Machine.EndBatch(), false)
	r.Commit()
	w, _ = r.Queries().Wallet(ids.DefaultWalletOf(1, "v"))
	expect(t, "stored", w.Balance, 750)
	check(t, r.Queries().Verify())
}

func TestBudgetPeriodRolls(t *testing.T) {
	r := open(t, shardtest.NewKV())
	at := func(day uint32) { // The clock does not move: only the period number decides.
		r.Do(command.AppendAdvance(nil, benchNow, &command.Advance{Periods: []command.Periods{{Marketplace: 1, Day: day, Week: 1, Month: 1}}}))
	}
	at(10)
	r.Do(deposit(1, "v", 1_000))
	r.Do(create(1, "v", 1, 100))
	expect(t, "first day", outcomes(report(t, r, benchNow, click(1, 1), click(2, 2))), "charged:100 nothing_left:0 ")
	at(9)
	expect(t, "a day that goes back gives nothing", outcomes(report(t, r, benchNow, click(3, 3))), "nothing_left:0 ")
	at(11)
	slot := r.Feed.Balances[campaign(1, "v", 1).ID]
	expect(t, "auctions see a fresh budget", slot.BudgetLeft.Load(), 100)
	expect(t, "second day", outcomes(report(t, r, benchNow, click(4, 4))), "charged:100 ")

	r.Do(command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{
		Campaign: campaign(1, "v", 1).ID, Marketplace: 1, Period: new(model.Total), Budget: new(micros(250)),
	}))
	expect(t, "a total budget counts what was ever spent", outcomes(report(t, r, benchNow, click(5, 5), click(6, 6))),
		"clipped:50 nothing_left:0 ")
	at(400)
	expect(t, "and never rolls", outcomes(report(t, r, benchNow, click(7, 7))), "nothing_left:0 ")
}

func TestPausedIsChargedTerminatedIsNot(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(deposit(1, "v", 1_000))
	r.Do(create(1, "v", 1, 0))
	id := campaign(1, "v", 1).ID
	r.Do(command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{Campaign: id, Marketplace: 1, Active: new(false)}))
	expect(t, "paused", outcomes(report(t, r, benchNow, click(1, 1))), "charged:100 ")
	terminate := command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{Campaign: id, Marketplace: 1, Status: new(model.Terminated)})
	expect(t, "terminate", result(t, r.Do(terminate)), command.Result{})
	expect(t, "terminate again", result(t, r.Do(terminate)), command.Result{})
	expect(t, "terminated", outcomes(report(t, r, benchNow, click(2, 2))), "unknown_bid:0 ")
	counted := r.Queries().CampaignCounters(id, 0, math.MaxUint32)
	expect(t, "both are counted", counted.Clicks, 2)
	revive := command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{Campaign: id, Marketplace: 1, Status: new(model.Approved)})
	expect(t, "revive", result(t, r.Do(revive)).Refusal, command.WrongState)
}

// TestWindows tests one event and one token at the edges of their windows. Keys are dropped only when the same
// comparison refuses the events that they belong to.
func TestWindows(t *testing.T) {
	const start = benchNow - benchNow%hour
	r := open(t, shardtest.NewKV())
	r.Do(deposit(1, "v", 1_000))
	r.Do(create(1, "v", 1, 0))
	late := func(id byte, token byte, now int64) string {
		e := click(id, token)
		e.OccurredMillis = now
		return outcomes(report(t, r, now, e))
	}
	advance := func(now int64) int {
		r.Do(command.AppendAdvance(nil, now, &command.Advance{}))
		return r.KV.Len()
	}
	expect(t, "now", late(1, 1, benchNow), "charged:100 ")
	edge := int64(start + 7*day + hour - 1)
	advance(edge)
	expect(t, "a second click in the last millisecond of the window", late(2, 1, edge), "already_charged:0 ")
	expect(t, "a first click then", late(3, 2, edge), "charged:100 ")
	before := r.KV.Len()
	// Two charge keys and their bucket are dropped; the counters for the hour of the next clicks are added.
	expect(t, "records after the charge window", advance(edge+1), before-3)
	expect(t, "a second click after it", late(4, 1, edge+1), "too_late:0 ")
	expect(t, "a first click after it", late(5, 3, edge+1), "too_late:0 ")

	edge = start + 30*day + hour - 1
	advance(edge)
	expect(t, "a repeat at the end of the counting window", late(1, 1, edge), "duplicate:0 ")
	expect(t, "a new event then", late(6, 1, edge), "too_late:0 ")
	before = r.KV.Len()
	expect(t, "records after the counting window", advance(edge+1), before-7) // Six event keys and their bucket.
	expect(t, "a repeat after it", late(1, 1, edge+1), "too_old:0 ")

	restarted := open(t, r.KV)
	expect(t, "digest after a restart", restarted.Machine.Digest(), r.Machine.Digest())
}

func TestImpressionWindowIsADay(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(deposit(1, "v", 1_000))
	r.Do(create(1, "v", 1, 0))
	seen := func(id, token byte, charge model.ChargeType, now int64) string {
		e := click(id, token)
		e.Kind, e.Charge, e.OccurredMillis = event.Impression, charge, now
		return outcomes(report(t, r, now, e))
	}
	expect(t, "an impression of a click token", seen(1, 1, model.CPC, benchNow), "counted:0 ")
	expect(t, "an impression", seen(2, 2, model.CPM, benchNow), "charged:100 ")
	edge := int64(benchNow - benchNow%hour + day + hour)
	expect(t, "in the last hour", seen(3, 3, model.CPM, edge-1), "charged:100 ")
	expect(t, "after it", seen(4, 4, model.CPM, edge), "too_late:0 ")
}

func TestRepeatsChangeNothing(t *testing.T) {
	r := open(t, shardtest.NewKV())
	for _, cmd := range [][]byte{
		deposit(1, "v", 1_000),
		create(1, "v", 1, 500),
		command.AppendPutBids(nil, benchNow, &command.PutBids{
			Campaign: campaign(1, "v", 1).ID, Marketplace: 1, Bids: []model.Bid{{ID: ids.UUID{9}, Target: "p", Amount: 1}},
		}),
		command.AppendBootstrap(nil, benchNow, &command.Bootstrap{
			Marketplace: model.Marketplace{Ordinal: 1}, Keys: []command.Record{{Kind: command.RecordAPIKey, Marketplace: 1, ID: "k", Value: []byte("v")}},
		}),
	} {
		first := result(t, r.Do(cmd))
		expect(t, "first", first.Refusal, command.Done)
		before := r.Machine.Digest()
		expect(t, "the repeat answers alike", result(t, r.Do(cmd)), first)
		expect(t, "the repeat changes nothing", r.Machine.Digest(), before)
	}
	check(t, r.Queries().Verify())

	r.Do(command.AppendAdvance(nil, benchNow+26*hour, &command.Advance{}))
	expect(t, "a repeat a day later", result(t, r.Do(deposit(1, "v", 1_000))).Balance, 1_000)
}

func TestForeignIdsAreNotFound(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(deposit(1, "v", 1_000))
	r.Do(create(1, "v", 1, 0))
	id := campaign(1, "v", 1).ID
	patch := command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{Campaign: id, Marketplace: 2, Active: new(false)})
	expect(t, "patch", result(t, r.Do(patch)).Refusal, command.NotFound)
	bids := command.AppendPutBids(nil, benchNow, &command.PutBids{Campaign: id, Marketplace: 2})
	expect(t, "bids", result(t, r.Do(bids)).Refusal, command.NotFound)
	stolen := command.AppendAdjustWallet(nil, benchNow, &command.AdjustWallet{
		Request: ids.UUID{7}, Marketplace: 2, VendorID: "v", Wallet: ids.DefaultWalletOf(1, "v"), Amount: -1,
	})
	expect(t, "wallet", result(t, r.Do(stolen)).Refusal, command.NotFound)
	answer := r.Do(command.AppendEvents(nil, benchNow, &command.Events{Marketplace: 2, Records: []command.EventRecord{click(1, 1)}}))
	all, err := command.ReadEventResults(nil, answer)
	check(t, err)
	expect(t, "event", outcomes(all), "unknown_bid:0 ")
}

func TestBidsAreBounded(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(create(1, "v", 1, 0))
	n := 0
	put := func(count int) command.Result {
		p := command.PutBids{Campaign: campaign(1, "v", 1).ID, Marketplace: 1}
		for range count {
			n++
			p.Bids = append(p.Bids, model.Bid{ID: ids.UUID{1: byte(n >> 8), 2: byte(n)}, Target: "p", Amount: 1})
		}
		return result(t, r.Do(command.AppendPutBids(nil, benchNow, &p)))
	}
	expect(t, "up to the bound", put(shard.BidsMax-1).Refusal, command.Done)
	expect(t, "one more", put(1).Refusal, command.TooMany)
	gone := command.PutBids{Campaign: campaign(1, "v", 1).ID, Marketplace: 1, Bids: []model.Bid{{ID: ids.UUID{'b', 1}, Deleted: true}}}
	expect(t, "one less", result(t, r.Do(command.AppendPutBids(nil, benchNow, &gone))).Refusal, command.Done)
	expect(t, "again one more", put(1).Refusal, command.Done)
	bids, more := r.Queries().Bids(1, 4_998, 1)
	expect(t, "page", fmt.Sprint(len(bids), more), "1 true")
}

func TestRefusedCommandsChangeOnlyTheClock(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(deposit(1, "v", 10))
	digest := r.Machine.Digest()
	for name, cmd := range map[string][]byte{
		"empty": nil, "short": {1, 2, 3}, "noise": make([]byte, 64),
		"cut":     create(1, "v", 1, 0)[:90],
		"strict":  command.AppendAdjustWallet(nil, 0, &command.AdjustWallet{Request: ids.UUID{5}, Marketplace: 1, VendorID: "v", Amount: -11, Strict: true}),
		"unknown": command.AppendPatchCampaign(nil, 0, &command.PatchCampaign{Campaign: ids.UUID{1}, Marketplace: 1}),
		"shard":   command.AppendCreateCampaign(nil, 0, &command.CreateCampaign{Campaign: model.Campaign{ID: ids.UUID{15: 77}, Marketplace: 1, VendorID: "v"}}),
	} {
		if result(t, r.Do(cmd)).Refusal == command.Done {
			t.Errorf("%s was not refused", name)
		}
		expect(t, name, r.Machine.Digest(), digest)
	}
}

func TestGroupsCarryOnlyTheirOwn(t *testing.T) {
	meta, err := shardtest.NewReplica(0, true, shardtest.NewKV())
	check(t, err)
	data, err := shardtest.NewReplica(3, false, shardtest.NewKV())
	check(t, err)
	product := command.AppendPutProducts(nil, benchNow, &command.PutProducts{Marketplace: 1, Products: []model.Product{{ID: "p"}}})
	expect(t, "a product in the meta group", result(t, meta.Do(product)).Refusal, command.Done)
	expect(t, "a product in a data group", result(t, data.Do(product)).Refusal, command.Invalid)
	expect(t, "a campaign in the meta group", result(t, meta.Do(create(1, "v", 1, 0))).Refusal, command.Invalid)
	expect(t, "a campaign in a data group", result(t, data.Do(create(1, "v", 1, 0))).Refusal, command.Done)
	c, _ := data.Queries().CampaignByOrdinal(1)
	expect(t, "its group", c.Group, 3)
}

func TestUnknownVersionPanics(t *testing.T) {
	r := open(t, shardtest.NewKV())
	cmd := command.AppendNoop(nil, benchNow)
	newer := shardtest.Reseal(append([]byte{command.Version + 1}, cmd[1:]...))
	defer func() {
		if recover() == nil {
			t.Fatal("a command of a newer version was skipped")
		}
	}()
	r.Do(newer)
}

// TestLoadFindsCorruption changes, removes and adds every single record of a state in turn.
func TestLoadFindsCorruption(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(deposit(1, "v", 1_000))
	r.Do(create(1, "v", 1, 500))
	r.Do(command.AppendPutProducts(nil, benchNow, &command.PutProducts{Marketplace: 1, Products: []model.Product{{ID: "p", Vendors: []string{"v"}}}}))
	report(t, r, benchNow, click(1, 1), click(2, 2))
	open(t, r.KV.Copy())
	var keys, values [][]byte
	r.KV.Scan([]byte{0}, []byte{0xff}, func(key, value []byte) bool {
		keys, values = append(keys, key), append(values, value)
		return true
	})
	corrupt := func(what string, key, value []byte) {
		kv := r.KV.Copy()
		kv.Put(key, value)
		_, err := shardtest.NewReplica(1, true, kv)
		// The format and the level are compared before the digest, because a newer binary may store anything else.
		if !errors.Is(err, shard.ErrCorrupt) && !errors.Is(err, shard.ErrFormat) && !errors.Is(err, shard.ErrLevel) {
			t.Errorf("%s of record %x: %v", what, key, err)
		}
	}
	for i, key := range keys {
		corrupt("loss", key, nil)
		corrupt("an extra byte", key, append(append([]byte{}, values[i]...), 1))
		for at := range values[i] {
			flipped := append([]byte{}, values[i]...)
			flipped[at] ^= 0x10
			corrupt("a flipped bit", key, flipped)
		}
	}
	corrupt("an invented record", []byte{0x0a, 1, 2, 3}, []byte{1})
}

// TestVerifyFindsForgery changes stored records without the machine.
func TestVerifyFindsForgery(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(deposit(1, "v", 1_000))
	r.Do(create(1, "v", 1, 500))
	report(t, r, benchNow, click(1, 1), click(2, 2))
	forged := 0
	r.KV.Copy().Scan([]byte{0}, []byte{0xff}, func(key, value []byte) bool {
		if !forgeable(key[0]) {
			return true
		}
		kv := r.KV.Copy()
		changed := append([]byte{}, value...)
		changed[len(changed)-9] ^= 1 // A bit of an amount or of the chain.
		kv.Put(key, changed)
		if err := (shard.Queries{R: kv}).Verify(); !errors.Is(err, shard.ErrUnbalanced) {
			t.Errorf("record %x changed: %v", key, err)
		}
		forged++
		return true
	})
	expect(t, "records forged", forged, 6)
	var lines []ledger.Line
	r.Queries().Journal(1, func(l *ledger.Line) bool { lines = append(lines, *l); return true })
	expect(t, "lines", len(lines), 4)
}

// forgeable reports whether a table is that of wallets, budgets or journal lines.
func forgeable(table byte) bool { return table == 0x0a || table == 0x0d || table == 0x1a }
