package shardtest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
)

// soldItem is an item of a purchase that may be returned.
type soldItem struct {
	product  string // As it was reported.
	returned int64
	credit   ids.Group
}

// purchaseKeptDays is how many UTC days a purchase is kept.
const purchaseKeptDays = 62

// soldItems returns what can be returned of an event.
func (m *Model) soldItems(r *command.EventRecord) (all []soldItem) {
	if m.Level < command.LevelReturns || r.Kind != event.Purchase {
		return nil
	}
	for _, item := range r.Items {
		all = append(all, soldItem{product: string(item.ProductID)})
	}
	return all
}

// returned returns how many pieces of an item came back.
func (e *Counted) returned(item int) int64 {
	if item >= len(e.sold) {
		return 0
	}
	return e.sold[item].returned
}

// cameBack reports whether every piece of a purchase came back.
func (e *Counted) cameBack() bool {
	for i := range e.Items {
		if e.returned(i) < e.Items[i].Quantity {
			return false
		}
	}
	return len(e.sold) > 0
}

func (e *Counted) name() command.PurchaseName {
	return command.PurchaseName{OpenedMillis: e.opened, Key: e.Key}
}

// takeBack applies a return to the newest purchase that it may be of.
func (m *Model) takeBack(marketplace uint16, r *command.EventRecord) {
	const day = 24 * hourMillis
	first := max((r.OccurredMillis-30*day)/day, m.Now/day-purchaseKeptDays+1)
	for i := len(m.Events) - 1; i >= 0; i-- {
		e := &m.Events[i]
		age := r.OccurredMillis - e.OccurredMillis
		if e.Key != r.ReturnOf || len(e.sold) == 0 || e.Market != marketplace || e.opened/day < first || age < 0 || age > 30*day {
			continue
		}
		if m.takeBackFrom(e, r) {
			m.openReturn(e)
		}
		return
	}
}

// takeBackFrom takes the items of a return out of a purchase, piece by piece.
func (m *Model) takeBackFrom(e *Counted, r *command.EventRecord) (some bool) {
	for _, item := range r.Items {
		for range item.Quantity {
			for i := range e.sold {
				if s := &e.sold[i]; s.product == string(item.ProductID) && s.returned < e.Items[i].Quantity {
					s.returned++
					some = true
					break
				}
			}
		}
	}
	return some
}

// openReturn lists a return that is to be taken back from credits.
func (m *Model) openReturn(e *Counted) {
	pieces, credited := int64(0), m.Purchases[e.name()] != nil
	for _, s := range e.sold {
		pieces += s.returned
		credited = credited || s.credit != 0
	}
	if credited {
		m.Returns[e.name()] = pieces
	}
}

// recordDecision notes at a purchase which groups have its credits, and who bought it.
func (m *Model) recordDecision(d *command.CreditDecision, o *command.OpenCredit) {
	const day = 24 * hourMillis
	for i := range m.Events {
		e := &m.Events[i]
		if len(e.sold) == 0 || e.name() != d.Purchase || e.opened/day <= m.Now/day-purchaseKeptDays {
			continue
		}
		for _, c := range d.Credits {
			if int(c.Item) < len(e.sold) {
				e.sold[c.Item].credit = c.Group
			}
		}
		if m.Level >= command.LevelModels && e.opened/day >= max(m.touchesFrom[o.Marketplace], m.firstTouchDay(o.Marketplace)) {
			e.buyer, e.rules = o.UserHash, d.Attribution
		}
	}
}

// forgetBuyers erases the buyers of some purchases.
func (m *Model) forgetBuyers(of func(*Counted) bool) {
	for i := range m.Events {
		if of(&m.Events[i]) {
			m.Events[i].buyer = 0
		}
	}
}

// compareBuyer compares what a purchase says about its buyer.
func (e *Counted) compareBuyer(p *command.Purchase, fail func(string, ...any)) {
	if p.Buyer != e.buyer || e.buyer != 0 && p.Attribution != e.rules {
		fail("purchase %+v is of user %d by rules %d, not %d by %d", e.name(), p.Buyer, p.Attribution, e.buyer, e.rules)
	}
	for i := range p.Items {
		want := ""
		if e.buyer != 0 {
			want = string(e.Items[i].VendorID)
		}
		if p.Items[i].VendorID != want {
			fail("item %d of purchase %+v is of vendor %q, not %q", i, e.name(), p.Items[i].VendorID, want)
		}
	}
}

// Return applies an ApplyReturns.
func (m *Model) Return(x *command.ApplyReturns) command.Result {
	for _, r := range x.Returns {
		for i := range m.Credits {
			if c := &m.Credits[i]; c.Purchase == r.Purchase && c.Item == r.Item && m.kept(c.Purchase.OpenedMillis) {
				c.Returned = max(c.Returned, min(r.Quantity, c.Quantity))
			}
		}
	}
	return command.Result{}
}

// CloseReturns applies a CloseReturns.
func (m *Model) CloseReturns(x *command.CloseReturns) command.Result {
	for _, r := range x.Purchases {
		if m.Returns[r.Purchase] == r.Quantity {
			delete(m.Returns, r.Purchase)
		}
	}
	return command.Result{}
}

// compareReturns compares purchases and what came back of them.
func (m *Model) compareReturns(b shard.Queries, fail func(string, ...any)) {
	open := b.OpenReturns(1 << 20)
	if len(open) != len(m.Returns) {
		fail("%d open returns, not %d", len(open), len(m.Returns))
	}
	for _, o := range open {
		if want, found := m.Returns[o.Purchase]; !found || want != o.Quantity || o.Uncredited != (m.Purchases[o.Purchase] != nil) {
			fail("return %+v is open, not of %d pieces", o, want)
		}
	}
	for i := range m.Events {
		e := &m.Events[i]
		name := e.name()
		p, found := b.Purchase(&name)
		if found != (len(e.sold) > 0) && m.kept(e.opened) && !m.dropped(e) {
			fail("purchase %+v is kept: %t", name, found)
		}
		if found {
			e.compareBuyer(&p, fail)
		}
		for j := range p.Items {
			if got, want := p.Items[j], e.sold[j]; got.Returned != want.returned || got.Credit != want.credit || got.ProductID != want.product {
				fail("item of purchase %+v is %+v, not %+v", name, got, want)
			}
		}
	}
}

// dropped reports whether a purchase may have been dropped; the next Advance decides.
func (m *Model) dropped(e *Counted) bool {
	const day = 24 * hourMillis
	return e.opened/day <= m.Now/day-purchaseKeptDays
}

// returned makes a return of a recent purchase, usually of products that it had.
func (g *Generator) returned(marketplace uint16, r command.EventRecord) command.EventRecord {
	var bought []command.EventRecord
	for _, s := range g.sent[max(0, len(g.sent)-30):] {
		if s.record.Kind == event.Purchase && s.record.ReturnOf == [16]byte{} {
			bought = append(bought, s.record)
		}
	}
	r = command.EventRecord{Key: r.Key, Kind: event.Purchase, OccurredMillis: r.OccurredMillis, Cell: r.Cell, UserHash: r.UserHash}
	r.Bucket = event.BucketOf(r.OccurredMillis)
	r.ReturnOf = g.id('e', 1+g.choose(9, "of an unknown purchase"))
	products := [][]byte{[]byte("p0"), []byte("p1")}
	if len(bought) > 0 {
		of := &bought[max(0, len(bought)-1-g.choose(4, "which purchase"))]
		r.ReturnOf = of.Key
		for i := range of.Items {
			products = append(products, of.Items[i].ProductID)
		}
	}
	for range 1 + g.choose(2, "items") {
		r.Items = append(r.Items, command.PurchaseItem{
			ProductID: products[len(products)-1-g.choose(len(products), "which product")], Quantity: int64(1 + g.choose(3, "quantity")),
		})
	}
	g.sent = append(g.sent, sent{marketplace, r})
	return r
}

// returns returns a step of carrying a return out; sometimes with fewer pieces than came back, as a node that is behind
// would.
func (g *Generator) returns() Step {
	var names []command.PurchaseName
	for n := range g.Model.Returns {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b command.PurchaseName) int {
		return cmp.Or(cmp.Compare(a.OpenedMillis, b.OpenedMillis), bytes.Compare(a.Key[:], b.Key[:]))
	})
	name := command.PurchaseName{OpenedMillis: g.now, Key: g.id('e', 3)}
	switch n := len(g.Model.Credits); {
	case len(names) > 0 && g.choose(4, "of another purchase") > 0:
		name = names[g.choose(len(names), "which return")]
	case n > 0:
		name = g.Model.Credits[max(0, n-1-g.choose(6, "which credit"))].Purchase
	}
	if g.choose(3, "close") == 0 {
		x := command.CloseReturns{Purchases: []command.ReturnedPurchase{{Purchase: name, Quantity: g.Model.Returns[name]}}}
		x.Purchases[0].Quantity += int64(g.choose(4, "pieces that were not seen") / 3)
		return g.leveled(command.LevelReturns, "close returns", command.AppendCloseReturns(nil, g.now, &x),
			func() command.Result { return g.Model.CloseReturns(&x) })
	}
	x := command.ApplyReturns{}
	for range 1 + g.choose(2, "returned items") {
		x.Returns = append(x.Returns, command.ItemReturn{
			Purchase: name, Item: uint16(g.choose(3, "item")), Quantity: int64(1 + g.choose(4, "pieces")),
		})
	}
	return g.leveled(command.LevelReturns, "apply returns", command.AppendApplyReturns(nil, g.now, &x),
		func() command.Result { return g.Model.Return(&x) })
}

// String describes a counted event in a failure.
func (e *Counted) String() string { return fmt.Sprintf("%+v, sold %+v", e.EventRecord, e.sold) }
