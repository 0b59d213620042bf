package shard

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
)

// UnknownProductsMax is how many products outside the catalog have their own counters, for each marketplace, group and
// UTC day of purchase. All further ones are counted together as OtherProduct. BOUND: a client with an auction key may
// report purchases of arbitrary ids, and the counters of each id are kept for ever and read by product reports. A shop
// that feeds its catalog sells few products outside of it: those just removed, and those not fed yet.
const UnknownProductsMax = 10_000

// OtherProduct is the product id under which purchases beyond UnknownProductsMax are counted.
const OtherProduct = "other"

const dayMillis = 24 * 3600 * 1000

// unknownDay names the set of unknown products of a marketplace on a day.
type unknownDay struct {
	marketplace uint16
	day         uint32 // Unix time / 86,400.
}

// unknowns is what memory keeps of an unknownDay; the products themselves are looked up in the durable state.
type unknowns struct {
	count  int
	xor    uint64    // Xor of the hashes of their records, so that all can be deleted without being read.
	filter *idFilter // The products, once there are as many as there may be; nil before it is needed.
}

// reportedProduct returns the product id under which an item is counted: its own, or OtherProduct.
func (m *Machine) reportedProduct(marketplace uint16, r *command.EventRecord, item *command.PurchaseItem) []byte {
	if !item.Unknown {
		return item.ProductID
	}
	at := unknownDay{marketplace, uint32(min(max(0, r.OccurredMillis)/dayMillis, math.MaxUint32))}
	m.key = append(prefixUnknown(m.key[:0], at.marketplace, at.day), item.ProductID...)
	known := m.unknown[at]
	full := known.count >= m.unknownMax
	if full && !m.unknownFilter(at).mayContain(m.key) {
		return []byte(OtherProduct) // Without a read, so that a client that invents ids does not evict what others read.
	}
	if _, found := m.get(m.key); found {
		return item.ProductID
	}
	if full {
		return []byte(OtherProduct)
	}
	known.count++
	known.xor ^= m.hashOf(m.key, nil)
	m.unknown[at] = known
	m.putOver(m.key, []byte{}, 0)
	return item.ProductID
}

// unknownFilter returns the filter of a day on which no more products are added, and builds it at the first call. It decides
// only whether a record is read, so replicas that build it at different times, or not at all, have the same results.
func (m *Machine) unknownFilter(at unknownDay) *idFilter {
	known := m.unknown[at]
	if known.filter != nil {
		return known.filter
	}
	known.filter = &idFilter{}
	prefix := prefixUnknown(nil, at.marketplace, at.day)
	m.b.Scan(prefix, prefixEnd(prefix), func(key, _ []byte) bool {
		known.filter.add(key)
		return true
	})
	for key := range m.overlay { // order: the filter is the union of its keys.
		if strings.HasPrefix(key, string(prefix)) {
			known.filter.add([]byte(key))
		}
	}
	m.unknown[at] = known
	return known.filter
}

// purgeUnknown deletes the days whose events are no longer counted. INVARIANT: no later event belongs to such a day,
// because applyEvent refuses what occurred longer than event.CountMillis ago. So the time of the deletion does not
// affect any result.
func (m *Machine) purgeUnknown() {
	days := slices.SortedFunc(maps.Keys(m.unknown), func(a, b unknownDay) int {
		return cmp.Or(cmp.Compare(a.marketplace, b.marketplace), cmp.Compare(a.day, b.day))
	})
	for _, at := range days {
		if (int64(at.day)+1)*dayMillis > m.state.now-event.CountMillis {
			continue
		}
		m.digest ^= m.unknown[at].xor
		m.written = true
		prefix := prefixUnknown(nil, at.marketplace, at.day)
		m.b.DeleteRange(prefix, prefixEnd(prefix))
		delete(m.unknown, at)
	}
}

// loadUnknown counts a record of an unknown product. key is without its table.
func (l *loader) loadUnknown(key []byte, hash uint64) error {
	if len(key) < 7 {
		return errKey
	}
	at := unknownDay{binary.BigEndian.Uint16(key), binary.BigEndian.Uint32(key[2:])}
	known := l.m.unknown[at]
	l.m.unknown[at] = unknowns{count: known.count + 1, xor: known.xor ^ hash}
	return nil
}
