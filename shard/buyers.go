package shard

import (
	"encoding/binary"
	"errors"

	"github.com/gavel-ads/gavel/shard/command"
)

// What a purchase was credited to can be computed again, and be compared with other models, while two things are stored:
// the touches, and who bought what. The open credit is deleted once it is carried out, so the decision moves the buyer and
// the sellers from it into the stored purchase (command.Purchase.Buyer). tableBuyer finds the purchases of a user, so that
// the user can be erased from them. A purchase of one item takes some 50 bytes more for it.
// INVARIANT: a purchase with a Buyer has a record in tableBuyer, on its day and of that user, and the other way round.

// keepBuyer stores with a decided purchase what its credits follow from.
func (m *Machine) keepBuyer(p *command.Purchase, o *command.OpenCredit, d *command.CreditDecision) {
	day := dayOf(d.Purchase.OpenedMillis)
	if m.state.level < command.LevelModels || o.UserHash == 0 || !m.keepsTouches(p.Marketplace, day) {
		return
	}
	p.Buyer, p.Attribution = o.UserHash, d.Attribution
	for i := range p.Items {
		if i < len(o.Items) {
			p.Items[i].VendorID = o.Items[i].VendorID
		}
	}
	m.putOfDay(dayIn(tableBuyer, day), keyBuyer(nil, day, p.Marketplace, o.UserHash, &d.Purchase.Key), []byte{})
}

// forgetBuyers erases a user from the purchases that were credited.
func (m *Machine) forgetBuyers(marketplace uint16, user uint64) {
	for _, id := range m.daysOf(tableBuyer) {
		prefix := appendU64(appendU16(appendU32([]byte{tableBuyer}, id.day), marketplace), user)
		for _, key := range m.coldKeys(prefix, 1<<31-1) {
			m.dropBuyer(id, key)
		}
	}
}

// purgeBuyers erases the buyers of the purchases of a marketplace and day, at most limit. It returns how many there were, or
// limit+1 when there are more.
func (m *Machine) purgeBuyers(marketplace uint16, day uint32, limit int) int {
	id := dayIn(tableBuyer, day)
	if m.days.all[id] == nil {
		return 0
	}
	keys := m.coldKeys(appendU16(appendU32([]byte{tableBuyer}, day), marketplace), limit+1)
	for _, key := range keys[:min(limit, len(keys))] {
		m.dropBuyer(id, key)
	}
	return len(keys)
}

// dropBuyer erases the buyer of a purchase, and the purchase from those of the user.
func (m *Machine) dropBuyer(id dayID, key []byte) {
	purchase := [16]byte(key[buyerKeyLen-16:])
	m.putOfDay(id, key, nil)
	stored, found := m.get(keyPurchase(nil, id.day, &purchase))
	if !found {
		return
	}
	p := must(readPurchase(stored))
	p.Buyer, p.Attribution = 0, 0
	for i := range p.Items {
		p.Items[i].VendorID = ""
	}
	m.storePurchase(&command.PurchaseName{OpenedMillis: p.OpenedMillis, Key: purchase}, &p)
}

// StoredPurchase is a purchase that its group keeps.
type StoredPurchase struct {
	Name command.PurchaseName
	command.Purchase
	Pending bool // It is not decided or not credited everywhere yet, or not all that came back is taken out of its credits.
}

// PurchasesOn lists purchases that were opened on a day, in the order of their keys, after a key unless it is nil. It returns
// those of one marketplace, at most limit, and the key of the last purchase that it has looked at, nil at the end of the
// day. BOUND: it looks at scanMax purchases, because a day has the purchases of all marketplaces.
func (b Queries) PurchasesOn(marketplace uint16, day uint32, after *[16]byte, limit, scanMax int) (all []StoredPurchase, last *[16]byte) {
	prefix := appendU32([]byte{tablePurchase}, day)
	from := prefix
	if after != nil {
		from = append(keyPurchase(nil, day, after), 0)
	}
	seen, ended := 0, true
	var newest [16]byte
	b.R.Scan(from, prefixEnd(prefix), func(key, value []byte) bool {
		if len(all) == limit || seen == scanMax {
			ended = false
			return false
		}
		seen, newest = seen+1, [16]byte(key[5:])
		if binary.LittleEndian.Uint16(value) != marketplace { // The first member of a stored purchase.
			return true
		}
		p := StoredPurchase{Purchase: must(readPurchase(value))}
		p.Name = command.PurchaseName{OpenedMillis: p.OpenedMillis, Key: newest}
		all = append(all, p)
		return true
	})
	for i := range all {
		_, open := b.R.Get(keyOpenCredit(nil, &all[i].Name))
		_, returned := b.R.Get(keyOpenReturn(nil, &all[i].Name))
		all[i].Pending = open || returned
	}
	if ended {
		return all, nil
	}
	return all, &newest
}

func keyBuyer(dst []byte, day uint32, marketplace uint16, user uint64, purchase *[16]byte) []byte {
	return append(appendU64(appendU16(appendU32(append(dst, tableBuyer), day), marketplace), user), purchase[:]...)
}

const buyerKeyLen = 1 + 4 + 2 + 8 + 16

func (l *loader) loadBuyer(key []byte) error {
	if l.m.days.all[dayIn(tableBuyer, binary.BigEndian.Uint32(key[1:]))] == nil {
		return errors.New("buyer without day")
	}
	return nil
}
