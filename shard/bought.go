package shard

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
)

// What a user bought is stored by day and user, beside the purchases themselves, which do not name their users. Only
// marketplaces with a dynamic segment about purchases store it, and only dynamic segments read it.

// boughtDaysKept is how many UTC days, the current one included, are kept: an event counts for event.CountMillis.
const boughtDaysKept = event.CountMillis/dayMillis + 2

// boughtBytesMax bounds the record of a user and day. BOUND: without it a shop that reports all purchases as one user's
// would make each of them rewrite all those before. It is enough for some hundred purchases; further ones of the day are
// counted and credited, and count for no segment.
const boughtBytesMax = 16 << 10

// UserPurchase is a purchase of a user.
type UserPurchase struct {
	OccurredMillis int64
	ReceivedMillis int64 // The state clock at its commit.
	Items          []BoughtItem
}

// BoughtItem is an item of a purchase.
type BoughtItem struct {
	Product string
	Vendor  string // As reported; may be empty.
}

// rememberBought stores a purchase of a user, and marks the user, if the marketplace watches purchases.
func (m *Machine) rememberBought(marketplace uint16, r *command.EventRecord) {
	day := dayOf(r.OccurredMillis)
	if r.UserHash == 0 || !m.watches(marketplace, event.Purchase) || !m.keepsTouches(marketplace, day) {
		return
	}
	key := keyBought(nil, day, marketplace, r.UserHash)
	stored, _ := m.get(key)
	value := appendBought(append([]byte{}, stored...), m.state.now, r)
	if len(value) > boughtBytesMax {
		return
	}
	m.putOfDay(dayIn(tableBought, day), key, value)
	m.markAction(marketplace, r.UserHash, event.Purchase)
}

// appendBought appends a purchase to the record of its day.
func appendBought(dst []byte, now int64, r *command.EventRecord) []byte {
	millis := max(r.OccurredMillis, 0)
	dst = binary.AppendUvarint(dst, uint64(millis%dayMillis)) // Not negative.
	dst = binary.AppendVarint(dst, now-millis)
	dst = binary.AppendUvarint(dst, uint64(len(r.Items)))
	for i := range r.Items {
		dst = command.AppendBytes(dst, r.Items[i].ProductID)
		dst = command.AppendBytes(dst, r.Items[i].VendorID)
	}
	return dst
}

func readBought(day uint32, value []byte) (all []UserPurchase, err error) {
	d := command.NewDecoder(value)
	for d.More() {
		p := UserPurchase{OccurredMillis: int64(day)*dayMillis + int64(d.Uvarint()%dayMillis)}
		p.ReceivedMillis = p.OccurredMillis + d.Varint()
		p.Items = make([]BoughtItem, d.Count(2))
		for i := range p.Items {
			p.Items[i] = BoughtItem{Product: d.Text(), Vendor: d.Text()}
		}
		all = append(all, p)
	}
	return all, d.Err()
}

// PurchasesOf calls fn for the purchases of a user on days [from, to] that were stored for dynamic segments, oldest day first.
func (b Queries) PurchasesOf(marketplace uint16, user uint64, from, to uint32, fn func(*UserPurchase)) {
	for day := from; day <= to; day++ {
		stored, found := b.R.Get(keyBought(nil, day, marketplace, user))
		if !found {
			continue
		}
		all := must(readBought(day, stored))
		for i := range all {
			fn(&all[i])
		}
	}
}

// UsersOn lists the users of a marketplace with a touch or a purchase on a day: those after a user, ascending, at most limit.
func (b Queries) UsersOn(marketplace uint16, day uint32, after uint64, limit int) (users []uint64) {
	for len(users) < limit && after < 1<<64-1 {
		next, found := uint64(0), false
		for _, table := range [...]byte{tableTouch, tableBought} {
			of := appendU16(appendU32([]byte{table}, day), marketplace)
			b.R.Scan(appendU64(slices.Clip(of), after+1), prefixEnd(of), func(key, _ []byte) bool {
				if user := binary.BigEndian.Uint64(key[7:]); !found || user < next {
					next, found = user, true
				}
				return false
			})
		}
		if !found {
			break
		}
		users = append(users, next)
		after = next
	}
	return users
}

func (l *loader) loadBought(key, value []byte) error {
	day := binary.BigEndian.Uint32(key[1:])
	if l.m.days.all[dayIn(tableBought, day)] == nil {
		return errors.New("purchases of a user without day")
	}
	_, err := readBought(day, value)
	return err
}

// purgeBought deletes purchases of users of a marketplace and day that are stored for dynamic segments, at most limit
// records. It returns how many there were, or limit+1 when there are more.
func (m *Machine) purgeBought(marketplace uint16, day uint32, limit int) int {
	id := dayIn(tableBought, day)
	if m.days.all[id] == nil {
		return 0
	}
	keys := m.coldKeys(appendU16(appendU32([]byte{tableBought}, day), marketplace), limit+1)
	for _, key := range keys[:min(limit, len(keys))] {
		m.putOfDay(id, key, nil)
	}
	return len(keys)
}

// keyBought names what a user bought on a day.
func keyBought(dst []byte, day uint32, marketplace uint16, user uint64) []byte {
	return appendU64(appendU16(appendU32(append(dst, tableBought), day), marketplace), user)
}
