package command

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/shard/document"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

var rewrite = flag.Bool("rewrite", false, "accept the encodings as they are now")

const now = 1_795_132_800_123

var (
	someCampaign = model.Campaign{
		ID: ids.UUID{1, 2, 3, 15: 4}, Ordinal: 5, Group: 6, Marketplace: 7, VendorID: "vendor", Wallet: ids.UUID{8},
		Name: "näme", Type: "manual", Format: model.Banner, Charge: model.CPM, Price: model.FirstPrice, Budget: 9_000_000,
		Period: model.Monthly, StartMillis: now, EndMillis: now + 1, Active: true, AutoTrigger: true,
		Status: model.Rejected, StatusUpdatedBy: "me", ExternalID: "x-1", TargetROASMilli: 2_500, CreatedMillis: now - 1,
		UpdatedMillis: now, Document: []byte(`{"a":1}`),
	}
	someBids = []model.Bid{
		{
			ID: ids.UUID{9}, Ordinal: 10, Target: "p-1", Amount: 250_000, Active: true, Location: "Paris",
			Triggers:      []model.Trigger{{Kind: model.TriggerProduct, Value: "p-1"}, {Kind: model.TriggerCategories, Value: "p-2"}},
			CreatedMillis: now, UpdatedMillis: now + 2,
		},
		{ID: ids.UUID{11}, Target: "p-2", Amount: money.MaxMicros, Deleted: true},
	}
	someMarketplace = model.Marketplace{
		Ordinal: 1, ID: ids.UUID{12}, Name: "shop", Suspended: true, CurrencyCode: "EUR", CurrencyExponent: 2,
		TimeZone: "Europe/Paris", Reserve: [model.ChargeTypes]money.Micros{0, 10, 20, 30}, PostPaid: true,
		ExternalDemand: model.ExternalDemand{Disabled: true, Sources: []string{"a", "b"}, OwnValue: "gavel"},
		CreatedMillis:  now, UpdatedMillis: now,
	}
	laterMarketplace = model.Marketplace{
		Ordinal: 1, Name: "shop", H3: true, VendorMax: 2, Reserves: []model.ReserveRule{
			{Charge: model.CPM, Amount: 1_000_000, Format: model.Banner, Place: "top", Category: "shoes"},
			{Charge: model.CPC, Amount: 20_000, AnyFormat: true},
		},
	}
	laterCampaign = model.Campaign{
		ID: ids.UUID{1}, VendorID: "v", Format: model.SponsoredBrand, Products: []string{"p-1", "p-2"},
		Segments: model.SegmentRules{
			Include: []string{"s-1"}, Exclude: []string{"s-2", "s-3"},
			Multipliers: []model.SegmentMultiplier{{Segment: "s-4", Multiplier: 2_500_000}},
		},
		Schedule: append(make([]uint16, model.ScheduleHours-1), 150), Caps: []model.Cap{{Type: 18, Limit: 3}},
	}
	laterBids = []model.Bid{
		{ID: ids.UUID{9}, Target: "p-1", Triggers: []model.Trigger{
			{Kind: model.TriggerPhrase, Value: "red shoes", Words: []string{"Red", "shoes"}}, {Kind: model.TriggerNotBroad, Value: "cheap"},
		}},
		{ID: ids.UUID{10}, Target: "https://example.com/", TargetType: model.TargetURL, Creative: &model.Creative{
			Place: "top", Device: model.Mobile, Assets: []model.BannerAsset{
				{
					URL: "https://example.com/a.png", ContentType: "image/png", Dimensions: model.Dimensions{Width: 300, Height: 250},
					Bytes: 1_000, AssetID: "a-1", Content: []byte("{}"), TemplateID: "t-1",
				},
				{},
			},
		}},
		{ID: ids.UUID{11}, Target: "acme", TargetType: model.TargetBrand, Creative: &model.Creative{
			Place: "hero", TemplateID: "t-2", Title: "Acme", Content: []byte(`{"headline":"x"}`), Products: []string{"p-1"},
		}},
	}
	someRecords = []Record{
		{Kind: RecordAPIKey, Marketplace: 1, ID: "k1", Value: []byte("value"), Expect: Any, Class: "auction", Max: 20, ExpiresMillis: now + 1},
		{Kind: RecordVendor, Marketplace: 2, ID: "v1", Value: []byte{}},
		{Kind: RecordAPIKey, Marketplace: 1, ID: "k2", Expect: 3, NotLast: true},
	}
	someEvents = Events{Marketplace: 513, Records: []EventRecord{
		{
			Key: [16]byte{1, 15: 2}, ChargeKey: [16]byte{3, 15: 4}, Kind: event.Click, Charge: model.CPC, Bucket: 498_648,
			Cell: 1_994_592, OccurredMillis: now, Campaign: 5, Bid: 6, Price: 250_000, Place: 7, UserHash: 0xfedcba9876543210,
		},
		{
			Key: [16]byte{8}, Kind: event.Purchase, ExternalCampaign: ids.UUID{9}, OccurredMillis: -1,
			Entity: []byte("p-1"), EntityType: event.ProductEntity,
			Items: []PurchaseItem{
				{ProductID: []byte("p-1"), VendorID: []byte("v-1"), Quantity: 2, UnitPrice: 19_990_000},
				{ProductID: []byte("p-2"), Quantity: 1},
			},
		},
	}}
	someUnknown = Events{Marketplace: 1, Records: []EventRecord{
		{Key: [16]byte{1}, Kind: event.Purchase, Items: []PurchaseItem{{ProductID: []byte("p"), Quantity: 1}}},
		{Key: [16]byte{2}, Kind: event.Purchase, Items: []PurchaseItem{
			8: {ProductID: []byte("u"), Quantity: 1, Unknown: true}, 9: {ProductID: []byte("p"), Quantity: 1},
		}},
	}}
	someAds = Events{Marketplace: 1, Records: []EventRecord{
		{Key: [16]byte{1}, Kind: event.Impression, Campaign: 2, Bid: 3, Rank: 4, AgeSeconds: 5, Product: []byte("p-1")},
		{Key: [16]byte{2}, Kind: event.Purchase, Rank: 1, Items: []PurchaseItem{{ProductID: []byte("u"), Quantity: 1, Unknown: true}}},
		{Key: [16]byte{3}},
	}}
	// commands holds one example of every command, with a function that reads it back.
	commands = []struct {
		name string
		cmd  []byte
		want any
		read func(c *Command) (any, error)
	}{
		{"noop", AppendNoop(nil, now), nil, func(*Command) (any, error) { return nil, nil }},
		example("advance", AppendAdvance, Advance{Periods: []Periods{{1, 20_777, 2_968, 24_311}, {2, 1, 2, 3}}}, ReadAdvance),
		example("events", AppendEvents, someEvents, func(c *Command) (e Events, err error) { err = ReadEvents(c, &e); return e, err }),
		example("events of unknown products", AppendEvents, someUnknown, func(c *Command) (e Events, err error) { err = ReadEvents(c, &e); return e, err }),
		example("events with ranks", AppendEvents, someAds, func(c *Command) (e Events, err error) { err = ReadEvents(c, &e); return e, err }),
		example("bootstrap", AppendBootstrap, Bootstrap{
			Marketplace: someMarketplace, Keys: someRecords,
			Secrets: Secrets{Duplicate: [32]byte{1}, Token: []TokenKey{{1, [16]byte{2}}, {3, [16]byte{4}}}, Cursor: [32]byte{5}},
		}, ReadBootstrap),
		example("put marketplace", AppendPutMarketplace, someMarketplace, readSettings),
		example("put records", AppendPutRecords, PutRecords{someRecords}, ReadPutRecords),
		example("put categories", AppendPutCategories, PutCategories{Marketplace: 1, Categories: []model.Category{
			{ID: "c1", ParentID: "c0", Name: "Shoes", Document: []byte("{}"), CreatedMillis: 1, UpdatedMillis: 2},
		}}, ReadPutCategories),
		example("put products", AppendPutProducts, PutProducts{Marketplace: 1, Products: []model.Product{
			{
				ID: "p1", Name: "Shoe", Vendors: []string{"v1", "v2"}, Categories: []string{"c1"}, Active: true,
				Quality: model.QualityOne, Price: 19_990_000, Attributes: []string{"color:red"}, Promotions: []string{"sale"},
				Document: []byte("{}"), CreatedMillis: 1, UpdatedMillis: 2,
			},
			{ID: "p2"},
		}}, ReadPutProducts),
		example("delete catalog", AppendDeleteCatalog, DeleteCatalog{1, []string{"p1", "p2"}, []string{"c1"}}, ReadDeleteCatalog),
		example("adjust wallet", AppendAdjustWallet, AdjustWallet{
			Request: ids.UUID{1}, Marketplace: 2, VendorID: "v", Wallet: ids.UUID{3}, Amount: -4, Strict: true, Description: "d",
		}, ReadAdjustWallet),
		example("create campaign", AppendCreateCampaign, CreateCampaign{someCampaign, someBids}, ReadCreateCampaign),
		example("patch nothing", AppendPatchCampaign, PatchCampaign{Campaign: ids.UUID{1}, Marketplace: 2}, ReadPatchCampaign),
		example("patch campaign", AppendPatchCampaign, PatchCampaign{
			Campaign: ids.UUID{1}, Marketplace: 2, Name: new("n"), Active: new(false), StartMillis: new(int64(3)),
			EndMillis: new(int64(0)), Budget: new(money.Micros(4)), Period: new(model.Total), TargetROASMilli: new(uint32(5)),
			Status: new(model.Terminated), StatusUpdatedBy: new("me"), Price: new(model.FirstPrice), Document: []byte{},
		}, ReadPatchCampaign),
		example("put bids", AppendPutBids, PutBids{Campaign: ids.UUID{1}, Marketplace: 2, Bids: someBids}, ReadPutBids),
		example("put marketplace, later members", AppendPutMarketplace, laterMarketplace, readSettings),
		example("put products, later members", AppendPutProducts, PutProducts{Marketplace: 1, Products: []model.Product{
			{ID: "p1", Active: true, Brand: "acme"}, {ID: "p2"},
		}}, ReadPutProducts),
		example("create campaign, later members", AppendCreateCampaign, CreateCampaign{laterCampaign, laterBids}, ReadCreateCampaign),
		example("patch campaign, later members", AppendPatchCampaign, PatchCampaign{
			Campaign: ids.UUID{1}, Marketplace: 2, Products: &laterCampaign.Products, Segments: &laterCampaign.Segments,
			Schedule: new([]uint16(nil)), Caps: &laterCampaign.Caps,
		}, ReadPatchCampaign),
		example("put bids, later members", AppendPutBids, PutBids{Campaign: ids.UUID{1}, Marketplace: 2, Bids: laterBids}, ReadPutBids),
		example("stage segment", AppendStageSegment, StageSegment{1, "s-1", ids.UUID{2}, 3, []uint64{0, 1, 1 << 63}}, ReadStageSegment),
		example("patch campaign, wallet", AppendPatchCampaign, PatchCampaign{
			Campaign: ids.UUID{1}, Marketplace: 2, Name: new("n"), Caps: &laterCampaign.Caps, Wallet: &ids.UUID{3},
		}, ReadPatchCampaign),
		example("open account", AppendOpenAccount, OpenAccount{ids.UUID{1}, ids.UUID{2}, 3, "v", "second", "EUR"}, ReadOpenAccount),
		example("transfer", AppendTransfer, Transfer{
			ids.UUID{1}, TransferReceive, 2, ids.UUID{3}, ids.UUID{4}, 5_000_000, now, "for december",
		}, ReadTransfer),
		example("forget emptied", AppendForgetEmptied, ForgetEmptied{1, ids.UUID{2}, 3}, ReadForgetEmptied),
		example("commit segment", AppendCommitSegment, CommitSegment{1, "s-1", ids.UUID{2}, 3, SegmentReplace}, ReadCommitSegment),
		example("patch campaign, expectation", AppendPatchCampaign, PatchCampaign{
			Campaign: ids.UUID{1}, Marketplace: 2, Expect: ExpectCampaign(&someCampaign, MembersDates|MembersStatus|MembersDocument),
			EndMillis: new(int64(3)), Wallet: &ids.UUID{3},
		}, ReadPatchCampaign),
		example("replace marketplace", AppendReplaceMarketplace, PutMarketplace{someMarketplace, VersionOfMarketplace(&laterMarketplace)}, ReadPutMarketplace),
		example("replace marketplace with later members", AppendReplaceMarketplace, PutMarketplace{laterMarketplace, 1}, ReadPutMarketplace),
		example("patch bid", AppendPatchBid, PatchBid{
			Campaign: ids.UUID{1}, Marketplace: 2, Bid: ids.UUID{3}, Amount: new(money.Micros(4)), Active: new(false), Location: new("Paris"),
			Triggers: &laterBids[0].Triggers,
		}, ReadPatchBid),
		example("delete bid", AppendPatchBid, PatchBid{Campaign: ids.UUID{1}, Marketplace: 2, Bid: ids.UUID{3}, Delete: true}, ReadPatchBid),
		example("patch products", AppendPatchProducts, PatchProducts{Marketplace: 1, Products: []ProductPatch{
			{
				ID: "p1", Name: new("Shoe"), Vendors: &[]string{"v1"}, Categories: new([]string(nil)), Brand: new("acme"), Active: new(false),
				Quality: new(uint32(5)), Price: new(money.Micros(6)), Attributes: &[]string{"a:b"}, Promotions: &[]string{"sale"},
				Document: []document.Member{{Name: "name", Value: []byte(`"Shoe"`)}, {Name: "ean", Value: []byte(`"1"`)}},
			},
			{ID: "p2"},
		}}, ReadPatchProducts),
		example("mark vendors", AppendMarkVendors, MarkVendors{2, []VendorMark{
			{"v1", ids.UUID{}, ids.UUID{1}}, {"v2", ids.UUID{2}, ids.UUID{}},
		}}, ReadMarkVendors),
		example("attempt", func(dst []byte, millis int64, x *attempted) []byte {
			return AppendAttempt(AppendPatchCampaign(dst, millis, &x.PatchCampaign), x.Attempt)
		}, attempted{PatchCampaign{Campaign: ids.UUID{1}, Marketplace: 2, Active: new(true)}, Attempt{[16]byte{3}, 4}},
			func(c *Command) (x attempted, err error) {
				x.PatchCampaign, err = ReadPatchCampaign(c)
				x.Attempt = c.Attempt
				return x, err
			}),
		example("forget notices", AppendForgetNotices, ForgetNotices{2, []ids.UUID{{3}, {4}}}, ReadForgetNotices),
		example("pace", AppendPace, Pace{7, []CountedReport{{1, 2, 3}, {4, 5, 6}}, []Paced{
			{
				Campaign: 1, Word: pacing.Open, Hold: 2, Status: pacing.OnPlan, Memory: pacing.Memory{
					AtMillis: 1, Period: 2, Aggressiveness: -3, Opening: -4, Steered: 5, HoldFast: 6, HoldSlow: 7, WinRate: 8,
					Cost: 9, Traffic: 10, Seen: 11, SeenHours: 12, Used: 13, Behind: -14, Cap: 15, DayStartMillis: 16,
					DaySpent: 17, Counted: 18, Skip: 19, Multiplier: 20,
				},
			},
			{Campaign: 3},
		}}, ReadPace),
		example("traffic", AppendTraffic, Traffic{1, 1_994_592, 167, 60, [model.AdFormats]uint64{1, 2, TrafficMax}}, ReadTraffic),
		example("count auctions", AppendCountAuctions, CountAuctions{1, 2, 3, []CampaignAuctions{
			{4, 5, 600, []LostAuctions{{0, 7}, {23, AuctionsMax}}}, {Campaign: 8},
		}}, ReadCountAuctions),
		example("decide credits", AppendDecideCredits, DecideCredits{[]CreditDecision{
			{Purchase: PurchaseName{1, [16]byte{2}}, Credits: []Credit{someCredit}}, {Purchase: PurchaseName{3, [16]byte{4}}},
		}}, ReadDecideCredits),
		example("decide credits by other rules", AppendDecideCredits, DecideCredits{[]CreditDecision{
			{Purchase: PurchaseName{3, [16]byte{4}}, Attribution: model.AttributionAmazon},
		}}, ReadDecideCredits),
		example("apply credits", AppendApplyCredits, ApplyCredits{[]Credit{someCredit}}, ReadApplyCredits),
		example("close credits", AppendCloseCredits, CloseCredits{[]PurchaseName{{1, [16]byte{2}}}}, ReadCloseCredits),
		example("apply returns", AppendApplyReturns, ApplyReturns{[]ItemReturn{{PurchaseName{1, [16]byte{2}}, 3, 4}}}, ReadApplyReturns),
		example("close returns", AppendCloseReturns, CloseReturns{[]ReturnedPurchase{{PurchaseName{1, [16]byte{2}}, 3}}}, ReadCloseReturns),
		example("reverse", AppendReverse, Reverse{
			ID: ids.UUID{1}, Marketplace: 2, Campaign: ids.UUID{3}, Line: 4, Charged: 5, Wallet: ids.UUID{6},
			Parts: []ReversalPart{{7, 8, event.Purchase, "p1", 9}}, Reason: ReasonProductReturn, Author: "key:1", Note: "note",
		}, ReadReverse),
		example("reverse an amount", AppendReverse, Reverse{
			ID: ids.UUID{1}, Marketplace: 2, Campaign: ids.UUID{3}, Author: "key:1", Reason: ReasonGoodwill,
			Parts: []ReversalPart{{Cell: 7, Bid: 8, Kind: event.Click, Amount: 9}, {Cell: 7, Bid: 9, Amount: 1}},
		}, ReadReverse),
		example("link users", AppendLinkUsers, LinkUsers{1, 2, 3}, ReadLinkUsers),
		example("forget user", AppendForgetUser, ForgetUser{1, 2, "s1"}, ReadForgetUser),
		example("watch users", AppendWatchUsers, WatchUsers{1, 2, 6}, ReadWatchUsers),
		example("forget marks", AppendForgetMarks, ForgetMarks{1, []UserMark{{2, 3}, {4, 5}}}, ReadForgetMarks),
		example("define segment", AppendDefineSegment, DefineSegment{1, "s1", [16]byte{2}, false}, ReadDefineSegment),
		example("decide members", AppendDecideMembers, DecideMembers{
			1, "s1", 2, 3, []Membership{{4, true, 5}, {6, false, 0}}, Backfill{true, 7, 8, 9},
		}, ReadDecideMembers),
		example("notice", func(dst []byte, millis int64, x *noticed) []byte {
			cmd := AppendPatchCampaign(dst, millis, &x.PatchCampaign)
			return AppendAttempt(AppendNotice(cmd, &x.Notice), x.Attempt)
		}, noticed{
			attempted{PatchCampaign{Campaign: ids.UUID{1}, Marketplace: 2, Active: new(true)}, Attempt{[16]byte{3}, 4}},
			Notice{2, ids.UUID{5}, []byte("changed")},
		}, func(c *Command) (x noticed, err error) {
			x.PatchCampaign, err = ReadPatchCampaign(c)
			if x.Attempt = c.Attempt; c.Notice != nil {
				x.Notice = *c.Notice
			}
			return x, err
		}),
		example("audit entry", func(dst []byte, millis int64, x *audited) []byte {
			cmd := AppendPatchCampaign(dst, millis, &x.PatchCampaign)
			return AppendAttempt(AppendAuditEntry(AppendNotice(cmd, &x.Notice), &x.AuditEntry), x.Attempt)
		}, audited{
			noticed{
				attempted{PatchCampaign{Campaign: ids.UUID{1}, Marketplace: 2, Active: new(true)}, Attempt{[16]byte{3}, 4}},
				Notice{2, ids.UUID{5}, []byte("changed")},
			},
			AuditEntry{6, "entry", []byte("who")},
		}, func(c *Command) (x audited, err error) {
			x.PatchCampaign, err = ReadPatchCampaign(c)
			if x.Attempt = c.Attempt; c.Notice != nil && c.Entry != nil {
				x.Notice, x.AuditEntry = *c.Notice, *c.Entry
			}
			return x, err
		}),
	}
)

var someCredit = Credit{
	Purchase: PurchaseName{1, [16]byte{2}}, Item: 3, Group: 4, Marketplace: 5, Campaign: 6, Bid: 7, Kind: event.Click, Halo: true,
	Place: 8, Cell: 9, UserHash: 10, Product: "p1", Quantity: 11, UnitPrice: 12, Price: 13, ChargeKey: [16]byte{14}, Issued: 15,
}

func readSettings(c *Command) (model.Marketplace, error) {
	p, err := ReadPutMarketplace(c)
	return p.Marketplace, err
}

type attempted struct {
	PatchCampaign
	Attempt
}

type noticed struct {
	attempted
	Notice
}

type audited struct {
	noticed
	AuditEntry
}

func example[T any](name string, write func([]byte, int64, *T) []byte, x T, read func(*Command) (T, error)) struct {
	name string
	cmd  []byte
	want any
	read func(c *Command) (any, error)
} {
	return struct {
		name string
		cmd  []byte
		want any
		read func(c *Command) (any, error)
	}{name, write(nil, now, &x), x, func(c *Command) (any, error) { return read(c) }}
}

func TestCommandsReadBack(t *testing.T) {
	for _, x := range commands {
		c, err := Open(x.cmd)
		if err != nil || c.NowMillis != now {
			t.Fatalf("%s: %v, time %d", x.name, err, c.NowMillis)
		}
		got, err := x.read(&c)
		if err != nil || !reflect.DeepEqual(got, x.want) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", x.name, err, got, x.want)
		}
	}
}

// TestGoldenEncodings fixes the encodings: a command in a log must mean the same to every later binary.
func TestGoldenEncodings(t *testing.T) {
	var b strings.Builder
	for _, x := range commands {
		fmt.Fprintf(&b, "%s\n%s\n", x.name, hex.Dump(x.cmd))
	}
	const file = "testdata/encodings.txt"
	if *rewrite {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || b.String() != string(want) {
		t.Fatalf("the encodings changed (%v); they may not, unless under a new version:\n%s", err, b.String())
	}
}

// TestDamageIsUnreadable flips every bit of every command and truncates it at every length. The checksum must detect
// both. With a forged checksum nothing may panic.
func TestDamageIsUnreadable(t *testing.T) {
	for _, x := range commands {
		for i := range len(x.cmd) * 8 {
			cmd := bytes.Clone(x.cmd)
			cmd[i/8] ^= 1 << (i % 8)
			if _, err := Open(cmd); err == nil {
				t.Fatalf("%s: bit %d flipped unseen", x.name, i)
			}
			readAny(seal(cmd, 0))
		}
		for n := range x.cmd {
			if _, err := Open(x.cmd[:n]); err == nil {
				t.Fatalf("%s: cut at %d unseen", x.name, n)
			}
			if n < HeaderLen {
				continue
			}
			if readAny(seal(bytes.Clone(x.cmd[:n]), 0)) == nil {
				t.Fatalf("%s: cut at %d and sealed again, it is read", x.name, n)
			}
		}
	}
}

// readAny opens and reads a command of any kind.
func readAny(cmd []byte) error {
	c, err := Open(cmd)
	if err != nil {
		return err
	}
	for _, x := range commands {
		if Op(x.cmd[1]) == c.Op {
			_, err = x.read(&c)
			return err
		}
	}
	return fmt.Errorf("no example of operation %d", c.Op)
}

func TestNewerCommandsAreReported(t *testing.T) {
	for name, change := range map[string]func(cmd []byte){
		"version": func(cmd []byte) { cmd[0] = Version + 1 },
		"op":      func(cmd []byte) { cmd[1] = byte(len(introduced)) },
		"flag":    func(cmd []byte) { cmd[2] = 8 },
		"level":   func(cmd []byte) { cmd[levelAt] = byte(LevelNewest) + 1 },
		"attempt": func(cmd []byte) { cmd[2] = flagAttempt }, // On a command that cannot be an attempt.
		"notice":  func(cmd []byte) { cmd[2] = flagNotice },  // On a command that cannot carry one.
		"entry":   func(cmd []byte) { cmd[2] = flagAuditEntry },
	} {
		cmd := AppendNoop(nil, now)
		change(cmd)
		if _, err := Open(seal(cmd, 0)); !errors.Is(err, ErrUnknownVersion) {
			t.Errorf("another %s: %v", name, err)
		}
		change(cmd)
		if _, err := Open(cmd[:HeaderLen-1]); !errors.Is(err, ErrUnreadable) {
			t.Errorf("another %s, damaged: %v", name, err)
		}
	}
}

// Only commands whose repeat could do harm may be attempts. An attempt needs the level of its command.
func TestAttempts(t *testing.T) {
	for _, x := range commands {
		c, err := Open(x.cmd)
		if err != nil || c.Attempted {
			continue
		}
		cmd := AppendAttempt(bytes.Clone(x.cmd), Attempt{ID: [16]byte{1}, Seen: 2})
		needs, known := Needs(cmd)
		if slices.Contains([]Op{OpNoop, OpAdvance, OpEvents, OpBootstrap, OpSetFeature, OpPace}, c.Op) {
			if _, err := Open(cmd); known || !errors.Is(err, ErrUnknownVersion) {
				t.Errorf("%s as an attempt: known %t, %v", x.name, known, err)
			}
			continue
		}
		got, err := Open(cmd)
		if err != nil || !known || needs != c.Needs || got.Needs != needs {
			t.Errorf("%s as an attempt: %v, needs %d and %d, known %t", x.name, err, needs, got.Needs, known)
		}
		value, err := x.read(&got)
		if err != nil || !reflect.DeepEqual(value, x.want) || !got.Attempted || got.Attempt != (Attempt{[16]byte{1}, 2}) {
			t.Errorf("%s as an attempt is read as %+v, %+v, %v", x.name, value, got.Attempt, err)
		}
	}
}

func TestEveryCommandHasAnEncoding(t *testing.T) {
	for op := OpNoop; op <= OpSetFeature; op++ {
		cmd := seal(append([]byte{Version, byte(op)}, make([]byte, HeaderLen-2)...), 0)
		c, err := Open(cmd)
		needs, known := Needs(cmd)
		if err != nil || c.Op != op || c.Needs != LevelFormat1 || !known || needs != LevelFormat1 {
			t.Errorf("operation %d: %+v, %v; needs %d, known %t", op, c, err, needs, known)
		}
	}
	level := func(l Level) []byte { return AppendSetFeature(nil, now, SetFeature{Level: l}) }
	if _, known := Needs(level(LevelNewest)); !known {
		t.Error("the newest level is not known")
	}
	if _, known := Needs(level(LevelNewest + 1)); known {
		t.Error("a level of the future is known")
	}
	if _, known := Needs(nil); known {
		t.Error("an empty command is known")
	}
}

func TestAnswersReadBack(t *testing.T) {
	r := Result{Refusal: TooMany, Index: 300, Balance: -5, FirstOrdinal: 7}
	if got, err := ReadResult(AppendResult(nil, &r)); err != nil || got != r {
		t.Errorf("%+v, %v", got, err)
	}
	all := []EventResult{{Charged, 250_000, 0}, {TooLate, 0, 0}, {Clipped, money.MaxMicros, 1}}
	if got, err := ReadEventResults(nil, AppendEventResults(nil, all)); err != nil || !reflect.DeepEqual(got, all) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ReadEventResults(nil, AppendResult(nil, &Result{Refusal: Invalid})); !errors.Is(err, ErrUnreadable) {
		t.Errorf("a refused command: %v", err)
	}
}

func FuzzCommand(f *testing.F) {
	for _, x := range commands {
		f.Add(x.cmd[1], x.cmd[levelAt], x.cmd[4], x.cmd[HeaderLen:])
	}
	f.Fuzz(func(t *testing.T, op, level, count byte, body []byte) {
		cmd, at := begin(nil, OpNoop, now, int(count))
		cmd[1] = op
		if int(op) < len(introduced) {
			cmd[levelAt] = max(byte(introduced[op]), level%byte(LevelNewest+1))
		}
		cmd = seal(append(cmd, body...), at)
		c, err := Open(cmd)
		if err != nil {
			return
		}
		for _, x := range commands {
			if Op(x.cmd[1]) != c.Op {
				continue
			}
			got, err := x.read(&c)
			again, errAgain := x.read(&c)
			if (err == nil) != (errAgain == nil) || err == nil && !reflect.DeepEqual(got, again) {
				t.Fatalf("read twice: %+v %v, then %+v %v", got, err, again, errAgain)
			}
		}
	})
}

func TestReadEventsReusesMemory(t *testing.T) {
	long, short := AppendEvents(nil, now, &someEvents), AppendEvents(nil, now, &Events{Marketplace: 1, Records: make([]EventRecord, 2)})
	var e Events
	for _, cmd := range [][]byte{long, short} {
		c, _ := Open(cmd)
		if err := ReadEvents(&c, &e); err != nil {
			t.Fatal(err)
		}
	}
	for i := range e.Records {
		r := e.Records[i]
		if len(r.Items) != 0 || r.Entity != nil || r.Key != [16]byte{} || !r.ExternalCampaign.IsZero() {
			t.Errorf("record %d kept something of the command before: %+v", i, r)
		}
	}
}
