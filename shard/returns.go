package shard

import (
	"encoding/binary"
	"errors"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// purchaseDaysKept is how many UTC days, the current one included, a purchase is kept: it may be reported event.CountMillis
// after it occurred, is returned within event.ReturnMillis, and the return is reported as late.
const purchaseDaysKept = (event.CountMillis+event.ReturnMillis)/dayMillis + 2

// rememberPurchase stores what is needed to take a purchase out of the counters again.
func (m *Machine) rememberPurchase(marketplace uint16, c *campaign, r *command.EventRecord) {
	if m.state.level < command.LevelReturns || len(r.Items) == 0 {
		return
	}
	p := command.Purchase{
		Marketplace: marketplace, OpenedMillis: m.state.now, OccurredMillis: r.OccurredMillis, Cell: r.Cell,
		Items: make([]command.SoldItem, len(r.Items)),
	}
	switch {
	case c != nil:
		p.Campaign, p.Bid = c.ID, r.Bid
	case !r.ExternalCampaign.IsZero():
		p.Campaign = r.ExternalCampaign
	}
	for i := range r.Items {
		item := &r.Items[i]
		// Counting the purchase has decided the name of a product, and asking again gives the same one.
		other := item.Unknown && string(m.reportedProduct(marketplace, r, item)) != string(item.ProductID)
		p.Items[i] = command.SoldItem{
			ProductID: string(item.ProductID), Quantity: item.Quantity, UnitPrice: item.UnitPrice, Other: other,
		}
	}
	day := dayOf(m.state.now)
	key, value := keyPurchase(nil, day, &r.Key), command.AppendPurchase(nil, &p)
	m.putOver(key, value, 0) // INVARIANT: an event id is counted once within a day (reportedAtAnotherTime).
	m.addToDay(dayIn(tablePurchase, day), m.hashOf(key, value))
}

// takeBack applies a return: it takes products out of the counters of their purchase, at most as many as were bought and
// did not come back before. What was credited to touches is taken back by ApplyReturns.
//
// A return of an unknown purchase, or of other products than it had, changes nothing: the shop may have reported the
// purchase before the group kept purchases.
func (m *Machine) takeBack(marketplace uint16, r *command.EventRecord) {
	p, found := m.purchaseOf(marketplace, r)
	if !found {
		return
	}
	name := command.PurchaseName{OpenedMillis: p.OpenedMillis, Key: r.ReturnOf}
	before := piecesReturned(&p)
	for i := range r.Items {
		m.takeBackItem(&p, string(r.Items[i].ProductID), r.Items[i].Quantity)
	}
	total := piecesReturned(&p)
	if total == before {
		return
	}
	m.storePurchase(&name, &p)
	if m.mayBeCredited(&name, &p) {
		m.put(keyOpenReturn(nil, &name), binary.AppendUvarint(nil, uint64(total))) // Not negative.
	}
}

// purchaseOf returns the newest purchase that a return may be of.
func (m *Machine) purchaseOf(marketplace uint16, r *command.EventRecord) (p command.Purchase, found bool) {
	from := max(dayOf(r.OccurredMillis-event.ReturnMillis), m.firstDay(purchaseDaysKept))
	for day := dayOf(m.state.now); day >= from && day > 0; day-- {
		if m.days.all[dayIn(tablePurchase, day)] == nil {
			continue
		}
		stored, found := m.get(keyPurchase(nil, day, &r.ReturnOf))
		if !found {
			continue
		}
		p := must(readPurchase(stored))
		age := r.OccurredMillis - p.OccurredMillis
		if p.Marketplace == marketplace && age >= 0 && age <= event.ReturnMillis {
			return p, true
		}
	}
	return p, false
}

// takeBackItem takes pieces of a product out of a purchase and its counters.
func (m *Machine) takeBackItem(p *command.Purchase, product string, pieces int64) {
	for i := range p.Items {
		sold := &p.Items[i]
		n := min(pieces, sold.Quantity-sold.Returned)
		if n <= 0 || sold.ProductID != product {
			continue
		}
		back := rollup.Return{Quantity: sold.Quantity, UnitPrice: sold.UnitPrice, Before: sold.Returned, After: sold.Returned + n, KeepFull: m.keepsFull()}
		sold.Returned += n
		pieces -= n
		counted := []byte(sold.ProductID)
		if sold.Other {
			counted = []byte(OtherProduct)
		}
		m.key = keyProductCell(m.key[:0], p.Marketplace, counted, p.Cell)
		ofProduct := m.cell(m.key)
		ofProduct.TakeBackPurchase(&back)
		if back.Whole() {
			ofProduct.Purchases = max(0, ofProduct.Purchases-1)
		}
		m.takeBackOfPurchase(p, &back)
	}
}

// takeBackOfPurchase changes the counters in which the purchase itself was counted. A purchase of which nothing is left
// is no purchase any more.
func (m *Machine) takeBackOfPurchase(p *command.Purchase, back *rollup.Return) {
	m.key = keyNoCampaignCell(m.key[:0], p.Marketplace, p.Cell)
	if !p.Campaign.IsZero() {
		m.key = keyCampaignCell(m.key[:0], p.Campaign, p.Cell, p.Bid)
	}
	whole := m.cell(m.key)
	whole.TakeBackPurchase(back)
	for i := range p.Items {
		if p.Items[i].Returned < p.Items[i].Quantity {
			return
		}
	}
	whole.Purchases = max(0, whole.Purchases-1)
}

// storePurchase replaces a stored purchase.
func (m *Machine) storePurchase(name *command.PurchaseName, p *command.Purchase) {
	day := dayOf(name.OpenedMillis)
	key, value := keyPurchase(nil, day, &name.Key), command.AppendPurchase(nil, p)
	stored, _ := m.get(key)
	was := m.hashOf(key, stored)
	m.putOver(key, value, was)
	m.replaceInDay(dayIn(tablePurchase, day), was, m.hashOf(key, value))
}

// mayBeCredited reports whether an item of a purchase was credited to a touch, or may still be.
func (m *Machine) mayBeCredited(name *command.PurchaseName, p *command.Purchase) bool {
	if _, open := m.get(keyOpenCredit(nil, name)); open {
		return true
	}
	for i := range p.Items {
		if p.Items[i].Credit != 0 {
			return true
		}
	}
	return false
}

// recordDecision stores with a purchase to which groups its items were credited, and what the decision followed from.
func (m *Machine) recordDecision(d *command.CreditDecision, o *command.OpenCredit) {
	if m.state.level < command.LevelReturns || dayOf(d.Purchase.OpenedMillis) < m.firstDay(purchaseDaysKept) {
		return
	}
	if len(d.Credits) == 0 && m.state.level < command.LevelModels {
		return
	}
	stored, found := m.get(keyPurchase(nil, dayOf(d.Purchase.OpenedMillis), &d.Purchase.Key))
	if !found {
		return
	}
	p := must(readPurchase(stored))
	for i := range d.Credits {
		if c := &d.Credits[i]; int(c.Item) < len(p.Items) {
			p.Items[c.Item].Credit = c.Group
		}
	}
	m.keepBuyer(&p, o, d)
	m.storePurchase(&d.Purchase, &p)
}

// applyReturns takes back what was credited to touches of this group.
//
// INVARIANT: StoredCredit.Returned pieces of a credit are not counted. It only grows, up to the sum that the purchase's
// group has counted, so a repeated or late command changes nothing.
func (m *Machine) applyReturns(x *command.ApplyReturns) command.Result {
	if i, found := m.closedReturn(x.Returns); found {
		return refused(command.MarketplaceClosed, i)
	}
	for i := range x.Returns {
		r := &x.Returns[i]
		if dayOf(r.Purchase.OpenedMillis) < m.firstDay(daysKept) {
			continue
		}
		key := keyCredit(nil, &r.Purchase, r.Item)
		stored, found := m.get(key)
		if !found {
			continue
		}
		s, was := must(readCredit(stored)), m.hashOf(key, stored)
		back := rollup.Return{Quantity: s.Quantity, UnitPrice: s.UnitPrice, Before: s.Returned, After: min(r.Quantity, s.Quantity), KeepFull: m.keepsFull()}
		if back.After <= back.Before {
			continue
		}
		s.Returned = back.After
		value := appendCredit(&s)
		m.putOver(key, value, was)
		m.replaceInDay(dayIn(tableCredit, dayOf(r.Purchase.OpenedMillis)), was, m.hashOf(key, value))
		m.takeBackSale(m.campaigns[s.Campaign-1], &s.Credit, &back)
	}
	return command.Result{}
}

// closedReturn returns the first of some returns whose marketplace is closed.
func (m *Machine) closedReturn(all []command.ItemReturn) (index int, found bool) {
	for i := range all {
		stored, credited := m.get(keyCredit(nil, &all[i].Purchase, all[i].Item))
		if !credited {
			continue
		}
		if s := must(readCredit(stored)); m.closed(s.Marketplace) {
			return i, true
		}
	}
	return 0, false
}

// keepsFull is the Return.KeepFull of the group's feature level.
func (m *Machine) keepsFull() bool { return m.state.level >= command.LevelFullCounters }

// takeBackSale is the opposite of countCredit, for the pieces that came back. What the touch was charged stays: Reverse
// gives money back.
func (m *Machine) takeBackSale(c *campaign, x *command.Credit, back *rollup.Return) {
	m.key = keyCampaignCell(m.key[:0], c.ID, x.Cell, x.Bid)
	uncountSale(m.cell(m.key), x, back)
	if places := m.placeOf(m.key, x.Place); places != nil {
		uncountSale(places, x, back)
	}
	m.key = keySoldCell(m.key[:0], c.ID, x.Cell, x.Product)
	uncountSale(m.cell(m.key), x, back)
}

func uncountSale(counters *rollup.Counters, x *command.Credit, back *rollup.Return) {
	counters.Attributed.TakeBack(back)
	if x.Halo {
		counters.Halo.TakeBack(back)
	}
	if x.Kind == event.Impression {
		counters.Viewed.TakeBack(back)
	}
}

// closeReturns forgets returns that are carried out.
func (m *Machine) closeReturns(x *command.CloseReturns) command.Result {
	for i := range x.Purchases {
		key := keyOpenReturn(nil, &x.Purchases[i].Purchase)
		if stored, found := m.get(key); found && must(readOpenReturn(stored)) == x.Purchases[i].Quantity {
			m.put(key, nil)
		}
	}
	return command.Result{}
}

// piecesReturned sums over the items of a purchase how many pieces came back. The sum cannot overflow: a purchase has at most
// event.ItemsMax items, and of each at most its quantity came back, which node/wire limits to event.PiecesMax.
func piecesReturned(p *command.Purchase) (sum int64) {
	for i := range p.Items {
		sum += p.Items[i].Returned
	}
	return sum
}

func readPurchase(b []byte) (p command.Purchase, err error) {
	d := command.NewDecoder(b)
	d.Purchase(&p)
	return p, d.Err()
}

func readOpenReturn(b []byte) (pieces int64, err error) {
	d := command.NewDecoder(b)
	pieces = int64(d.Uvarint()) // Written from an int64.
	return pieces, d.Err()
}

func (l *loader) loadPurchase(key, value []byte) error {
	if l.m.days.all[dayIn(tablePurchase, binary.BigEndian.Uint32(key))] == nil {
		return errors.New("purchase without day")
	}
	_, err := readPurchase(value)
	return err
}

// OpenReturn is a purchase of which products came back, and whose credits are not all taken back yet.
type OpenReturn struct {
	command.ReturnedPurchase
	Uncredited bool                               // The purchase is still to be credited; the return has to wait for that.
	Items      map[ids.Group][]command.ItemReturn // What came back, by the group of the credits.
}

// OpenReturns lists returns that are to be carried out, oldest purchase first: at most limit. Those of closed marketplaces are
// left out.
func (b Queries) OpenReturns(limit int) (all []OpenReturn) {
	skips := b.skipsClosed()
	b.R.Scan([]byte{tableOpenReturn}, []byte{tableOpenReturn + 1}, func(key, value []byte) bool {
		open := OpenReturn{ReturnedPurchase: command.ReturnedPurchase{
			Purchase: purchaseNameOf(key), Quantity: must(readOpenReturn(value)),
		}}
		if p, kept := b.Purchase(&open.Purchase); !kept || !skips(p.Marketplace) {
			all = append(all, open)
		}
		return len(all) < limit
	})
	for i := range all {
		b.addCredited(&all[i])
	}
	return all
}

func (b Queries) addCredited(o *OpenReturn) {
	_, o.Uncredited = b.R.Get(keyOpenCredit(nil, &o.Purchase))
	p, _ := b.Purchase(&o.Purchase)
	o.Items = make(map[ids.Group][]command.ItemReturn)
	for i := range p.Items {
		if x := &p.Items[i]; x.Credit != 0 && x.Returned > 0 {
			r := command.ItemReturn{Purchase: o.Purchase, Item: uint16(i), Quantity: x.Returned} // Items are at most event.ItemsMax.
			o.Items[x.Credit] = append(o.Items[x.Credit], r)
		}
	}
}

// Purchase returns a purchase of this group, as long as it is kept.
func (b Queries) Purchase(n *command.PurchaseName) (command.Purchase, bool) {
	stored, found := b.R.Get(keyPurchase(nil, dayOf(n.OpenedMillis), &n.Key))
	if !found {
		return command.Purchase{}, false
	}
	return must(readPurchase(stored)), true
}
