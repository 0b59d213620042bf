package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// A user whom campaigns of several groups have reached is one user of the marketplace.
func TestUsersOfSeveralGroupsCountOnce(t *testing.T) {
	w := newSpectators(t, "UTC", managetest.Start)
	groups := map[ids.Group]bool{}
	for i := range w.campaigns {
		w.sees(seenAd{user: 9, campaign: i, kind: event.Impression})
		groups[w.campaigns[i].Group] = true
	}
	w.Advance(24 * time.Hour)
	w.sees(seenAd{user: 9, campaign: 0, kind: event.Impression})
	got, err := w.tenant.Reach(t.Context(), store.ReachOf{}, w.lastDays(2))
	if want := (store.ReachSum{Reached: 1, Impressions: 7}); err != nil || got.ReachSum != want || len(groups) < 2 {
		t.Errorf("in %d groups: %+v, want %+v; %v", len(groups), got.ReachSum, want, err)
	}
}

// The days of a marketplace begin and end at its midnight, also on the days of 23 and of 25 hours.
func TestReachEndsAtMidnight(t *testing.T) {
	for _, day := range []string{"2026-03-29", "2026-10-25"} {
		zone, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		from, err := time.ParseInLocation(time.DateOnly, day, zone)
		if err != nil {
			t.Fatal(err)
		}
		w := newSpectators(t, "Europe/Berlin", from.Add(-time.Millisecond))
		for i, at := range []time.Time{from.Add(-time.Millisecond), from, from.AddDate(0, 0, 1).Add(-time.Millisecond), from.AddDate(0, 0, 1)} {
			w.Advance(at.Sub(w.Now()))
			w.sees(seenAd{user: uint64(1 + i), kind: event.Impression})
		}
		got, err := w.tenant.Reach(t.Context(), store.ReachOf{Campaign: w.campaigns[0].ID}, store.Dates{From: day, To: day})
		if want := (store.ReachSum{Reached: 2, Impressions: 2}); err != nil || got.ReachSum != want {
			t.Errorf("%s: %+v, want %+v; %v", day, got.ReachSum, want, err)
		}
	}
}

// The first day is one that is kept as a whole: no day that began before the first kept UTC day, and none that was kept
// shorter before.
func TestReachFirstDay(t *testing.T) {
	w := newSpectators(t, "Asia/Kolkata", managetest.Start) // 15:00 on 2026-03-17.
	first := func(why, want string, days int) {
		t.Helper()
		got, kept, err := w.tenant.ReachFirstDay()
		if err != nil || got != want || kept != days {
			t.Errorf("%s: from %s, %d days, %v; want %s, %d days", why, got, kept, err, want, days)
		}
	}
	set := func(days uint8) {
		t.Helper()
		_, err := w.tenant.ChangeSettings(t.Context(), func(m *model.Marketplace) error {
			m.TouchDays = days
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		w.credit(time.Second, w.Store.Groups.Groups()...)
	}
	first("all days", "2025-12-19", 90) // 2025-12-18 began before that UTC day.
	set(32)
	first("32 days", "2026-02-15", 32)
	set(90)
	first("90 days again", "2026-02-15", 90)
	w.Advance(24 * time.Hour)
	first("a day later", "2026-02-15", 90)
}

// Purchases are kept for fewer days than touches: of earlier days nobody knows the buyers.
func TestBuyersOfEarlyDaysAreUnknown(t *testing.T) {
	w := newSpectators(t, "UTC", managetest.Start)
	w.sees(seenAd{user: 1, kind: event.Click})
	w.Advance(time.Hour)
	w.buys(1, 0)
	w.credit(6*time.Second, w.data()...)
	days := w.day(0)
	for _, x := range []struct {
		forward int
		kept    bool
		bought  int64
	}{{0, true, 1}, {61, true, 1}, {1, false, 0}} {
		w.credit(time.Duration(x.forward)*24*time.Hour, w.data()...)
		got, err := w.tenant.Reach(t.Context(), store.ReachOf{VendorID: "v0"}, days)
		if err != nil || got.BuyersKept != x.kept || got.Bought != x.bought || got.Clicked != 1 {
			t.Errorf("%d days later: %+v, %v", x.forward, got.ReachSum, err)
		}
	}
}

// A purchase that came back has no buyer.
func TestReturnedPurchasesHaveNoBuyers(t *testing.T) {
	w := newSpectators(t, "UTC", managetest.Start)
	w.sees(seenAd{user: 1, kind: event.Click})
	w.buys(1, 0)
	w.credit(6*time.Second, w.data()...)
	bought := func(want int64) {
		t.Helper()
		got, err := w.tenant.Reach(t.Context(), store.ReachOf{Campaign: w.campaigns[0].ID}, w.day(0))
		if err != nil || got.Bought != want {
			t.Errorf("%d buyers, want %d; %v", got.Bought, want, err)
		}
	}
	bought(1)
	w.giveBack(w.purchases[0].key, 0, 1)
	w.carryOut()
	bought(0)
}

// A user with as many touches of a day as are kept makes the count doubtful.
func TestReachSaysWhenTouchesAreLeftOut(t *testing.T) {
	w := newSpectators(t, "UTC", managetest.Start)
	see := func(n int) store.Reach {
		t.Helper()
		for range n {
			w.sees(seenAd{user: 1, kind: event.Impression})
		}
		got, err := w.tenant.Reach(t.Context(), store.ReachOf{}, w.day(0))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := see(shard.TouchesMax - 1); got.Full || got.Impressions != shard.TouchesMax-1 {
		t.Errorf("one less than are kept: %+v, full %v", got.ReachSum, got.Full)
	}
	if got := see(2); !got.Full || got.Impressions != shard.TouchesMax || got.Reached != 1 {
		t.Errorf("more than are kept: %+v, full %v", got.ReachSum, got.Full)
	}
}

// A count whose client has disconnected reads nothing more; unknown campaigns and vendors are not found.
func TestReachStops(t *testing.T) {
	w := newSpectators(t, "UTC", managetest.Start)
	for user := range uint64(40) {
		w.sees(seenAd{user: 1 + user, kind: event.Impression})
	}
	c := &counting{groups: w.Store.Groups}
	w.Store.Groups = c
	for _, stop := range []int{5, 20, 60} {
		ctx, cancel := context.WithCancel(t.Context())
		c.records, c.stop, c.cancel = 0, stop, cancel
		_, err := w.tenant.ReachWithin(ctx, store.ReachOf{}, w.day(0), 10)
		if more := c.records - stop; !errors.Is(err, context.Canceled) || more < 0 || more > 10 {
			t.Errorf("%v, %d records after the end", err, more)
		}
		cancel()
	}
	for _, of := range []store.ReachOf{{Campaign: ids.UUID{1}}, {VendorID: "nobody"}} {
		if _, err := w.tenant.Reach(t.Context(), of, w.day(0)); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%+v: %v, want ErrNotFound", of, err)
		}
	}
}

// Buyers who have seen no ad themselves, because a user who is linked to them has, count once each, also when their range
// has to be shortened while they are read.
func TestLinkedBuyersCountOnce(t *testing.T) {
	w := newSpectators(t, "UTC", managetest.Start)
	w.sees(seenAd{user: 1, kind: event.Click})
	const buyers = shard.LinksMax
	for i := range uint64(buyers) {
		user := (i + 1) << 59 // Over nearly all of the range of hashes.
		w.link(1, user)
		w.Advance(time.Second)
		w.buys(user, 0)
	}
	w.credit(6*time.Second, w.data()...)
	w.credit(time.Minute, w.data()...)
	want := store.ReachSum{Clicked: 1, Clicks: 1, Bought: buyers}
	for _, most := range []int{1, 5, 16, 1 << 20} {
		got, err := w.tenant.ReachWithin(t.Context(), store.ReachOf{Campaign: w.campaigns[0].ID}, w.day(0), most)
		if err != nil || got.ReachSum != want || got.ByPlacement[0] != want {
			t.Errorf("%d at a time: %+v, want %+v; %v", most, got.ReachSum, want, err)
		}
	}
}
