package shard_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

func names(all []shard.CampaignState, more bool) string {
	var text []byte
	for i := range all {
		text = fmt.Append(text, all[i].ID[1], " ")
	}
	return string(fmt.Append(text, more))
}

func TestCampaignsAreListedNewestFirst(t *testing.T) {
	r := open(t, shardtest.NewKV())
	for n := range byte(5) {
		r.Do(create(1, fmt.Sprint("v", n%2), n+1, 0))
	}
	r.Do(create(2, "v0", 9, 0))
	r.Do(command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{
		Campaign: campaign(1, "v0", 3).ID, Marketplace: 1, Status: new(model.Terminated),
	}))
	r.Do(command.AppendPatchCampaign(nil, benchNow, &command.PatchCampaign{
		Campaign: campaign(1, "v1", 2).ID, Marketplace: 1, Active: new(false),
	}))
	b := r.Queries()
	f := func(what string, filter shard.CampaignFilter, offset, limit int, want string) {
		t.Helper()
		expect(t, what, names(b.Campaigns(1, &filter, offset, limit)), want)
	}
	f("all but terminated", shard.CampaignFilter{}, 0, 10, "5 4 2 1 false")
	f("a page", shard.CampaignFilter{}, 1, 2, "4 2 true")
	f("the last page", shard.CampaignFilter{}, 2, 2, "2 1 false")
	f("of a vendor", shard.CampaignFilter{VendorID: "v0"}, 0, 10, "5 1 false")
	f("of nobody", shard.CampaignFilter{VendorID: "v"}, 0, 10, "false")
	f("terminated", shard.CampaignFilter{Status: new(model.Terminated)}, 0, 10, "3 false")
	f("active", shard.CampaignFilter{Active: new(true)}, 0, 10, "5 4 1 false")
	f("banners", shard.CampaignFilter{Format: new(model.Banner)}, 0, 10, "false")
}

func TestCatalogIsListedById(t *testing.T) {
	r := open(t, shardtest.NewKV())
	product := func(id string, vendors ...string) model.Product {
		return model.Product{ID: id, Name: id, Vendors: vendors, CreatedMillis: 1}
	}
	put := func(all ...model.Product) {
		r.Do(command.AppendPutProducts(nil, benchNow, &command.PutProducts{Marketplace: 1, Products: all}))
	}
	put(product("b", "v1"), product("a", "v1", "v2"), product("c", "v2"), product("d", "v"))
	put(product("b", "v2")) // Its vendor changed.
	listed := func(all []model.Product, more bool) string {
		var text []byte
		for i := range all {
			text = append(text, all[i].ID+" "...)
		}
		return string(fmt.Append(text, more))
	}
	b := r.Queries()
	expect(t, "all", listed(b.Products(1, "", 10)), "a b c d false")
	expect(t, "a page", listed(b.Products(1, "a", 2)), "b c true")
	expect(t, "of v1", listed(b.ProductsOf(1, "v1", "", 10)), "a false")
	expect(t, "of v2, after a", listed(b.ProductsOf(1, "v2", "a", 1)), "b true")
	expect(t, "of another marketplace", listed(b.Products(2, "", 10)), "false")
	r.Do(command.AppendDeleteCatalog(nil, benchNow, &command.DeleteCatalog{Marketplace: 1, Products: []string{"a", "unknown"}}))
	expect(t, "of v1, gone", listed(b.ProductsOf(1, "v1", "", 10)), "false")
	_, found := b.Product(1, "a")
	expect(t, "gone", found, false)
}

// A product is listed under its vendors and no others, however they change and repeat. The digest must be that of the
// stored records, which a restart computes again.
func TestProductsMoveBetweenVendors(t *testing.T) {
	r := open(t, shardtest.NewKV())
	random := rand.New(rand.NewPCG(3, 4))
	listed := map[string][]string{} // Vendors by product.
	for step := range 300 {
		var p command.PutProducts
		p.Marketplace = 1
		for range 1 + random.IntN(4) { // Often the same product twice.
			x := model.Product{ID: fmt.Sprint("p", random.IntN(5)), Name: "n", CreatedMillis: int64(step)}
			for range random.IntN(4) {
				x.Vendors = append(x.Vendors, fmt.Sprint("v", random.IntN(4)))
			}
			listed[x.ID] = x.Vendors
			p.Products = append(p.Products, x)
		}
		r.Apply(command.AppendPutProducts(nil, benchNow, &p))
		if random.IntN(3) == 0 { // In the same batch, or in one of its own.
			gone := fmt.Sprint("p", random.IntN(5))
			delete(listed, gone)
			r.Apply(command.AppendDeleteCatalog(nil, benchNow, &command.DeleteCatalog{Marketplace: 1, Products: []string{gone}}))
		}
		if random.IntN(2) == 0 {
			continue
		}
		r.Commit()
		if again := open(t, r.KV); again.Machine.Digest() != r.Machine.Digest() {
			t.Fatalf("step %d: another digest after a restart", step)
		}
		for v := range 4 {
			vendor := fmt.Sprint("v", v)
			var want []string
			for id, vendors := range listed {
				if slices.Contains(vendors, vendor) {
					want = append(want, id)
				}
			}
			slices.Sort(want)
			var got []string
			all, _ := r.Queries().ProductsOf(1, vendor, "", 100)
			for i := range all {
				got = append(got, all[i].ID)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("step %d: %s has %v, want %v", step, vendor, got, want)
			}
		}
	}
}

func TestReportsByCellAndBid(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(deposit(1, "v", 1_000))
	r.Do(create(1, "v", 1, 0))
	at := func(e command.EventRecord, cell, bid uint32) command.EventRecord {
		e.Cell, e.Bid = cell, bid
		return e
	}
	id := campaign(1, "v", 1).ID
	external := click(9, 0)
	external.Campaign, external.Charge, external.ChargeKey, external.ExternalCampaign = 0, model.ChargeNone, [16]byte{}, id
	purchase := click(10, 0)
	purchase.Kind, purchase.Campaign, purchase.Charge, purchase.ChargeKey = event.Purchase, 0, model.ChargeNone, [16]byte{}
	purchase.Items = []command.PurchaseItem{
		{ProductID: []byte("p1"), Quantity: 2, UnitPrice: 300}, {ProductID: []byte("p2"), Quantity: 1, UnitPrice: 50},
	}
	report(t, r, benchNow, at(click(1, 1), 4, 1), at(click(2, 2), 4, 7), at(click(3, 3), 8, 1), at(external, 8, 0), at(purchase, 8, 0))

	b := r.Queries()
	expect(t, "cells 4 to 8", b.CampaignCounters(id, 4, 8).Clicks, 2)
	all := b.CampaignCounters(id, 0, math.MaxUint32)
	expect(t, "all", []int64{all.Clicks, all.ChargedClicks, int64(all.SpentClicks)}, "[4 3 300]")
	cells := b.CampaignCells(id, 0, math.MaxUint32)
	expect(t, "per cell", fmt.Sprint(len(cells), cells[0].Cell, cells[0].Clicks, cells[1].Cell, cells[1].Clicks), "2 4 2 8 2")
	var text []byte
	for _, x := range b.CampaignBids(id, 0, math.MaxUint32) {
		text = fmt.Appendf(text, "%d(%s):%d ", x.Bid, x.Target, x.Clicks)
	}
	expect(t, "per bid", string(text), "0():1 7():1 1(p1):2 ")
	sold := b.ProductCounters(1, "p1", 8, 9)
	expect(t, "sold", []int64{sold.Purchases, sold.PurchaseQuantity, int64(sold.PurchaseAmount)}, "[1 2 600]")
	expect(t, "of no campaign", b.NoCampaignCounters(1, 0, math.MaxUint32).Purchases, 1)
	decided, found := b.Decision(event.BucketOf(benchNow), [16]byte{1})
	expect(t, "decision", fmt.Sprint(decided, found), "{charged 100 0} true")
}

// An expired record does not count for the maximum of its class, nor as the last record of its class; not after a
// restart either.
func TestExpiredRecordsDoNotCount(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		kv := shardtest.NewKV()
		r := open(t, kv)
		do := func(at int64, x command.Record) command.Refusal {
			x.Kind, x.Marketplace, x.Class, x.Max = command.RecordAPIKey, 1, "management", 2
			return result(t, r.Do(command.AppendPutRecords(nil, at, &command.PutRecords{Records: []command.Record{x}}))).Refusal
		}
		value := []byte("value")
		expect(t, "one", do(benchNow, command.Record{ID: "for ever", Value: value}), command.Done)
		expect(t, "two", do(benchNow, command.Record{ID: "short", Value: value, ExpiresMillis: benchNow + 10}), command.Done)
		expect(t, "full", do(benchNow+9, command.Record{ID: "third", Value: value}), command.TooMany)
		if restarted {
			r = open(t, kv)
		}
		expect(t, "the last that works", do(benchNow+10, command.Record{ID: "for ever", NotLast: true, Expect: command.Any}), command.WrongState)
		expect(t, "room again", do(benchNow+10, command.Record{ID: "third", Value: value}), command.Done)
		expect(t, "full again", do(benchNow+11, command.Record{ID: "fourth", Value: value}), command.TooMany)
		_, found := r.Queries().Record(command.RecordAPIKey, 1, "short")
		expect(t, "the expired one is gone", found, false)
		_, told := r.Feed.Current["record 1 1 short"]
		expect(t, "auctions' side", told, false)
		expect(t, "no longer the last", do(benchNow+12, command.Record{ID: "for ever", NotLast: true, Expect: command.Any}), command.Done)
	}
}

func TestRecordsAndSecretsAreKept(t *testing.T) {
	r := open(t, shardtest.NewKV())
	key := command.Record{Kind: command.RecordAPIKey, Marketplace: 1, ID: "k1", Value: []byte("one"), Class: "management", Expect: 0}
	r.Do(command.AppendBootstrap(nil, benchNow, &command.Bootstrap{
		Marketplace: model.Marketplace{Ordinal: 1, ID: ids.UUID{4}, Name: "shop"},
		Secrets:     command.Secrets{Cursor: [32]byte{5}}, Keys: []command.Record{key},
	}))
	b := r.Queries()
	s, found := b.Secrets()
	expect(t, "secrets", fmt.Sprint(s.Cursor[0], found), "5 true")
	m, found := b.Marketplace(1)
	expect(t, "marketplace", fmt.Sprint(m.Name, " ", found, len(b.Marketplaces())), "shop true 1")
	first, _ := b.Record(command.RecordAPIKey, 1, "k1")

	put := func(change func(r *command.Record)) command.Refusal {
		x := key
		change(&x)
		return result(t, r.Do(command.AppendPutRecords(nil, benchNow, &command.PutRecords{Records: []command.Record{x}}))).Refusal
	}
	expect(t, "taken", put(func(*command.Record) {}), command.AlreadyExists)
	expect(t, "another version", put(func(x *command.Record) { x.Expect = 99 }), command.Conflict)
	expect(t, "the version seen", put(func(x *command.Record) { x.Expect = first.Version }), command.Done)
	expect(t, "which is now an old one", put(func(x *command.Record) { x.Expect = first.Version }), command.Conflict)
	expect(t, "unknown", put(func(x *command.Record) { x.ID, x.Expect = "k2", 1 }), command.NotFound)
	expect(t, "too many", put(func(x *command.Record) { x.ID, x.Max = "k2", 1 }), command.TooMany)
	expect(t, "the last", put(func(x *command.Record) { x.Value, x.NotLast, x.Expect = nil, true, command.Any }), command.WrongState)
	expect(t, "a second", put(func(x *command.Record) { x.ID, x.Max = "k2", 2 }), command.Done)
	expect(t, "no longer the last", put(func(x *command.Record) { x.Value, x.NotLast, x.Expect = nil, true, command.Any }), command.Done)
	left, more := b.Records(command.RecordAPIKey, 1, "", 10)
	expect(t, "left", fmt.Sprint(left[0].ID, " ", len(left), more), "k2 1 false")
	expect(t, "auctions' side", r.Feed.Current["record 1 1 k2"], "one")
}
