package store_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// spectators report touches and purchases of users, and counts the different ones naively.
type spectators struct {
	*shopping
	tenant    store.Tenant
	touches   []seenAd
	purchases []boughtBy
	found     int64 // Buyers that were compared.
}

// seenAd is a touch that was reported.
type seenAd struct {
	user      uint64
	campaign  int
	placement uint8
	device    event.Device
	channel   event.Channel
	kind      event.Kind
	at        time.Time
}

// boughtBy is a purchase that was reported.
type boughtBy struct {
	user uint64
	key  [16]byte
}

func newSpectators(t *testing.T, zone string, from time.Time) *spectators {
	t.Helper()
	w := &spectators{shopping: newShopping(t)}
	w.tenant = w.Store.Tenant(managetest.Main)
	m := w.tenant.Settings()
	m.TimeZone = zone
	m.UpdatedMillis++
	for _, g := range w.Store.Groups.Groups() {
		propose(t, w.Environment, command.AppendPutMarketplace(nil, w.Now().UnixMilli(), &m), g)
	}
	w.Advance(from.Sub(w.Now()))
	return w
}

// eventOf is a record of an event of a user that occurs now.
func (w *spectators) eventOf(kind event.Kind, user uint64) command.EventRecord {
	r := w.record(kind)
	binary.LittleEndian.PutUint32(r.Key[:], uint32(w.events))
	_, offset := w.Now().In(w.tenant.Location()).Zone()
	r.Cell, _ = command.CellOf(w.Now().Unix(), int64(offset))
	r.UserHash = user
	return r
}

func (w *spectators) sees(x seenAd) {
	w.t.Helper()
	x.at = w.Now()
	r := w.eventOf(x.kind, x.user)
	r.Campaign, r.Bid, r.Price, r.Charge = w.campaigns[x.campaign].Ordinal, w.bids[x.campaign].Ordinal, money.PerMajor, model.CPA
	r.Place = event.PlaceOf(x.placement, x.device, x.channel)
	binary.LittleEndian.PutUint32(r.ChargeKey[:], uint32(w.events))
	w.commit(r, w.campaigns[x.campaign].Group)
	w.touches = append(w.touches, x)
}

func (w *spectators) buys(user uint64, products ...int) {
	w.t.Helper()
	r := w.eventOf(event.Purchase, user)
	for _, p := range products {
		r.Items = append(r.Items, command.PurchaseItem{
			ProductID: fmt.Append(nil, "p", p), VendorID: fmt.Append(nil, "v", p), Quantity: 1, UnitPrice: money.PerMajor,
		})
	}
	w.commit(r, w.Store.Groups.GroupOf(ids.Shard(r.Key[0])))
	w.purchases = append(w.purchases, boughtBy{user, r.Key})
}

// erase erases a user from the state and from what is remembered.
func (w *spectators) erase(user uint64) {
	w.t.Helper()
	if err := w.tenant.EraseUser(w.t.Context(), user); err != nil {
		w.t.Fatal(err)
	}
	for i := range w.touches {
		if w.touches[i].user == user {
			w.touches[i].user = 0
		}
	}
	for i := range w.purchases {
		if w.purchases[i].user == user {
			w.purchases[i].user = 0
		}
	}
}

// on reports whether a time is on days of the marketplace.
func (w *spectators) on(at time.Time, d store.Dates) bool {
	date := at.In(w.tenant.Location()).Format(time.DateOnly)
	return date >= d.From && date <= d.To
}

// naive counts the users of some campaigns, and of one placement unless it is negative.
func (w *spectators) naive(of func(campaign int) bool, d store.Dates, placement int) (sum store.ReachSum) {
	reached, clicked, bought := map[uint64]bool{}, map[uint64]bool{}, map[uint64]bool{}
	for _, x := range w.touches {
		switch {
		case x.user == 0 || !of(x.campaign) || !w.on(x.at, d) || placement >= 0 && int(x.placement) != placement:
		case x.kind == event.Impression:
			reached[x.user] = true
			sum.Impressions++
		default:
			clicked[x.user] = true
			sum.Clicks++
		}
	}
	for _, p := range w.purchases {
		for i := range w.campaigns {
			if p.user != 0 && of(i) && w.credited(p.key, i, d, placement) {
				bought[p.user] = true
			}
		}
	}
	sum.Reached, sum.Clicked, sum.Bought = int64(len(reached)), int64(len(clicked)), int64(len(bought))
	return sum
}

// credited reports whether an item of a purchase was credited to a campaign.
func (w *spectators) credited(key [16]byte, campaign int, d store.Dates, placement int) (found bool) {
	c := &w.campaigns[campaign]
	_ = w.Store.Groups.Read(c.Group, func(r shard.Reader) error { // The groups of the tests can be read.
		today := uint32(w.Now().Unix() / 86_400)
		for _, x := range (shard.Queries{R: r}).CreditsOf(key, today-89, today) {
			at := time.Unix(int64(x.Cell)*900, 0)
			found = found || x.Campaign == c.Ordinal && w.on(at, d) && (placement < 0 || int(x.Place.Placement()) == placement)
		}
		return nil
	})
	return found
}

// compare compares what is counted with the naive count, for all subjects and some bounds.
func (w *spectators) compare(d store.Dates) {
	w.t.Helper()
	w.subject("marketplace", store.ReachOf{}, func(int) bool { return true }, d)
	for i := range w.campaigns {
		only := func(campaign int) bool { return campaign == i }
		w.subject(fmt.Sprint("campaign ", i), store.ReachOf{Campaign: w.campaigns[i].ID}, only, d)
		w.subject(fmt.Sprint("vendor ", i), store.ReachOf{VendorID: w.campaigns[i].VendorID}, only, d)
	}
}

func (w *spectators) subject(name string, of store.ReachOf, includes func(int) bool, d store.Dates) {
	w.t.Helper()
	want := store.Reach{ReachSum: w.naive(includes, d, -1), BuyersKept: true}
	for placement := range 9 {
		want.ByPlacement[placement] = w.naive(includes, d, placement)
	}
	for _, most := range []int{1, 5, 1 << 20} {
		got, err := w.tenant.ReachWithin(w.t.Context(), of, d, most)
		if err != nil {
			w.t.Fatal(err)
		}
		w.found += got.Bought
		if got != want {
			w.t.Fatalf("%s on %v, %d users at a time: %+v, want %+v;\nby placement %+v,\nwant %+v", name, d, most, got.ReachSum,
				want.ReachSum, got.ByPlacement[:9], want.ByPlacement[:9])
		}
	}
}

// Whatever users do in whatever order, the counts are those of a naive count of what was reported: at each change of the
// clocks of several zones, after erasures, and however few users are remembered at a time.
func TestReachIsTheNaiveCount(t *testing.T) {
	for _, x := range []struct {
		zone string
		from time.Time
	}{
		{"UTC", managetest.Start},
		{"Asia/Kolkata", managetest.Start},
		{"Europe/Berlin", time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)},     // Set forward on the 29th.
		{"Europe/Berlin", time.Date(2026, 10, 23, 12, 0, 0, 0, time.UTC)},    // Set back on the 25th.
		{"Australia/Lord_Howe", time.Date(2026, 4, 3, 6, 0, 0, 0, time.UTC)}, // Set back by half an hour on the 5th.
	} {
		t.Run(x.zone+x.from.Format("/01"), func(t *testing.T) {
			t.Parallel()
			w := newSpectators(t, x.zone, x.from)
			random := rand.New(rand.NewPCG(1, uint64(x.from.Unix())))
			users := []uint64{1, 2, 3, math.MaxUint64, math.MaxUint64 - 1, 1 << 63, 1<<63 - 1}
			for len(users) < 12 {
				users = append(users, random.Uint64())
			}
			for range 120 {
				w.step(random, users)
			}
			w.credit(6*time.Second, w.data()...)
			w.credit(time.Second, w.data()...)
			for range 6 {
				from := random.IntN(9)
				w.compare(store.Dates{From: w.day(-from).From, To: w.day(-random.IntN(from + 1)).To})
			}
			if w.found == 0 {
				t.Error("nobody has bought")
			}
		})
	}
}

func (w *spectators) step(random *rand.Rand, users []uint64) {
	user := users[random.IntN(len(users))]
	switch n := random.IntN(40); {
	case n == 0:
		w.erase(user)
	case n < 8:
		w.buys(user, random.IntN(6), random.IntN(6))
		w.credit(6*time.Second, w.data()...)
	default:
		kind := event.Impression
		if n < 16 {
			kind = event.Click
		}
		w.sees(seenAd{user: user, campaign: random.IntN(6), placement: uint8(random.IntN(9)), kind: kind})
	}
	w.Advance(time.Duration(random.IntN(180)) * time.Minute)
}
