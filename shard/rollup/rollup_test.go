package rollup

import (
	"slices"
	"testing"

	"github.com/gavel-ads/gavel/shard/money"
)

func TestCountersReadBack(t *testing.T) {
	for _, want := range []Counters{
		{},
		{Impressions: 1},
		{Impressions: 1, ChargedImpressions: 2, SpentImpressions: 3, Clicks: 4, ChargedClicks: 5, SpentClicks: 6, Purchases: 7, PurchaseQuantity: -8, PurchaseAmount: money.MaxMicros, Pageviews: 9, Overdelivery: 10},
		{Attributed: Sales{1, 2, 3}, Halo: Sales{4, 5, 6}, Viewed: Sales{7, 8, 9}, ChargedPurchases: 10, SpentPurchases: 11},
		{Clicks: 1, Invalid: [InvalidReasons]int64{ByUserDay: 2}},
		{SpentPurchases: 1, Invalid: [InvalidReasons]int64{1, 2, 3, 4, 5, 6}},
	} {
		stored := want.AppendTo(nil)
		var got Counters
		got.Clicks = 99
		if err := got.Decode(stored); err != nil || got != want {
			t.Errorf("%+v came back as %+v, %v", want, got, err)
		}
	}
	var c Counters
	if c.Decode([]byte{0x80}) == nil || c.Decode(make([]byte, 29)) == nil {
		t.Error("damaged counters were read")
	}
}

// Invalid clicks are the last counters of the stored form, so that cells without any are stored as before.
func TestInvalidClicksAreStoredLast(t *testing.T) {
	c := Counters{Clicks: 4, SpentPurchases: 5}
	before := c.AppendTo(nil)
	c.Invalid[TooSoon] = 1
	c.Add(&Counters{Invalid: [InvalidReasons]int64{TooSoon: 1, Repeated: 3}})
	if got := c.InvalidClicks(); got != 5 || c.Clicks != 4 {
		t.Errorf("%d invalid clicks, %d others", got, c.Clicks)
	}
	after := c.AppendTo(nil)
	if want := slices.Concat(before, []byte{4, 0, 6}); string(after) != string(want) {
		t.Errorf("stored as %x, want %x", after, want)
	}
	c.Invalid[ByUserDay] = -1
	if c.IsConsistent() {
		t.Error("a negative counter is consistent")
	}
}

func TestPurchaseSaturates(t *testing.T) {
	var c Counters
	c.Purchase(3, 100)
	c.Purchase(-1, 100)
	if c.PurchaseQuantity != 2 || c.PurchaseAmount != 200 {
		t.Errorf("two of 100: %+v", c)
	}
	c.Purchase(1<<62, money.MaxMicros)
	c.Purchase(1<<62, money.MaxMicros)
	if c.PurchaseAmount != money.MaxMicros || c.PurchaseQuantity != int64(money.MaxMicros) {
		t.Errorf("more than there is: %+v", c)
	}
}

// A sum over cells saturates as a counter does, so that a report shows no negative sales.
func TestSumsOfSalesSaturate(t *testing.T) {
	var sum Counters
	for range 3 {
		sum.Add(&Counters{PurchaseQuantity: int64(money.MaxMicros), PurchaseAmount: money.MaxMicros})
	}
	if sum.PurchaseQuantity != int64(money.MaxMicros) || sum.PurchaseAmount != money.MaxMicros {
		t.Errorf("three full counters: %+v", sum)
	}
}
