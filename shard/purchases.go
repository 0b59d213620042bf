package shard

import (
	"encoding/binary"
	"errors"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// PurchaseAdsMax bounds the ads of a group and marketplace whose purchases are learned one by one. A click on a further
// ad teaches its format only. At the end of a day, ads of which less than one click is left are dropped. BOUND: 32,768
// records of about 80 bytes, read at every start, and 8 MB of memory.
const PurchaseAdsMax = 1 << 15

// purchases is what a group has learned of the purchases after clicks. They are hot records like clickRates.
//
// A counted click and a credited item each teach two cells: that of the format, and that of the ad. What they teach is
// new until it is settled (learn.Purchases). That of an ad is settled when an item is credited to it, that of a format
// when a day begins, because the base bids of all products follow from a format.
//
// INVARIANT: what is published of a cell is a function of the cell and the day, and of nothing that has happened since
// it was settled. So all nodes publish the same at any time, however they batch commands.
type purchases struct {
	cells   map[string]*purchaseCell // By stored key.
	ads     map[uint16]int           // Number of cells of ads by marketplace.
	dirty   []*purchaseCell
	settled []*purchaseCell // Those that auctions do not have as they are.
}

type purchaseCell struct {
	key     string
	of      market.PurchaseCell // What the key says.
	hash    uint64              // Hash of the stored record; 0 when there is none.
	dirty   bool
	settled bool // The cell is among purchases.settled.
	learn.Purchases
}

func newPurchases() purchases {
	return purchases{cells: make(map[string]*purchaseCell), ads: make(map[uint16]int)}
}

// teachClick learns that an ad was clicked, from an event that teach learns from.
func (m *Machine) teachClick(c *campaign, r *command.EventRecord) {
	if m.state.level < command.LevelTargetReturn {
		return
	}
	day := m.tenant(c.Marketplace).periods.Day
	for _, cell := range m.purchaseCells(c, r.Product) {
		if cell != nil {
			cell.Click(day)
			m.markPurchases(cell)
		}
	}
}

// teachCredit learns from an item that was credited to a campaign, the one at a position of a command. A further item of
// the same purchase and bid is no further purchase.
func (m *Machine) teachCredit(c *campaign, all []command.Credit, at int) {
	if m.state.level < command.LevelTargetReturn {
		return
	}
	x := &all[at]
	further := false
	for i := at - 1; i >= 0 && all[i].Purchase == x.Purchase && !further; i-- {
		further = all[i].Campaign == x.Campaign && all[i].Bid == x.Bid
	}
	value := valueOf(x)
	m.returnValue(c, value)
	var product []byte
	if c.Format == model.Listing {
		if stored, found := m.get(keyBid(nil, c.Ordinal, x.Bid)); found {
			product = []byte(mustBid(stored).Target)
		}
	}
	day := m.tenant(c.Marketplace).periods.Day
	for _, cell := range m.purchaseCells(c, product) {
		if cell == nil {
			continue
		}
		cell.Add(day, further, value)
		m.markPurchases(cell)
		if !cell.of.IsFormat() {
			cell.Settle()
			m.markSettled(cell)
		}
	}
}

// valueOf returns the price of all pieces of a credited item, which saturates.
func valueOf(x *command.Credit) money.Micros {
	value, ok := money.Mul(x.UnitPrice, x.Quantity) // The quantity is positive.
	if !ok {
		return money.MaxMicros
	}
	return value
}

// purchaseCells returns the cells that a click on an ad of a campaign teaches: that of the format, and that of the ad, which is
// nil when the product is not known or the marketplace may have no more.
func (m *Machine) purchaseCells(c *campaign, product []byte) (cells [2]*purchaseCell) {
	m.key = keyPurchases(m.key[:0], c.Marketplace, c.Format)
	cells[0] = m.purchaseCell()
	switch {
	case c.Format != model.Listing:
		m.key = appendU32(m.key, c.Ordinal)
	case len(product) == 0:
		return cells
	default:
		m.key = append(m.key, product...)
	}
	cells[1] = m.purchaseCell()
	return cells
}

// purchaseCell returns the cell whose key is m.key. It is nil when there is none and the marketplace may have no more.
func (m *Machine) purchaseCell() *purchaseCell {
	cell := m.purchases.cells[string(m.key)]
	if cell == nil {
		cell = newPurchaseCell(string(m.key))
		if !m.addPurchaseCell(cell) {
			return nil
		}
	}
	return cell
}

func newPurchaseCell(key string) *purchaseCell {
	return &purchaseCell{key: key, of: purchaseCellOf(key)}
}

// addPurchaseCell adds a cell, unless it is one ad too many.
func (m *Machine) addPurchaseCell(cell *purchaseCell) bool {
	if !cell.of.IsFormat() {
		if m.purchases.ads[cell.of.Marketplace] >= m.purchaseAdsMax {
			return false
		}
		m.purchases.ads[cell.of.Marketplace]++
	}
	m.purchases.cells[cell.key] = cell
	return true
}

// markPurchases makes Flush write a cell.
func (m *Machine) markPurchases(cell *purchaseCell) {
	if !cell.dirty {
		cell.dirty = true
		m.purchases.dirty = append(m.purchases.dirty, cell)
	}
}

// markSettled makes EndBatch publish a cell.
func (m *Machine) markSettled(cell *purchaseCell) {
	m.changed = true // Base bids are part of the view.
	if !cell.settled {
		cell.settled = true
		m.purchases.settled = append(m.purchases.settled, cell)
	}
}

// publishPurchases publishes the settled cells.
func (m *Machine) publishPurchases() {
	for _, cell := range m.purchases.settled {
		cell.settled = false
		if m.purchases.cells[cell.key] == cell { // Else it was dropped since.
			m.publishPurchase(cell)
		}
	}
	m.purchases.settled = m.purchases.settled[:0]
}

// publishPurchase publishes a cell as it is on the marketplace's current day, without what is new.
func (m *Machine) publishPurchase(cell *purchaseCell) {
	now := cell.Purchases
	now.Decay(m.tenant(cell.of.Marketplace).periods.Day)
	m.feed.PutPurchases(m.group, &cell.of, now.Bought)
}

// flushPurchases writes the cells that the batch has changed, and publishes the settled ones.
func (m *Machine) flushPurchases() {
	m.publishPurchases()
	for _, cell := range m.purchases.dirty {
		cell.dirty = false
		if m.purchases.cells[cell.key] != cell {
			continue // Dropped since.
		}
		m.key = append(m.key[:0], cell.key...)
		m.value = appendPurchases(m.value[:0], &cell.Purchases)
		cell.hash = m.replace(m.key, m.value, cell.hash)
	}
	m.purchases.dirty = m.purchases.dirty[:0]
}

// rollPurchases begins a local day of a marketplace: it publishes all cells, and drops the ads of which less than one
// click is left.
func (m *Machine) rollPurchases(marketplace uint16) {
	day := m.tenant(marketplace).periods.Day
	for key, cell := range m.purchases.cells { // order: every cell is handled for itself.
		if cell.of.Marketplace != marketplace {
			continue
		}
		m.changed = true
		now := cell.Purchases
		now.Decay(day)
		if cell.of.IsFormat() || !now.Forgotten() {
			m.feed.PutPurchases(m.group, &cell.of, now.Bought)
			continue
		}
		delete(m.purchases.cells, key)
		m.purchases.ads[marketplace]--
		m.feed.PutPurchases(m.group, &cell.of, learn.Bought{})
		if cell.hash != 0 {
			m.digest ^= cell.hash
			m.written = true
			m.key = append(m.key[:0], key...)
			m.b.Delete(m.key)
		}
	}
}

// loadPurchases restores a cell. The periods of its marketplace are loaded already.
func (l *loader) loadPurchases(key, value []byte, hash uint64) error {
	if !isPurchaseKey(key) {
		return errKey
	}
	cell := newPurchaseCell(string(key))
	if err := readPurchases(&cell.Purchases, value); err != nil {
		return err
	}
	cell.hash = hash
	if !l.m.addPurchaseCell(cell) {
		return errors.New("purchases of one ad too many")
	}
	l.m.publishPurchase(cell)
	return nil
}

// purchaseKeyMin is the length of the key of a format: table, marketplace and format.
const purchaseKeyMin = 1 + 2 + 1

func keyPurchases(dst []byte, marketplace uint16, format model.AdFormat) []byte {
	return append(appendU16(append(dst, tablePurchases), marketplace), byte(format))
}

// isPurchaseKey reports whether a key is one that purchaseCells makes.
func isPurchaseKey(key []byte) bool {
	if len(key) < purchaseKeyMin || int(key[3]) >= model.AdFormats {
		return false
	}
	rest := key[purchaseKeyMin:]
	return len(rest) == 0 || model.AdFormat(key[3]) == model.Listing || len(rest) == 4 && binary.BigEndian.Uint32(rest) != 0
}

// purchaseCellOf returns what a key names. REQUIRES: isPurchaseKey.
func purchaseCellOf(key string) market.PurchaseCell {
	c := market.PurchaseCell{Marketplace: uint16(key[1])<<8 | uint16(key[2]), Format: model.AdFormat(key[3])}
	switch rest := key[purchaseKeyMin:]; {
	case c.Format == model.Listing:
		c.Product = rest
	case rest != "":
		c.Campaign = binary.BigEndian.Uint32([]byte(rest))
	}
	return c
}

func appendPurchases(dst []byte, p *learn.Purchases) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.Day)
	for _, x := range [...]uint64{p.Clicks, p.Pending, p.Purchases, p.Value, p.New.Clicks, p.New.Purchases, p.New.Value} {
		dst = binary.AppendUvarint(dst, x)
	}
	return dst
}

func readPurchases(p *learn.Purchases, stored []byte) error {
	d := command.NewDecoder(stored)
	p.Day = d.U32()
	for _, x := range [...]*uint64{&p.Clicks, &p.Pending, &p.Purchases, &p.Value, &p.New.Clicks, &p.New.Purchases, &p.New.Value} {
		*x = d.Uvarint()
	}
	return d.Err()
}
