package shard

import (
	"encoding/binary"
	"slices"

	"github.com/gavel-ads/gavel/shard/event"
)

// touchesOf names the touches of one kind of a user on a day.
type touchesOf struct {
	user        uint64
	day         uint32
	marketplace uint16
	kind        event.Kind
}

// touchesWith names the touches among which is the one with a key.
func touchesWith(key []byte) touchesOf {
	return touchesOf{
		user: binary.BigEndian.Uint64(key[7:]), day: binary.BigEndian.Uint32(key[1:]), marketplace: binary.BigEndian.Uint16(key[5:]),
		kind: event.Kind(key[15]),
	}
}

// touchCounts says whether a user may have more touches. An exact count would be a read for each event or a counter for
// each user, so a small table of counters says in memory that there are less than TouchesMax; users may share a counter.
// Only when the table does not say so are the stored touches counted. The table decides only whether they are read, so
// replicas whose tables differ have equal results.
// INVARIANT: a counter of a recent day is at least the number of the touches of each of its users.
type touchCounts struct {
	recent map[uint32]*countTable // By day: that of the state clock, the one before, and later ones.
	fresh  []freshTouch           // The touches of the batch, which reads of the state do not see.
	// full remembers users with TouchesMax touches, so that they are counted once. BOUND: fullMax. INVARIANT: none of these
	// touches has been erased, so that a replica that has just started, and counts them, has the same results.
	full map[touchesOf]struct{}
}

// freshTouch is a touch that the batch has stored.
type freshTouch struct {
	touchesOf
	key  [touchKeyLen]byte
	hash uint64 // Of its record.
}

// countTable has counters that stay at their largest value.
type countTable struct {
	counters []uint8 // Their number is a power of 2.
	sum      int
}

const (
	countersMin = 1 << 10
	// countersMax bounds a table. BOUND: 1 MiB for each of two days. Beyond some 50 million touches a day and group, more
	// users share counters and more touches are counted by reading, which is slower and gives the same answers.
	countersMax = 1 << 20
	sharedMax   = 8 // Touches for each counter, on average, before a table grows.
	fullMax     = 1 << 16
)

func newTouchCounts() touchCounts {
	return touchCounts{recent: make(map[uint32]*countTable), full: make(map[touchesOf]struct{})}
}

// admitTouch reports whether a touch is stored, and counts it.
func (m *Machine) admitTouch(of touchesOf) bool {
	t := &m.touchCounts
	if _, full := t.full[of]; full {
		return false
	}
	today := dayOf(m.state.now)
	if t.atMost(of, today) >= m.touchesMax && m.countTouches(of) >= m.touchesMax {
		t.noteFull(of)
		return false
	}
	t.add(of, today)
	return true
}

// countTouches counts the stored touches and those of the batch, without those that the batch has erased.
func (m *Machine) countTouches(of touchesOf) (n int) {
	m.key = append(keyTouches(m.key[:0], of.day, of.marketplace, of.user), byte(of.kind))
	from := slices.Clone(m.key)
	m.b.Scan(from, prefixEnd(from), func(key, _ []byte) bool {
		if _, erased := m.overlay[string(key)]; !erased {
			n++
		}
		return n < m.touchesMax
	})
	for i := range m.touchCounts.fresh {
		if m.touchCounts.fresh[i].touchesOf == of {
			n++
		}
	}
	return n
}

// noteFull remembers a user who has all touches of the day, and forgets the others when there are too many.
func (t *touchCounts) noteFull(of touchesOf) {
	if len(t.full) >= fullMax {
		clear(t.full)
	}
	t.full[of] = struct{}{}
}

// atMost returns a number that the user's touches do not exceed, as far as a table of the day says.
func (t *touchCounts) atMost(of touchesOf, today uint32) int {
	if of.day+1 < today {
		return TouchesMax // The day's table is not kept up any more.
	}
	if table := t.recent[of.day]; table != nil {
		return int(*table.counter(of))
	}
	return 0 // None of the day's touches is stored.
}

// add counts a touch if its day is recent on a day of the state clock. The first touch of a recent day begins its table:
// a day that is recent has been so since its first touch, because the state clock never goes back.
func (t *touchCounts) add(of touchesOf, today uint32) {
	if of.day+1 < today {
		return
	}
	table := t.recent[of.day]
	if table == nil {
		table = &countTable{counters: make([]uint8, countersMin)}
		t.recent[of.day] = table
	}
	table.add(of)
}

// forget drops the tables of days that are not recent on a day of the state clock.
func (t *touchCounts) forget(today uint32) {
	for day := range t.recent { // order: every old table is dropped.
		if day+1 < today {
			delete(t.recent, day)
		}
	}
	clear(t.full)
}

func (c *countTable) add(of touchesOf) {
	if c.sum >= sharedMax*len(c.counters) && len(c.counters) < countersMax {
		c.counters = append(c.counters, c.counters...) // Both halves are at least as large as they have to be.
	}
	c.sum++
	if n := c.counter(of); *n < 1<<8-1 {
		*n++
	}
}

func (c *countTable) counter(of touchesOf) *uint8 {
	h := (of.user ^ uint64(of.marketplace)<<8 ^ uint64(of.kind)) * 0x9e3779b97f4a7c15 // 2^64 / golden ratio.
	return &c.counters[h>>32&uint64(len(c.counters)-1)]
}
