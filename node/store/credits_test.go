package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// shopping is an environment with a campaign of each of several vendors, in all groups, on the product of the same number.
type shopping struct {
	*managetest.Environment
	t         *testing.T
	campaigns []model.Campaign
	bids      []model.Bid
	events    int
}

func newShopping(t *testing.T) *shopping { return newShoppingOf(t, model.Listing) }

// newShoppingOf is newShopping with campaigns of some formats in turn.
func newShoppingOf(t *testing.T, formats ...model.AdFormat) *shopping {
	w := &shopping{Environment: managetest.New(t), t: t}
	for i := range 6 {
		c := campaign(fmt.Sprint("v", i), "c")
		c.Charge, c.Period, c.Format = model.CPA, model.Total, formats[i%len(formats)]
		bids := []model.Bid{{Target: fmt.Sprint("p", i), Amount: money.PerMajor, Active: true}}
		if err := w.Store.Tenant(managetest.Main).CreateCampaign(t.Context(), c, bids); err != nil {
			t.Fatal(err)
		}
		deposit := command.AdjustWallet{Request: ids.UUID{byte(i + 1)}, Marketplace: managetest.Main, VendorID: c.VendorID, Amount: 9 * money.PerMajor}
		propose(t, w.Environment, command.AppendAdjustWallet(nil, w.Now().UnixMilli(), &deposit), c.Group)
		created, err := w.Store.Tenant(managetest.Main).Campaign(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		created.Group = c.Group
		w.campaigns = append(w.campaigns, created.Campaign)
		stored, _, err := w.Store.Tenant(managetest.Main).Bids(t.Context(), c.ID, 0, 1)
		if err != nil || len(stored) != 1 {
			t.Fatal(stored, err)
		}
		w.bids = append(w.bids, stored[0])
	}
	return w
}

func (w *shopping) record(kind event.Kind) command.EventRecord {
	w.events++
	now := w.Now().UnixMilli()
	return command.EventRecord{
		Key: [16]byte{byte(w.events), 1}, Kind: kind, OccurredMillis: now, Bucket: event.BucketOf(now), Cell: event.BucketOf(now) * 4, UserHash: 7,
	}
}

// touch reports a click or impression on the ad of a campaign; its token is named by a number.
func (w *shopping) touch(kind event.Kind, of int, token byte) {
	w.t.Helper()
	r := w.record(kind)
	r.Campaign, r.Bid, r.Price, r.Charge, r.ChargeKey = w.campaigns[of].Ordinal, w.bids[of].Ordinal, money.PerMajor, model.CPA, [16]byte{token, 2}
	w.commit(r, w.campaigns[of].Group)
}

// buy reports a purchase of products, each of the vendor of its number.
func (w *shopping) buy(products ...int) {
	w.t.Helper()
	r := w.record(event.Purchase)
	for _, p := range products {
		r.Items = append(r.Items, command.PurchaseItem{
			ProductID: fmt.Append(nil, "p", p), VendorID: fmt.Append(nil, "v", p%10), Quantity: 1, UnitPrice: 3 * money.PerMajor,
		})
	}
	w.commit(r, w.Store.Groups.GroupOf(ids.Shard(r.Key[0])))
}

func (w *shopping) commit(r command.EventRecord, g ids.Group) {
	w.t.Helper()
	e := command.Events{Marketplace: managetest.Main, Records: []command.EventRecord{r}}
	propose(w.t, w.Environment, command.AppendEvents(nil, w.Now().UnixMilli(), &e), g)
}

// buys reports a purchase of a user of two pieces of a product, 6.00 in all, and decides it.
func (w *shopping) buys(user uint64, product, vendor string) {
	w.t.Helper()
	r := w.record(event.Purchase)
	r.Key, r.UserHash = [16]byte{byte(w.events), byte(user), 3}, user
	r.Items = []command.PurchaseItem{{ProductID: []byte(product), VendorID: []byte(vendor), Quantity: 2, UnitPrice: 3 * money.PerMajor}}
	w.commit(r, w.Store.Groups.GroupOf(0))
	w.credit(6*time.Second, w.data()...)
	w.carryOut()
}

// credit moves the clocks of some groups, and credits what can be.
func (w *shopping) credit(forward time.Duration, groups ...ids.Group) (closed int) {
	w.t.Helper()
	w.Advance(forward)
	for _, g := range groups {
		propose(w.t, w.Environment, command.AppendAdvance(nil, w.Now().UnixMilli(), &command.Advance{}), g)
	}
	for _, g := range w.data() {
		n, err := w.Store.CreditPurchases(w.t.Context(), g)
		if err != nil {
			w.t.Fatal(err)
		}
		closed += n
	}
	return closed
}

func (w *shopping) data() []ids.Group {
	return slices.DeleteFunc(slices.Clone(w.Store.Groups.Groups()), func(g ids.Group) bool { return !g.CarriesCampaigns() })
}

// sales lists the items credited to each campaign, of them halo and charged.
func (w *shopping) sales() (all [][3]int64) {
	w.t.Helper()
	for i := range w.campaigns {
		_ = w.Store.Groups.Read(w.campaigns[i].Group, func(r shard.Reader) error { // The groups of the tests can be read.
			c := shard.Queries{R: r}.CampaignCounters(w.campaigns[i].ID, 0, 1<<32-1)
			all = append(all, [3]int64{c.Attributed.Count, c.Halo.Count, c.ChargedPurchases})
			return nil
		})
	}
	return all
}

func (w *shopping) check(why string, want ...[3]int64) {
	w.t.Helper()
	if got := w.sales(); !slices.Equal(got, want) {
		w.t.Errorf("%s: the campaigns have %v items (of them halo, charged), want %v", why, got, want)
	}
	for _, g := range w.data() {
		_ = w.Store.Groups.Read(g, func(r shard.Reader) error {
			if err := (shard.Queries{R: r}).Verify(); err != nil {
				w.t.Error(why, g, err)
			}
			return nil
		})
	}
}

// A purchase is credited when the clocks of all groups have passed it, from touches in all groups, and once.
func TestPurchasesAreCreditedOnceAllGroupsHavePassed(t *testing.T) {
	w := newShopping(t)
	w.touch(event.Impression, 0, 1)
	w.touch(event.Click, 1, 2)
	w.touch(event.Click, 2, 3)
	w.Advance(time.Minute)
	w.touch(event.Click, 2, 3) // The same ad again: one purchase pays for it.
	w.buy(0, 2, 12, 5)         // Product 12 is another one of vendor 2.
	all := w.data()
	none := [3]int64{}
	if n := w.credit(6*time.Second, all[1:]...); n != 0 {
		t.Errorf("%d purchases were credited before a group has passed them", n)
	}
	if n := w.credit(0, all[0]); n != 1 {
		t.Errorf("%d purchases were credited, want one", n)
	}
	want := [][3]int64{{1, 0, 1}, none, {2, 1, 1}, none, none, none}
	w.check("one purchase", want...)
	if n := w.credit(time.Minute, all...); n != 0 {
		t.Errorf("%d purchases were credited again", n)
	}
	w.check("nothing more", want...)
}

// A click that is committed after the purchase is not credited with it, whenever it occurred; one that the same request
// reported is.
func TestLateClicksAreNotCredited(t *testing.T) {
	w := newShopping(t)
	w.buy(0)
	w.Advance(4 * time.Second)
	// In this order: the campaigns may be of one group, whose clock does not go back after the late click.
	for of, at := range []time.Duration{0, time.Hour} {
		r := w.record(event.Click)
		r.OccurredMillis -= time.Minute.Milliseconds()
		r.Campaign, r.Bid = w.campaigns[of].Ordinal, w.bids[of].Ordinal
		e := command.Events{Marketplace: managetest.Main, Records: []command.EventRecord{r}}
		propose(t, w.Environment, command.AppendEvents(nil, w.Now().Add(at).UnixMilli(), &e), w.campaigns[of].Group)
	}
	w.buy(1)
	w.credit(2*time.Hour, w.data()...)
	w.credit(0)
	w.check("a click of the same seconds", [3]int64{1, 0, 0}, [3]int64{}, [3]int64{}, [3]int64{}, [3]int64{}, [3]int64{})
}

// Whatever step is repeated, and whatever another node decides meanwhile, the first decision is carried out, once.
func TestTheFirstDecisionIsCarriedOutOnce(t *testing.T) {
	w := newShopping(t)
	w.touch(event.Click, 3, 1)
	w.buy(3)
	var g ids.Group
	var open []shard.OpenPurchase
	for _, at := range w.data() {
		_ = w.Store.Groups.Read(at, func(r shard.Reader) error {
			if some := (shard.Queries{R: r}).OpenCredits(9, 9); len(some) > 0 {
				g, open = at, some
			}
			return nil
		})
	}
	if len(open) != 1 {
		t.Fatalf("%d purchases are open", len(open))
	}
	other := command.Credit{
		Purchase: open[0].Name, Group: w.campaigns[4].Group, Marketplace: managetest.Main, Campaign: w.campaigns[4].Ordinal, Kind: event.Click,
		Product: "p3", Quantity: 1, UnitPrice: money.PerMajor,
	}
	first := command.DecideCredits{Decisions: []command.CreditDecision{{Purchase: open[0].Name, Credits: []command.Credit{other}}}}
	propose(t, w.Environment, command.AppendDecideCredits(nil, w.Now().UnixMilli(), &first), g)
	apply := command.ApplyCredits{Credits: []command.Credit{other}}
	propose(t, w.Environment, command.AppendApplyCredits(nil, w.Now().UnixMilli(), &apply), other.Group)
	w.credit(time.Minute, w.data()...)
	propose(t, w.Environment, command.AppendApplyCredits(nil, w.Now().UnixMilli(), &apply), other.Group)
	w.check("decided by another node", [3]int64{}, [3]int64{}, [3]int64{}, [3]int64{}, [3]int64{1, 0, 0}, [3]int64{})
}

// A purchase is credited by the rules that the marketplace has chosen when it is decided, and the credit names them. What
// was credited before the choice stays.
func TestPurchasesAreCreditedByTheRulesOfTheMarketplace(t *testing.T) {
	w := newShopping(t)
	bought := [3]int64{1, 0, 1}
	want := make([][3]int64, len(w.campaigns))
	buy := func(why string, p int, kind event.Kind, chosen model.Attribution, credited bool) {
		t.Helper()
		_, err := w.Store.Tenant(managetest.Main).ChangeSettings(t.Context(), func(m *model.Marketplace) error {
			m.Attribution = chosen
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		w.touch(kind, p, byte(p+1))
		w.Advance(8 * 24 * time.Hour) // Longer than the 7 days of listings.
		if kind == event.Impression {
			w.touch(kind, p, byte(p+1))
		}
		w.buy(p)
		name := w.openPurchase()
		w.credit(time.Minute, w.data()...)
		if credited {
			want[p] = bought
			if c, found := w.creditOf(name, w.campaigns[p].Group); !found || c.Attribution != chosen {
				t.Errorf("%s: the credit %+v (found: %v) does not name rules %d", why, c, found, chosen)
			}
		}
		w.check(why, want...)
	}
	buy("an impression, standard", 0, event.Impression, model.AttributionStandard, true)
	buy("an impression, long-click", 1, event.Impression, model.AttributionLongClick, false)
	buy("a click 8 days ago, long-click", 2, event.Click, model.AttributionLongClick, true)
	buy("a click 8 days ago, standard", 3, event.Click, model.AttributionStandard, false)
	buy("an impression, amazon", 4, event.Impression, model.AttributionAmazon, true)
	buy("an impression, reference", 5, event.Impression, model.AttributionReference, false)
}

// openPurchase returns the one purchase that is not credited yet.
func (w *shopping) openPurchase() (name command.PurchaseName) {
	w.t.Helper()
	n := 0
	for _, g := range w.data() {
		_ = w.Store.Groups.Read(g, func(r shard.Reader) error { // The groups of the tests can be read.
			for _, p := range (shard.Queries{R: r}).OpenCredits(9, 9) {
				name, n = p.Name, n+1
			}
			return nil
		})
	}
	if n != 1 {
		w.t.Fatalf("%d purchases are open, want one", n)
	}
	return name
}

// creditOf returns the credit of the first item of a purchase, as the group of its touch has stored it.
func (w *shopping) creditOf(name command.PurchaseName, g ids.Group) (c shard.StoredCredit, found bool) {
	_ = w.Store.Groups.Read(g, func(r shard.Reader) error { // The groups of the tests can be read.
		c, found = shard.Queries{R: r}.Credit(&name, 0)
		return nil
	})
	return c, found
}
