package report

import (
	"testing"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// TestOverdeliveryIsReported: what could not be charged is shown, and not as spend.
func TestOverdeliveryIsReported(t *testing.T) {
	n := numbersOf(&rollup.Counters{Clicks: 3, ChargedClicks: 2, SpentClicks: 50_000, Overdelivery: 12_345}, 2)
	if n.Overdelivery != (Overdelivery{1, "1.2345"}) || n.Clicks.AdSpent != 5 {
		t.Errorf("%+v", n)
	}
}

// TestInvalidClicksAreReported: clicks that a rule has caught stand beside the others, and not among them.
func TestInvalidClicksAreReported(t *testing.T) {
	n := numbersOf(&rollup.Counters{Clicks: 3, Invalid: [rollup.InvalidReasons]int64{1, 2, 4, 8, 16, 32}}, 2)
	if n.Invalid != (Invalid{63, 1, 2, 4, 8, 16, 32}) || n.Clicks.Total != 3 {
		t.Errorf("%+v", n)
	}
}

// TestCountByProductIsWholeOrNull: a count that misses purchases would pass for all of them.
func TestCountByProductIsWholeOrNull(t *testing.T) {
	rows := []store.ReportRow{
		{ProductID: "a", Counters: rollup.Counters{Purchases: 2}}, {ProductID: "b"}, {ProductID: "c", Counters: rollup.Counters{Purchases: 1}},
	}
	for count, want := range map[int64]int{0: -1, 2: -1, 3: 2, 4: -1} {
		p := Purchases{Count: count}
		if p.count(rows); want < 0 && p.CountByProduct != nil || want >= 0 && len(p.CountByProduct) != want {
			t.Errorf("of %d purchases: %v", count, p.CountByProduct)
		}
	}
	none := Purchases{}
	if none.count(nil); none.CountByProduct == nil || len(none.CountByProduct) != 0 {
		t.Errorf("of no purchases: %v", none.CountByProduct)
	}
}
