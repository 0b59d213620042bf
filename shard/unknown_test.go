package shard_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// invented returns a purchase at a time of products that are not in the catalog.
func invented(id byte, at int64, products ...string) command.EventRecord {
	r := bought(id, uint32(at/900_000), products...)
	r.OccurredMillis, r.Bucket = at, event.BucketOf(at)
	for i := range r.Items {
		r.Items[i].Unknown = true
	}
	return r
}

// Up to the maximum, unknown products of a marketplace and day are counted separately, and all further ones as one
// product. Restarts, snapshots and batches make no difference. Products of the catalog are not bounded, and no purchase
// is lost.
func TestUnknownProductsAreBounded(t *testing.T) {
	const day = 24 * 3_600_000
	r := openFew(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNewest))
	sold := func(marketplace uint16) (text string) {
		r.Queries().ProductsSold(marketplace, 0, math.MaxUint32, func(product string, c *shard.CellCounters) {
			text += fmt.Sprintf("%s:%d ", product, c.Purchases)
		})
		return text
	}
	report(t, r, benchNow, invented(1, benchNow, "a", "b", "c"), bought(2, uint32(benchNow/900_000), "known", "more"))
	expect(t, "the third of three", sold(1), "a:1 b:1 more:1 known:1 other:1 ")
	r = openFew(t, r.KV.Copy())
	report(t, r, benchNow, invented(3, benchNow, "b", "d", "e"))
	expect(t, "after a restart", sold(1), "a:1 b:2 more:1 known:1 other:3 ")
	report(t, r, benchNow, invented(4, benchNow-day, "d", "a"))
	expect(t, "of the day before", r.Queries().ProductCounters(1, "d", 0, math.MaxUint32).Purchases, int64(1))
	expect(t, "purchases of no campaign", r.Queries().NoCampaignCounters(1, 0, math.MaxUint32).Purchases, int64(4))
	total := int64(0)
	r.Queries().ProductsSold(1, 0, math.MaxUint32, func(_ string, c *shard.CellCounters) { total += c.Purchases })
	expect(t, "items", total, int64(3+2+3+2))

	// The memory of a day is dropped when its events are no longer counted; the counters stay.
	before := r.KV.Len()
	later := benchNow + event.CountMillis + 2*int64(day)
	r.Do(command.AppendAdvance(nil, later, &command.Advance{}))
	again := openFew(t, r.KV)
	expect(t, "digest after a restart", again.Machine.Digest(), r.Machine.Digest())
	if gone := before - r.KV.Len(); gone < 4 {
		t.Errorf("%d records were dropped, of 4 unknown products and their events", gone)
	}
	expect(t, "still counted", r.Queries().ProductCounters(1, "b", 0, math.MaxUint32).Purchases, int64(2))
}

// When the maximum of a day is reached, an invented product is counted without a read, so that a client that invents products
// does not make Apply slow. The filter that decides it is built from the state after a restart, and finds what it must find.
func TestInventedProductsAreNotLookedUp(t *testing.T) {
	const invents = 500
	r := openFew(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNewest))
	report(t, r, benchNow, invented(1, benchNow, "a", "b"))
	r = openFew(t, r.KV.Copy())
	reads := func(prefix string, purchase byte) int {
		before := r.KV.Gets
		products := make([]string, 0, invents)
		for i := range cap(products) {
			products = append(products, fmt.Sprintf("%s%d", prefix, i))
		}
		for part := range slices.Chunk(products, 50) {
			report(t, r, benchNow, invented(purchase, benchNow, part...))
			purchase++
		}
		return r.KV.Gets - before
	}
	first := reads("x", 2)
	known := r.Queries().ProductCounters(1, shard.OtherProduct, 0, math.MaxUint32).Purchases
	if known != invents {
		t.Errorf("%d purchases of %q, want %d", known, shard.OtherProduct, invents)
	}
	// A purchase reads a few records of its own; a look-up for each product would be 500 more.
	if first > invents/2 {
		t.Errorf("%d invented products were counted with %d reads", invents, first)
	}
	report(t, r, benchNow, invented(100, benchNow, "a", "b"))
	for _, product := range []string{"a", "b"} {
		expect(t, product, r.Queries().ProductCounters(1, product, 0, math.MaxUint32).Purchases, int64(2))
	}
}

// TestIDFilter checks that every added key may be contained, and that few others may.
func TestIDFilter(t *testing.T) {
	mistakes := shard.FilterMistakes(t, shard.UnknownProductsMax, 100_000)
	if mistakes > 500 {
		t.Errorf("%d of 100,000 absent keys may be contained, want at most 1 of 200", mistakes)
	}
}

// Below the level a command with unknown products is refused, and the old encoding counts all of them.
func TestUnknownProductsNeedTheirLevel(t *testing.T) {
	r := openFew(t, shardtest.NewKV())
	cmd := command.AppendEvents(nil, benchNow, &command.Events{Marketplace: 1, Records: []command.EventRecord{invented(1, benchNow, "a")}})
	if needs, known := command.Needs(cmd); needs != command.LevelProducts || !known {
		t.Errorf("it needs level %d", needs)
	}
	expect(t, "refused", result(t, r.Do(cmd)).Refusal, command.TooEarly)
	report(t, r, benchNow, bought(2, uint32(benchNow/900_000), "a", "b", "c", "d"))
	expect(t, "the fourth", r.Queries().ProductCounters(1, "d", 0, math.MaxUint32).Purchases, int64(1))
}
