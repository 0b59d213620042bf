package store_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Whatever the dimension, the rows of a campaign add up to its report, and those of all campaigns to the rows of the marketplace.
func TestBreakdownsAddUp(t *testing.T) {
	w := newSpectators(t, "UTC", managetest.Start)
	random := rand.New(rand.NewPCG(3, 5))
	for range 200 {
		w.sees(seenAd{
			user: random.Uint64N(9), campaign: random.IntN(len(w.campaigns)), kind: event.Kind(random.IntN(2)),
			placement: uint8(random.IntN(4)), device: event.Device(random.IntN(event.Devices)), channel: event.Channel(random.IntN(event.Channels)),
		})
	}
	days := w.lastDays(1)
	for by := store.ByPlacement; by <= store.ByFormat; by++ {
		all := map[string]rollup.Counters{}
		for i := range w.campaigns {
			rows, err := w.tenant.CampaignBreakdown(t.Context(), w.campaigns[i].ID, days, by)
			if err != nil {
				t.Fatal(err)
			}
			var sum rollup.Counters
			for _, row := range rows {
				sum.Add(&row.Counters)
				value := all[row.Value]
				value.Add(&row.Counters)
				all[row.Value] = value
			}
			if want, err := w.tenant.CampaignReport(t.Context(), w.campaigns[i].ID, days); err != nil || sum != want || sum.Clicks == 0 {
				t.Errorf("dimension %d of campaign %d: %+v, want %+v; %v", by, i, sum, want, err)
			}
		}
		rows, err := w.tenant.VendorBreakdown(t.Context(), "", days, by)
		if err != nil || len(rows) != len(all) || by <= store.ByChannel && len(all) < 3 {
			t.Errorf("dimension %d: %d rows, want %d; %v", by, len(rows), len(all), err)
		}
		for _, row := range rows {
			if row.Counters != all[row.Value] {
				t.Errorf("dimension %d: %q is %+v, want %+v", by, row.Value, row.Counters, all[row.Value])
			}
		}
	}
}

// More values than a breakdown may have are an error, and not a part of them that looks like all.
func TestBreakdownsAreBounded(t *testing.T) {
	w := newSpectators(t, "UTC", managetest.Start)
	for placement := range uint8(4) {
		w.sees(seenAd{user: 1, kind: event.Click, placement: placement})
	}
	if rows, err := w.tenant.BreakdownWithin(t.Context(), w.lastDays(1), store.ByPlacement, 4); err != nil || len(rows) != 4 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if rows, err := w.tenant.BreakdownWithin(t.Context(), w.lastDays(1), store.ByPlacement, 3); !errors.Is(err, store.ErrTooMany) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}
