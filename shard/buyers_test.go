package shard_test

import (
	"testing"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

const someBuyer = 0xb0_0b

// purchaseOf reports a purchase of two products, each of its own vendor, and returns its name.
func purchaseOf(r *shardtest.Replica, n byte, now int64) command.PurchaseName {
	e := command.EventRecord{
		Key: [16]byte{n}, Kind: event.Purchase, OccurredMillis: now, Bucket: event.BucketOf(now), Cell: event.BucketOf(now) * 4, UserHash: someBuyer,
		Items: []command.PurchaseItem{
			{ProductID: []byte("p1"), VendorID: []byte("v1"), Quantity: 2, UnitPrice: 100}, {ProductID: []byte("p2"), VendorID: []byte("v2"), Quantity: 1, UnitPrice: 100},
		},
	}
	r.Do(command.AppendEvents(nil, now, &command.Events{Marketplace: 1, Records: []command.EventRecord{e}}))
	return command.PurchaseName{OpenedMillis: now, Key: e.Key}
}

// decideNothing credits a purchase to nobody, by the rules of amazon.
func decideNothing(r *shardtest.Replica, name command.PurchaseName) {
	d := command.CreditDecision{Purchase: name, Attribution: model.AttributionAmazon}
	r.Do(command.AppendDecideCredits(nil, name.OpenedMillis, &command.DecideCredits{Decisions: []command.CreditDecision{d}}))
}

// A purchase says who bought, from whom, and by which rules it was credited, once that is decided: also when nobody got a
// credit. An erased user is taken out, and the purchase can still be returned.
func TestBuyersAreKeptWithDecidedPurchases(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelModels))
	buyer := func(why string, name command.PurchaseName, want uint64, rules model.Attribution, vendor string) {
		t.Helper()
		p, found := r.Queries().Purchase(&name)
		expect(t, why+": found", found, true)
		expect(t, why+": buyer", p.Buyer, want)
		expect(t, why+": rules", p.Attribution, rules)
		expect(t, why+": vendor", p.Items[0].VendorID, vendor)
		check(t, r.Queries().Verify())
	}
	one, two := purchaseOf(r, 1, benchNow), purchaseOf(r, 2, benchNow+1)
	buyer("before the decision", one, 0, 0, "")
	decideNothing(r, one)
	decideNothing(r, two)
	buyer("decided", one, someBuyer, model.AttributionAmazon, "v1")
	r = open(t, r.KV)
	buyer("after a restart", two, someBuyer, model.AttributionAmazon, "v1")
	for _, user := range []uint64{someBuyer + 1, someBuyer} {
		buyer("another user was erased", two, someBuyer, model.AttributionAmazon, "v1")
		r.Do(command.AppendForgetUser(nil, benchNow+2, &command.ForgetUser{Marketplace: 1, User: user}))
	}
	buyer("erased", one, 0, 0, "")
	buyer("erased", two, 0, 0, "")
	returned := command.EventRecord{
		Key: [16]byte{3}, Kind: event.Purchase, OccurredMillis: benchNow + 2, Bucket: event.BucketOf(benchNow), Cell: event.BucketOf(benchNow) * 4, ReturnOf: one.Key,
		Items: []command.PurchaseItem{{ProductID: []byte("p1"), Quantity: 1}},
	}
	r.Do(command.AppendEvents(nil, benchNow+2, &command.Events{Marketplace: 1, Records: []command.EventRecord{returned}}))
	p, _ := r.Queries().Purchase(&one)
	expect(t, "pieces that came back", p.Items[0].Returned, 1)
}

// Below the level a decision leaves the purchase as it was, so that nodes of the version before have the same state.
func TestNoBuyersBelowTheLevel(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelModels - 1))
	name := purchaseOf(r, 1, benchNow)
	d := command.CreditDecision{Purchase: name}
	r.Do(command.AppendDecideCredits(nil, benchNow, &command.DecideCredits{Decisions: []command.CreditDecision{d}}))
	p, _ := r.Queries().Purchase(&name)
	expect(t, "buyer", p.Buyer, 0)
	expect(t, "vendor", p.Items[0].VendorID, "")
}

// A marketplace that keeps its touches for fewer days loses the buyers of older purchases with them, a bounded number with each
// Advance; the purchases stay.
func TestBuyersAreKeptForTheDaysOfTouches(t *testing.T) {
	r := openRetention(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelModels))
	r.Do(command.AppendPutMarketplace(nil, benchNow, &model.Marketplace{Ordinal: 1}))
	var names []command.PurchaseName
	for n := range byte(5) {
		names = append(names, purchaseOf(r, n+1, benchNow+int64(n)))
		decideNothing(r, names[n])
	}
	now := int64(benchNow + 16*day)
	r.Do(command.AppendPutMarketplace(nil, now, &model.Marketplace{Ordinal: 1, TouchDays: 16}))
	for _, want := range []int{3, 1, 0, 0} {
		r.Do(command.AppendAdvance(nil, now, &command.Advance{}))
		left, found := 0, 0
		for i := range names {
			p, has := r.Queries().Purchase(&names[i])
			if has {
				found++
			}
			if p.Buyer != 0 {
				left++
			}
		}
		expect(t, "buyers", left, want)
		expect(t, "purchases", found, len(names))
	}
	late := purchaseOf(r, 9, now)
	r.Do(command.AppendPutMarketplace(nil, now, &model.Marketplace{Ordinal: 1, TouchDays: 2}))
	r.Do(command.AppendAdvance(nil, now+3*day, &command.Advance{}))
	d := command.CreditDecision{Purchase: late}
	r.Do(command.AppendDecideCredits(nil, now+3*day, &command.DecideCredits{Decisions: []command.CreditDecision{d}}))
	p, _ := r.Queries().Purchase(&late)
	expect(t, "the buyer of a purchase that is decided too late", p.Buyer, 0)
	check(t, r.Queries().Verify())
}

// Pages of the purchases of a day name every purchase of a marketplace once, whatever their size.
func TestPurchasesOfADayInPages(t *testing.T) {
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelModels))
	for n := range byte(9) {
		purchaseOf(r, n+1, benchNow+int64(n))
	}
	decideNothing(r, command.PurchaseName{OpenedMillis: benchNow, Key: [16]byte{1}})
	for _, limit := range []int{1, 2, 9, 10} {
		var all []shard.StoredPurchase
		for after, more := (*[16]byte)(nil), true; more; {
			var some []shard.StoredPurchase
			some, after = r.Queries().PurchasesOn(1, uint32(benchNow/day), after, limit, 4)
			all, more = append(all, some...), after != nil
		}
		pending := 0
		for i := range all {
			expect(t, "key", all[i].Name.Key, [16]byte{byte(i + 1)})
			if all[i].Pending {
				pending++
			}
		}
		expect(t, "purchases", len(all), 9)
		expect(t, "purchases that are to be credited", pending, 8)
	}
	none, _ := r.Queries().PurchasesOn(2, uint32(benchNow/day), nil, 9, 99)
	expect(t, "of another marketplace", len(none), 0)
}

// What is stored for it is bounded: 31 bytes that find the purchase of a user, 8 for the user, and the sellers.
func TestBuyersTakeFewBytes(t *testing.T) {
	bytes := func(level command.Level) (n int) {
		r := open(t, shardtest.NewKV())
		r.Do(setFeature(level))
		name := purchaseOf(r, 1, benchNow)
		r.Do(command.AppendDecideCredits(nil, benchNow, &command.DecideCredits{Decisions: []command.CreditDecision{{Purchase: name}}}))
		r.KV.Scan(nil, []byte{0xff}, func(key, value []byte) bool {
			if key[0] == 0x37 || key[0] == 0x46 { // Purchases and buyers.
				n += len(key) + len(value)
			}
			return true
		})
		return n
	}
	const sellers = 2 * (1 + 2) // Two texts of two bytes.
	expect(t, "bytes of a purchase of two items", bytes(command.LevelModels)-bytes(command.LevelModels-1), 31+8+sellers)
}
