package shard

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
)

// UnknownProductsMax is how many products that are in no catalog count for themselves: of each marketplace, in each group, on each
// day (UTC) on which their purchases happened. The rest counts as OtherProduct. BOUND: whoever has an auction key may report
// purchases of any ids, and each id is a record for ever that reports by product read. A shop that feeds its catalog sells few
// products that are not in it: those it has just taken out, and those that it has not fed yet.
const UnknownProductsMax = 10_000

// OtherProduct is what purchases of further unknown products count as.
const OtherProduct = "other"

const dayMillis = 24 * 3600 * 1000

// unknownDay names the unknown products of a marketplace on a day.
type unknownDay struct {
	marketplace uint16
	day         uint32 // Unix time / 86,400.
}

// unknowns are those of one day, as memory keeps them: the products are looked up in the durable state.
type unknowns struct {
	count int
	xor   uint64 // Of the hashes of their records, so that they can be dropped whole.
}

// countedAs is the product that an item counts for.
func (m *Machine) countedAs(marketplace uint16, r *command.EventRecord, item *command.PurchaseItem) []byte {
	if !item.Unknown {
		return item.ProductID
	}
	at := unknownDay{marketplace, uint32(min(max(0, r.OccurredMillis)/dayMillis, math.MaxUint32))} //nolint:gosec // clamped.
	m.key = append(prefixUnknown(m.key[:0], at.marketplace, at.day), item.ProductID...)
	if _, found := m.get(m.key); found {
		return item.ProductID
	}
	known := m.unknown[at]
	if known.count >= m.unknownMax {
		return []byte(OtherProduct)
	}
	known.count++
	known.xor ^= m.hashOf(m.key, nil)
	m.unknown[at] = known
	m.putOver(m.key, []byte{}, 0)
	return item.ProductID
}

// purgeUnknown drops the days of which the state clock counts no event any more. INVARIANT: no later event is of such a day,
// because applyEvent refuses what occurred longer than event.CountMillis ago; so it does not matter when a day is dropped.
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
		m.b.DeleteRange(prefix, after(prefix))
		delete(m.unknown, at)
	}
}

// takeUnknown counts a record of an unknown product. key is without its table.
func (l *loader) takeUnknown(key []byte, hash uint64) error {
	if len(key) < 7 {
		return errKey
	}
	at := unknownDay{binary.BigEndian.Uint16(key), binary.BigEndian.Uint32(key[2:])}
	known := l.m.unknown[at]
	l.m.unknown[at] = unknowns{known.count + 1, known.xor ^ hash}
	return nil
}
