package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// experimenting are the users of a marketplace with an experiment of 40 % of them.
type experimenting struct {
	*shopping
	users [market.Arms][]uint64
}

func newExperimenting(t *testing.T) *experimenting {
	t.Helper()
	w := &experimenting{shopping: newShopping(t)}
	w.change(func(e *model.Experiment, now int64) {
		*e = model.Experiment{Name: "Reserve", Percent: 40, Treatment: model.TreatReserve, ValueMilli: 1_500, StartMillis: now}
	})
	return w
}

// change changes the experiment, and finds out who takes part.
func (w *experimenting) change(to func(e *model.Experiment, now int64)) {
	w.t.Helper()
	settings, err := w.Store.Tenant(managetest.Main).ChangeSettings(w.t.Context(), func(m *model.Marketplace) error {
		to(&m.Experiment, w.Now().UnixMilli())
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.users = [market.Arms][]uint64{}
	arms := market.ArmsOf(&settings)
	for user := uint64(100); user < 140; user++ {
		arm := arms.Arm(user)
		w.users[arm] = append(w.users[arm], user)
	}
	if len(w.users[market.Shown]) < 3 || len(w.users[market.HeldOut]) < 3 || len(w.users[market.Unmeasured]) == 0 {
		w.t.Fatalf("the arms have the users %v", w.users)
	}
}

// touches reports an interaction of a user with the ad of a campaign.
func (w *experimenting) touches(user uint64, kind event.Kind, of int) {
	w.t.Helper()
	r := w.record(kind)
	r.Key, r.UserHash = [16]byte{byte(w.events), byte(user), 4}, user
	r.Campaign, r.Bid, r.Price, r.Charge = w.campaigns[of].Ordinal, w.bids[of].Ordinal, money.PerMajor, model.CPA
	r.ChargeKey = [16]byte{byte(w.events), 5}
	w.commit(r, w.campaigns[of].Group)
}

func (w *experimenting) report() store.Experiment {
	w.t.Helper()
	x, err := w.Store.Tenant(managetest.Main).Experiment(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

// What the users of both arms saw, clicked, were charged for and bought is summed while the experiment runs; what others did
// is not, nor what was before and after.
func TestExperimentSumsBothArms(t *testing.T) {
	w := newExperimenting(t)
	treated, compared, other := w.users[market.HeldOut], w.users[market.Shown], w.users[market.Unmeasured][0]
	w.touches(treated[0], event.Impression, 0)
	w.touches(treated[0], event.Click, 0)
	w.touches(treated[0], event.Click, 3) // In another group.
	w.touches(treated[1], event.Click, 1)
	w.touches(compared[0], event.Click, 2)
	w.touches(other, event.Click, 2)
	w.buys(treated[0], "p0", "v0") // Charged 1.00 for the click.
	w.buys(compared[0], "other", "nobody")
	w.buys(compared[1], "other", "nobody")
	w.buys(other, "p2", "v2")
	w.change(func(e *model.Experiment, now int64) { e.EndMillis = now })
	w.Advance(time.Second)
	w.touches(treated[2], event.Click, 1)
	w.buys(treated[2], "p1", "v1")

	sum := func(each ...float64) (s store.UserSum) {
		for _, x := range each {
			s.Users, s.Total, s.Squares = s.Users+1, s.Total+x, s.Squares+x*x
		}
		return s
	}
	got := w.report()
	const six = 6 * float64(money.PerMajor)
	for arm, want := range map[market.Arm]store.ExperimentArm{
		market.HeldOut: {
			Users: sum(1, 1), Impressions: sum(1), Clicks: sum(2, 1), Spent: sum(float64(money.PerMajor)),
			Buyers: sum(1), Amount: sum(six), Purchases: 1, Quantity: 2,
		},
		market.Shown:      {Users: sum(1), Clicks: sum(1), Buyers: sum(1, 1), Amount: sum(six, six), Purchases: 2, Quantity: 4},
		market.Unmeasured: {},
	} {
		if got.Arms[arm] != want {
			t.Errorf("arm %d:\n%+v, want\n%+v", arm, got.Arms[arm], want)
		}
	}
}

// The next experiment draws its users anew and begins at nothing.
func TestNextExperimentBeginsAnew(t *testing.T) {
	w := newExperimenting(t)
	before := w.users
	for _, user := range before[market.HeldOut] {
		w.touches(user, event.Click, 0)
	}
	w.Advance(time.Second)
	w.change(func(e *model.Experiment, now int64) { e.StartMillis = now })
	if x := w.report(); x.Arms != ([market.Arms]store.ExperimentArm{}) {
		t.Errorf("the next experiment begins with %+v", x.Arms)
	}
	both := 0
	for _, user := range w.users[market.HeldOut] {
		w.touches(user, event.Click, 0)
		if slices.Contains(before[market.HeldOut], user) {
			both++
		}
	}
	if both == 0 || both == len(before[market.HeldOut]) {
		t.Fatalf("the next experiment treats %d of the %d users of the last one, want some of them", both, len(before[market.HeldOut]))
	}
	if x := w.report(); x.Arms[market.HeldOut].Clicks.Total != float64(len(w.users[market.HeldOut])) {
		t.Errorf("after a click of each of %d users the arm has %+v", len(w.users[market.HeldOut]), x.Arms[market.HeldOut].Clicks)
	}
}
