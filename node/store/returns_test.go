package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// buyOf reports a purchase of some pieces of one product, of the vendor of its number, and returns its key.
func (w *shopping) buyOf(product int, pieces int64) (key [16]byte) {
	w.t.Helper()
	r := w.record(event.Purchase)
	r.Items = []command.PurchaseItem{{
		ProductID: fmt.Append(nil, "p", product), VendorID: fmt.Append(nil, "v", product%10), Quantity: pieces, UnitPrice: 3 * money.PerMajor,
	}}
	w.commit(r, w.Store.Groups.GroupOf(ids.Shard(r.Key[0])))
	return r.Key
}

// giveBack reports a return of some pieces of a product of a purchase.
func (w *shopping) giveBack(of [16]byte, product int, pieces int64) {
	w.t.Helper()
	r := w.record(event.Purchase)
	r.ReturnOf = of
	r.Items = []command.PurchaseItem{{ProductID: fmt.Append(nil, "p", product), Quantity: pieces}}
	w.commit(r, w.Store.Groups.GroupOf(ids.Shard(of[0])))
}

// carryOut carries returns out, as the leaders do.
func (w *shopping) carryOut() (closed int) {
	w.t.Helper()
	for _, g := range w.data() {
		n, err := w.Store.CarryOutReturns(w.t.Context(), g)
		if err != nil {
			w.t.Fatal(err)
		}
		closed += n
	}
	return closed
}

// sold returns what every report says that a campaign sold: pieces, amount in major units, items.
func (w *shopping) sold(why string, of int, pieces, items int64) {
	w.t.Helper()
	tenant := w.Store.Tenant(managetest.Main)
	at := w.Now().UTC()
	d := store.Dates{From: at.AddDate(0, 0, -2).Format(time.DateOnly), To: at.AddDate(0, 0, 1).Format(time.DateOnly)}
	c := w.campaigns[of]
	sum, err := tenant.CampaignReport(w.t.Context(), c.ID, d)
	vendor := sumOf(tenant.VendorCounters(w.t.Context(), c.VendorID, d, store.Whole))
	if err != nil {
		w.t.Fatal(err)
	}
	byProduct, err := tenant.CampaignSold(w.t.Context(), c.ID, d, store.Whole)
	if err != nil {
		w.t.Fatal(err)
	}
	count := int64(0)
	for _, row := range byProduct[""] {
		count += row.Counters.Purchases
	}
	amount := 3 * money.PerMajor * money.Micros(pieces)
	if sum.PurchaseQuantity != pieces || sum.PurchaseAmount != amount || sum.Purchases != items || count != items {
		w.t.Errorf("%s: the campaign sold %d pieces for %d, %d items, %d by product, want %d, %d, %d", why, sum.PurchaseQuantity,
			sum.PurchaseAmount, sum.Purchases, count, pieces, amount, items)
	}
	if vendor.Attributed.Quantity != pieces || vendor.Attributed.Amount != amount || vendor.Attributed.Count != items {
		w.t.Errorf("%s: the vendor sold %+v, want %d pieces", why, vendor.Attributed, pieces)
	}
}

// What comes back is taken from the campaign that has the credit, in part and then whole, in every report; more than was
// bought is not taken.
func TestReturnsAreTakenFromTheCreditedCampaign(t *testing.T) {
	w := newShopping(t)
	w.touch(event.Click, 0, 1)
	w.touch(event.Impression, 1, 2)
	w.Advance(time.Minute)
	direct, halo := w.buyOf(0, 3), w.buyOf(11, 2) // Product 11 is another one of vendor 1.
	w.credit(time.Minute, w.data()...)
	w.sold("bought", 0, 3, 1)
	w.sold("bought", 1, 2, 1)
	w.giveBack(direct, 0, 1)
	w.giveBack(halo, 11, 1)
	w.giveBack(halo, 1, 1) // The purchase has no such product.
	if n := w.carryOut(); n != 2 {
		t.Errorf("%d returns were carried out, want 2", n)
	}
	w.sold("one came back", 0, 2, 1)
	w.sold("one came back", 1, 1, 1)
	w.giveBack(direct, 0, 9)
	w.carryOut()
	if n := w.carryOut(); n != 0 {
		t.Errorf("%d returns were carried out again", n)
	}
	w.sold("more came back than were bought", 0, 0, 0)
	w.sold("the other campaign keeps its own", 1, 1, 1)
	total := sumOf(w.Store.Tenant(managetest.Main).MarketplaceCounters(t.Context(), store.Dates{From: "2026-03-14", To: "2026-03-18"}, store.Daily, false))
	if total.PurchaseQuantity != 1 || total.PurchaseAmount != 3*money.PerMajor || total.Purchases != 1 {
		t.Errorf("the marketplace sold %d pieces for %d in %d purchases, want one", total.PurchaseQuantity, total.PurchaseAmount, total.Purchases)
	}
	w.check("CPA charges stay until they are reversed", [3]int64{0, 0, 1}, [3]int64{1, 1, 1}, [3]int64{}, [3]int64{}, [3]int64{}, [3]int64{})
}

// A return that is reported before its purchase is credited waits, and takes its part of the credit then. The order in
// which nodes carry returns out changes nothing.
func TestReturnsWaitForTheCredit(t *testing.T) {
	w := newShopping(t)
	w.touch(event.Click, 2, 1)
	w.Advance(time.Minute)
	key := w.buyOf(2, 5)
	name := w.openPurchase()
	w.giveBack(key, 2, 2)
	if n := w.carryOut(); n != 0 {
		t.Errorf("%d returns were carried out before the credit", n)
	}
	w.credit(time.Minute, w.data()...)
	w.sold("credited", 2, 5, 1)
	if n := w.carryOut(); n != 1 {
		t.Errorf("%d returns were carried out, want 1", n)
	}
	w.sold("returned", 2, 3, 1)
	w.giveBack(key, 2, 1)
	late := command.ApplyReturns{Returns: []command.ItemReturn{{Purchase: name, Quantity: 2}}} // As a node that is behind says it.
	w.carryOut()
	for range 2 {
		propose(t, w.Environment, command.AppendApplyReturns(nil, w.Now().UnixMilli(), &late), w.campaigns[2].Group)
	}
	w.sold("a late command", 2, 2, 1)
	if c, found := w.creditOf(name, w.campaigns[2].Group); !found || c.Returned != 3 {
		t.Errorf("the credit is %+v, want 3 pieces back", c)
	}
	_ = w.Store.Groups.Read(w.campaigns[2].Group, func(r shard.Reader) error { // The groups of the tests can be read.
		if err := (shard.Queries{R: r}).Verify(); err != nil {
			t.Error(err)
		}
		return nil
	})
}

// A purchase of as many pieces as an event can have comes back as a whole: the pieces of all its items have a sum, by which the return is
// closed. A return that could not be closed would be carried out again for ever, together with those that wait with it.
func TestReturnsOfVeryManyPieces(t *testing.T) {
	w := newShopping(t)
	item := command.PurchaseItem{ProductID: []byte("p0"), VendorID: []byte("v0"), Quantity: event.PiecesMax}
	bought, back := w.record(event.Purchase), w.record(event.Purchase)
	bought.Items = slices.Repeat([]command.PurchaseItem{item}, event.ItemsMax)
	back.Items, back.ReturnOf = bought.Items, bought.Key
	to := w.Store.Groups.GroupOf(ids.Shard(bought.Key[0]))
	w.commit(bought, to)
	w.commit(back, to)
	other := w.buyOf(1, 1)
	w.giveBack(other, 1, 1)
	w.credit(time.Minute, w.data()...)
	if n := w.carryOut(); n != 2 {
		t.Errorf("%d returns were carried out, want 2", n)
	}
	if n := w.carryOut(); n != 0 {
		t.Errorf("%d returns were carried out again", n)
	}
}
