package store_test

import (
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// measured are the users of a campaign with a holdout of half of them.
type measured struct {
	*shopping
	users [market.Arms][]uint64
}

func newMeasured(t *testing.T) *measured {
	t.Helper()
	w := &measured{shopping: newShopping(t)}
	c := &w.campaigns[0]
	c.HoldoutPercent = 50
	patch := command.PatchCampaign{Campaign: c.ID, Marketplace: managetest.Main, HoldoutPercent: &c.HoldoutPercent}
	propose(t, w.Environment, command.AppendPatchCampaign(nil, w.Now().UnixMilli(), &patch), c.Group)
	holdout := market.HoldoutOf(c)
	for user := uint64(100); user < 140; user++ {
		arm := holdout.Arm(user)
		w.users[arm] = append(w.users[arm], user)
	}
	return w
}

// enrol enrols users now.
func (w *measured) enrol(users ...uint64) {
	w.t.Helper()
	x := command.EnrolUsers{}
	for _, user := range users {
		x.Users = append(x.Users, command.Enrolment{Campaign: w.campaigns[0].Ordinal, Percent: 50, User: user, Millis: w.Now().UnixMilli()})
	}
	propose(w.t, w.Environment, command.AppendEnrolUsers(nil, w.Now().UnixMilli(), &x), w.campaigns[0].Group)
}

func (w *measured) compare(days int) store.Incrementality {
	w.t.Helper()
	x, err := w.Store.Tenant(managetest.Main).Incrementality(w.t.Context(), w.campaigns[0].ID, w.lastDays(days))
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

// What enrolled users buy of the campaign's vendor, and of its products, in the window after their enrolment counts for
// their arm, whether or not they saw an ad; nothing else does.
func TestIncrementalityCountsPurchasesAfterEnrolment(t *testing.T) {
	w := newMeasured(t)
	shown, held := w.users[market.Shown], w.users[market.HeldOut]
	if min(len(shown), len(held)) < 6 {
		t.Fatalf("of 40 users %d are shown and %d are held out", len(shown), len(held))
	}
	w.buys(shown[0], "p0", "") // Before.
	w.enrol(shown[0], shown[1], shown[2], held[0], held[1])
	w.buys(shown[1], "p0", "")      // The target of a bid.
	w.buys(shown[1], "other", "v0") // The vendor.
	w.buys(shown[2], "p1", "v1")    // Another vendor's.
	w.buys(held[0], "other", "v0")
	w.buys(held[3], "p0", "v0")   // Not enrolled.
	w.Advance(8 * 24 * time.Hour) // The window of a listing is over.
	w.buys(held[1], "p0", "v0")
	got := w.compare(12)
	micros := float64(6 * money.PerMajor)
	want := store.Incrementality{Percent: 50, WindowDays: 7}
	want.Arms[market.Shown] = store.ArmSum{Users: 3, Buyers: 1, Purchases: 2, Quantity: 4, Amount: 2 * micros, Squares: 4 * micros * micros}
	want.Arms[market.HeldOut] = store.ArmSum{Users: 2, Buyers: 1, Purchases: 1, Quantity: 2, Amount: micros, Squares: micros * micros}
	if got != want {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

// A user belongs to the day of the first enrolment, whatever follows.
func TestUsersAreEnrolledOnce(t *testing.T) {
	w := newMeasured(t)
	user := w.users[market.Shown][0]
	w.enrol(user)
	w.Advance(3 * 24 * time.Hour)
	w.enrol(user, w.users[market.HeldOut][0])
	w.credit(0, w.data()...) // The clocks of the other groups.
	if x := w.compare(2); x.Arms[market.Shown].Users != 0 || x.Arms[market.HeldOut].Users != 1 || x.Open != 1 {
		t.Errorf("of the last two days: %+v", x)
	}
	if x := w.compare(5); x.Arms[market.Shown].Users != 1 || x.Arms[market.HeldOut].Users != 1 || x.Open != 2 {
		t.Errorf("of five days: %+v", x)
	}
}
