package shard_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// whenClosed is what a command does in a closed marketplace.
type whenClosed uint8

const (
	goesOn    whenClosed = iota + 1 // It follows from what is stored, and nobody is told of it.
	isRefused                       // Somebody is told that it was done, or it moves money.
	byContent                       // It has a test of its own below.
)

// Whoever adds a command says here whether a closed marketplace refuses it.
var commandsWhenClosed = map[command.Op]whenClosed{
	command.OpNoop: goesOn, command.OpAdvance: goesOn, command.OpSetFeature: goesOn, command.OpBootstrap: goesOn,
	command.OpForgetEmptied: goesOn, command.OpForgetNotices: goesOn, command.OpPace: goesOn, command.OpTraffic: goesOn,
	command.OpCountAuctions: goesOn, command.OpDecideCredits: goesOn, command.OpCloseCredits: goesOn,
	command.OpCloseReturns: goesOn, command.OpWatchUsers: goesOn, command.OpForgetMarks: goesOn, command.OpDecideMembers: goesOn,
	command.OpEnrolUsers: goesOn, command.OpMarkVendors: goesOn,
	command.OpEvents: isRefused, command.OpPutCategories: isRefused, command.OpPutProducts: isRefused,
	command.OpDeleteCatalog: isRefused, command.OpAdjustWallet: isRefused, command.OpCreateCampaign: isRefused,
	command.OpPatchCampaign: isRefused, command.OpPutBids: isRefused, command.OpPatchBid: isRefused,
	command.OpPatchProducts: isRefused, command.OpStageSegment: isRefused, command.OpCommitSegment: isRefused,
	command.OpOpenAccount: isRefused, command.OpTransfer: isRefused, command.OpReverse: isRefused,
	command.OpLinkUsers: isRefused, command.OpForgetUser: isRefused, command.OpDefineSegment: isRefused,
	command.OpPutMarketplace: byContent, command.OpPutRecords: byContent, command.OpApplyCredits: byContent,
	command.OpApplyReturns: byContent,
}

func TestEveryCommandSaysWhatItDoesInAClosedMarketplace(t *testing.T) {
	cmd := command.AppendAdvance(nil, benchNow, &command.Advance{})
	known := 0
	for op := command.OpNoop; ; op++ {
		cmd[1] = byte(op)
		if _, isOne := command.Needs(cmd); !isOne {
			break
		}
		known++
		if commandsWhenClosed[op] == 0 {
			t.Errorf("command %d is not in commandsWhenClosed", op)
		}
	}
	expect(t, "commands", known, len(commandsWhenClosed))
}

// moneyTables are the tables of wallets, campaigns, bids, transfers and what was charged, by their first byte in keys.go.
var moneyTables = []byte{0x0a, 0x0b, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x07, 0x08, 0x09, 0x1e, 0x21, 0x39}

// stateOf returns the content of tables as one text.
func stateOf(r *shardtest.Replica, tables []byte) string {
	var all bytes.Buffer
	for _, table := range tables {
		r.KV.Scan([]byte{table}, []byte{table + 1}, func(key, value []byte) bool {
			fmt.Fprintf(&all, "%x=%x\n", key, value)
			return true
		})
	}
	return all.String()
}

// setClosings writes the settings of a marketplace with other closings, over what is stored.
func setClosings(t *testing.T, r *shardtest.Replica, marketplace uint16, now int64, closings uint32) {
	t.Helper()
	x, found := r.Queries().Marketplace(marketplace)
	if !found {
		x = model.Marketplace{Ordinal: marketplace, Name: "m", CurrencyCode: "USD"}
	}
	x.Closings = closings
	expect(t, "closings", result(t, r.Do(command.AppendPutMarketplace(nil, now, &x))).Refusal, command.Done)
}

// Random commands are applied to an open group, whose marketplaces are then closed: each of the refused commands is refused,
// and catalog, campaigns and money stay as they are, also after a restart.
func TestAClosedMarketplaceIsFrozen(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	g := shardtest.NewGenerator(func(n int, _ string) int { return random.IntN(n) })
	r := open(t, shardtest.NewKV())
	r.Do(g.Newest().Command)
	for range 4_000 {
		r.Do(g.Step().Command)
	}
	for marketplace := range uint16(2) {
		setClosings(t, r, marketplace+1, r.Queries().Clock(), 1)
	}
	before := stateOf(r, moneyTables)
	refusedOps := map[command.Op]int{}
	for i := range 4_000 {
		step := g.Step()
		answer := command.Refusal(r.Do(step.Command)[0])
		op := command.Op(step.Command[1])
		repeated := strings.Contains(step.Name, "repeated") // It may have been answered before the closing, and is answered alike.
		if commandsWhenClosed[op] != isRefused || repeated {
			continue
		}
		if answer != command.MarketplaceClosed && answer != command.Invalid && answer != command.Expired {
			t.Fatalf("command %d is answered %q", op, answer)
		}
		if answer == command.MarketplaceClosed {
			refusedOps[op]++
		}
		if i%1_000 == 0 {
			r = open(t, r.KV)
		}
	}
	for op, when := range commandsWhenClosed {
		if when == isRefused && refusedOps[op] == 0 && !neverGenerated[op] {
			t.Errorf("command %d was never refused", op)
		}
	}
	if stateOf(r, moneyTables) != before {
		t.Error("the state has changed")
	}
	check(t, r.Queries().Verify())
}

// neverGenerated are commands of segments, which TestSegmentsOfAClosedMarketplace sends.
var neverGenerated = map[command.Op]bool{
	command.OpStageSegment: true, command.OpCommitSegment: true, command.OpDefineSegment: true,
}

func TestSegmentsOfAClosedMarketplace(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNewest))
	setClosings(t, r, 1, benchNow, 1)
	for name, cmd := range map[string][]byte{
		"stage":  command.AppendStageSegment(nil, benchNow, &command.StageSegment{Marketplace: 1, Segment: "s", Upload: ids.UUID{1}, Users: []uint64{1}}),
		"commit": command.AppendCommitSegment(nil, benchNow, &command.CommitSegment{Marketplace: 1, Segment: "s", Upload: ids.UUID{1}}),
		"define": command.AppendDefineSegment(nil, benchNow, &command.DefineSegment{Marketplace: 1, Segment: "s"}),
	} {
		expect(t, name, command.Refusal(r.Do(cmd)[0]), command.MarketplaceClosed)
	}
}

// An event that a closed marketplace has refused is charged after the opening, once.
func TestEventsOfAClosedMarketplace(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNewest))
	r.Do(deposit(1, "v", 1_000))
	r.Do(create(1, "v", 1, 0))
	expect(t, "before", outcomes(report(t, r, benchNow, click(1, 1))), "charged:100 ")
	setClosings(t, r, 1, benchNow, 1)
	refused := r.Do(command.AppendEvents(nil, benchNow, &command.Events{Marketplace: 1, Records: []command.EventRecord{click(2, 2)}}))
	expect(t, "closed", command.Refusal(refused[0]), command.MarketplaceClosed)
	expect(t, "a marketplace beside it", outcomes(reportIn(t, r, 2, click(3, 3))), "unknown_bid:0 ")
	setClosings(t, r, 1, benchNow, 2)
	expect(t, "opened", outcomes(report(t, r, benchNow, click(1, 1), click(2, 2), click(2, 2))), "duplicate:0 charged:100 duplicate:0 ")
}

func reportIn(t *testing.T, r *shardtest.Replica, marketplace uint16, records ...command.EventRecord) []command.EventResult {
	t.Helper()
	all, err := command.ReadEventResults(nil, r.Do(command.AppendEvents(nil, benchNow, &command.Events{Marketplace: marketplace, Records: records})))
	check(t, err)
	return all
}

// Settings that were read before a closing cannot open a marketplace again, whoever writes them and however late.
func TestOldSettingsDoNotOpenAMarketplace(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNewest))
	was := model.Marketplace{Ordinal: 1, Name: "m", CurrencyCode: "USD"}
	put := func(x model.Marketplace) command.Refusal {
		return result(t, r.Do(command.AppendPutMarketplace(nil, benchNow, &x))).Refusal
	}
	closed, renamed := was, was
	closed.Closings, renamed.Closings, renamed.Name = 1, 1, "another"
	for _, step := range []struct {
		what string
		x    model.Marketplace
		want command.Refusal
	}{
		{"open", was, command.Done},
		{"close", closed, command.Done},
		{"a late copy of the open settings", was, command.Conflict},
		{"a repeat of the closing", closed, command.Done},
		{"a change of closed settings", renamed, command.MarketplaceClosed},
		{"opening with a change", model.Marketplace{Ordinal: 1, Name: "another", CurrencyCode: "USD", Closings: 2}, command.Done},
		{"a late copy of the closing", closed, command.Conflict},
	} {
		expect(t, step.what, put(step.x), step.want)
	}
}

// Records that somebody was told of are refused, and what a node notes about its own work is not.
func TestRecordsOfAClosedMarketplace(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNewest))
	setClosings(t, r, 1, benchNow, 1)
	put := func(kind command.RecordKind, marketplace uint16) command.Refusal {
		return result(t, r.Do(command.AppendPutRecords(nil, benchNow, &command.PutRecords{Records: []command.Record{
			{Kind: command.RecordAudit, Marketplace: 1, ID: "first", Value: []byte{1}, Expect: command.Any},
			{Kind: kind, Marketplace: marketplace, ID: "id", Value: []byte{1}, Expect: command.Any},
		}}))).Refusal
	}
	expect(t, "a vendor", put(command.RecordVendor, 1), command.MarketplaceClosed)
	expect(t, "a key", put(command.RecordAPIKey, 1), command.MarketplaceClosed)
	expect(t, "a plain resource", put(command.RecordPlain, 1), command.MarketplaceClosed)
	expect(t, "a vendor of another marketplace", put(command.RecordVendor, 2), command.Done)
	expect(t, "a session", put(command.RecordLoginSession, 1), command.Done)
	expect(t, "a delivery", put(command.RecordDelivery, 1), command.Done)
}

// A purchase that is not credited when its marketplace closes is not credited here any more: it stays in the list that a backup
// has, and leaves the list that workers read. After an opening it is credited once.
func TestCreditsOfAClosedMarketplace(t *testing.T) {
	r := newPaidByPurchases(t)
	bought := command.EventRecord{
		Key: [16]byte{5}, Kind: event.Purchase, Bucket: event.BucketOf(benchNow), Cell: event.BucketOf(benchNow) * 4, OccurredMillis: benchNow,
		UserHash: 7, Items: []command.PurchaseItem{{ProductID: []byte("p"), VendorID: []byte("v"), Quantity: 1, UnitPrice: 500}},
	}
	reportIn(t, r, 1, bought)
	expect(t, "open", len(r.Queries().OpenCredits(9, 9)), 1)
	setClosings(t, r, 1, benchNow, 1)
	expect(t, "in the list of the workers", len(r.Queries().OpenCredits(9, 9)), 0)
	expect(t, "a credit", result(t, r.Do(purchasePaid(1))).Refusal, command.MarketplaceClosed)
	chargedNothing(t, r)
	setClosings(t, r, 1, benchNow, 2)
	expect(t, "open again", len(r.Queries().OpenCredits(9, 9)), 1)
	for range 2 {
		expect(t, "a credit", result(t, r.Do(purchasePaid(1))).Refusal, command.Done)
	}
	chargedOnce(t, "after the opening", r.Queries(), 60)

	returned := command.AppendApplyReturns(nil, benchNow, &command.ApplyReturns{Returns: []command.ItemReturn{
		{Purchase: command.PurchaseName{OpenedMillis: benchNow, Key: [16]byte{1}}, Quantity: 1},
	}})
	setClosings(t, r, 1, benchNow, 3)
	expect(t, "a return", result(t, r.Do(returned)).Refusal, command.MarketplaceClosed)
	expect(t, "pieces sold", soldPieces(r), 2)
	setClosings(t, r, 1, benchNow, 4)
	expect(t, "a return", result(t, r.Do(returned)).Refusal, command.Done)
	expect(t, "pieces sold", soldPieces(r), 1)
}

func soldPieces(r *shardtest.Replica) int64 {
	c, _ := r.Queries().CampaignByOrdinal(1)
	return r.Queries().CampaignSales(c.ID, 0, 9)[0].Attributed.Quantity
}

func chargedNothing(t *testing.T, r *shardtest.Replica) {
	t.Helper()
	c, _ := r.Queries().CampaignByOrdinal(1)
	expect(t, "spent", c.Money.SpentTotal, 0)
}
