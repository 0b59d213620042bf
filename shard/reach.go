package shard

import "github.com/gavel-ads/gavel/shard/command"

// PurchaseDays is how many UTC days, the current one included, purchases and their buyers are kept.
const PurchaseDays = purchaseDaysKept

// UserRange is a range of the hashes of users. Both ends belong to it.
type UserRange struct{ First, Last uint64 }

// TouchesOfUsers calls fn for the touches of the users of a range on a UTC day, in the order of the users and, of each of
// them, impressions before clicks, until fn returns false. OWNERSHIP: a Touch is valid until fn returns.
func (b Queries) TouchesOfUsers(marketplace uint16, day uint32, users UserRange, fn func(*Touch) bool) {
	to := prefixEnd(keyTouches(nil, day, marketplace, users.Last))
	b.R.Scan(keyTouches(nil, day, marketplace, users.First), to, func(key, value []byte) bool {
		t := must(readTouch(key, value))
		return fn(&t)
	})
}

// NamedPurchase is a purchase that its group keeps, and its name.
type NamedPurchase struct {
	Name command.PurchaseName
	command.Purchase
}

// BuyerPosition is a position in the purchases of a day in the order of their buyers. The zero position is before all.
type BuyerPosition struct {
	Buyer    uint64
	Purchase [16]byte
}

// PurchasesOfUsers lists the purchases that were opened on a UTC day and whose buyers are in a range, in the order of the
// buyers, after a position: at most limit. more says that others follow the last one.
func (b Queries) PurchasesOfUsers(marketplace uint16, day uint32, users UserRange, after BuyerPosition, limit int) (all []NamedPurchase, more bool) {
	from := keyBuyer(nil, day, marketplace, users.First, new([16]byte))
	if after != (BuyerPosition{}) {
		from = append(keyBuyer(nil, day, marketplace, after.Buyer, &after.Purchase), 0)
	}
	var keys [][16]byte
	to := keyBuyer(nil, day, marketplace, users.Last, new([16]byte))
	b.R.Scan(from, prefixEnd(to[:len(to)-16]), func(key, _ []byte) bool {
		if more = len(keys) == limit; !more {
			keys = append(keys, [16]byte(key[buyerKeyLen-16:]))
		}
		return !more
	})
	for i := range keys {
		stored, _ := b.R.Get(keyPurchase(nil, day, &keys[i])) // INVARIANT: it is there, see tableBuyer.
		p := NamedPurchase{Purchase: must(readPurchase(stored))}
		p.Name = command.PurchaseName{OpenedMillis: p.OpenedMillis, Key: keys[i]}
		all = append(all, p)
	}
	return all, more
}
