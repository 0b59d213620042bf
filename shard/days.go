package shard

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
)

// dayID names the records of a UTC day in a table whose keys begin with the day.
type dayID struct {
	table       byte
	day         uint32 // Unix time / 86,400.
	marketplace uint16 // In a table whose days are dropped by marketplace; else 0.
}

// dayIn names the records of a day in a table whose days are dropped for all marketplaces at once.
func dayIn(table byte, day uint32) dayID { return dayID{table: table, day: day} }

// days are the days whose records are stored. A day is dropped as a whole: the xor of the hashes of its records is
// stored, so that none of them has to be read.
type days struct {
	all   map[dayID]*dayRecords
	dirty []*dayRecords
}

type dayRecords struct {
	id      dayID
	count   uint64
	xor     uint64
	hash    uint64 // Hash of the stored tableDay record; 0 when there is none.
	dirty   bool
	dropped bool // This batch has dropped it.
}

func newDays() days { return days{all: make(map[dayID]*dayRecords)} }

// dayOf returns the UTC day of a time in Unix milliseconds; times before 1970 are on day 0.
func dayOf(millis int64) uint32 { return uint32(max(millis, 0) / dayMillis) } // It fits until the year 11,000,000.

// firstDay returns the first of a number of days that end with that of the state clock.
func (m *Machine) firstDay(kept uint32) uint32 {
	today := dayOf(m.state.now)
	return today - min(today, kept-1)
}

// addToDay counts a new record of a day. hash is the record's, which the caller has written.
func (m *Machine) addToDay(id dayID, hash uint64) {
	d := m.changeDay(id)
	d.count++
	d.xor ^= hash
}

// takeFromDay counts a record of a day that the caller has deleted.
func (m *Machine) takeFromDay(id dayID, hash uint64) {
	d := m.changeDay(id)
	d.count--
	d.xor ^= hash
}

// changeDay returns a day whose records change.
func (m *Machine) changeDay(id dayID) *dayRecords {
	d := m.days.all[id]
	if d == nil {
		d = &dayRecords{id: id}
		m.days.all[id] = d
	}
	if !d.dirty {
		d.dirty = true
		m.days.dirty = append(m.days.dirty, d)
	}
	return d
}

// putOfDay is put for a record of a day.
func (m *Machine) putOfDay(id dayID, key, value []byte) {
	if old, found := m.get(key); found {
		m.takeFromDay(id, m.hashOf(key, old))
	}
	if value != nil {
		m.addToDay(id, m.hashOf(key, value))
	}
	m.put(key, value)
}

// replaceInDay records that a record of a day was replaced: the hashes of its old and its new form.
func (m *Machine) replaceInDay(id dayID, was, now uint64) {
	m.addToDay(id, was^now)
	m.days.all[id].count--
}

// keptOf returns how many UTC days, the current one included, the records of a table are kept.
func keptOf(table byte) uint32 {
	switch table {
	case tablePurchase, tableBuyer, tableEnrolment, tableParticipant:
		return purchaseDaysKept
	case tableUserClicks:
		return userClicksDaysKept
	case tableBought:
		return boughtDaysKept
	default:
		return daysKept
	}
}

func (m *Machine) flushDays() {
	for _, d := range m.days.dirty {
		d.dirty = false
		if d.dropped {
			continue
		}
		m.key = keyDay(m.key[:0], d.id)
		m.value = binary.LittleEndian.AppendUint64(m.value[:0], d.count)
		m.value = binary.LittleEndian.AppendUint64(m.value, d.xor)
		d.hash = m.replace(m.key, m.value, d.hash)
	}
	m.days.dirty = m.days.dirty[:0]
}

// compareDays orders days by table, day and marketplace.
func compareDays(a, b dayID) int {
	return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.day, b.day), cmp.Compare(a.marketplace, b.marketplace))
}

// purgeDays drops the days that are not kept any more, but for those of one marketplace (purgeEvents). INVARIANT: no later
// command adds or needs a record of such a day, because the same comparison with the state clock refuses it. So the time of
// the deletion does not affect any result.
func (m *Machine) purgeDays() {
	ids := slices.SortedFunc(maps.Keys(m.days.all), compareDays)
	for _, id := range ids {
		if id.marketplace == 0 && id.day < m.firstDay(keptOf(id.table)) {
			m.dropDay(m.days.all[id])
		}
	}
	m.touchCounts.forget(dayOf(m.state.now))
}

func (m *Machine) dropDay(d *dayRecords) {
	m.digest ^= d.xor ^ d.hash
	m.written = true
	from := appendDayID(nil, d.id)
	m.b.DeleteRange(from, prefixEnd(from))
	m.b.Delete(keyDay(nil, d.id))
	d.dropped = true // The dirty list may still contain it.
	delete(m.days.all, d.id)
}

// daysWith returns the days of [from, to] of which a table may have records, oldest first. A purchase asks for the links
// and touches of its user on each of up to 90 days, and one reading of this list is cheaper than of days that are empty.
func (b Queries) daysWith(table byte, from, to uint32) (all []uint32) {
	if from > to {
		return nil
	}
	b.R.Scan(keyDay(nil, dayIn(table, from)), prefixEnd(keyDay(nil, dayIn(table, to))), func(key, _ []byte) bool {
		all = append(all, binary.BigEndian.Uint32(key[dayAt:]))
		return true
	})
	return all
}

// dayAt is where the day begins in a key of tableDay.
const dayAt = 2

func (l *loader) loadDay(key []byte, hash uint64) error {
	id := dayID{table: key[0]}
	switch {
	case len(key) == 5 && id.table != tableEvent:
		id.day = binary.BigEndian.Uint32(key[1:])
	case len(key) == 7 && id.table == tableEvent:
		id.day, id.marketplace = binary.BigEndian.Uint32(key[1:]), binary.BigEndian.Uint16(key[5:])
	default:
		return errKey
	}
	l.m.days.all[id] = &dayRecords{id: id, hash: hash, count: l.decoder.U64(), xor: l.decoder.U64()}
	return l.decoder.Err()
}
