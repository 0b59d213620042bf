package shard

import (
	"encoding/binary"
	"errors"
	"slices"
	"sort"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/money"
)

// StoredEvent is an event as it was reported, with what became of it. A marketplace may keep its events for some days
// (model.Marketplace.EventDays), so that they can be exported. Nothing in the machine reads them: what charges, reports and
// attribution need is stored for itself, whether events are kept or not. Reports that changed nothing, because they were
// repeated or too old, are not kept.
//
// The user is left out, so that what leaves the node identifies nobody, and nothing has to be found when a user is erased.
//
// The events of a marketplace and UTC day are numbered from 0 in the order of their commits, so that they are written one
// after the other and without a read, and the first one of an hour is found by bisection. A day is dropped as a whole.
// INVARIANT: the numbers of a day have no gaps, and CommittedMillis never falls from one to the next.
type StoredEvent struct {
	CommittedMillis int64
	Outcome         command.Outcome
	Charged         money.Micros
	command.EventRecord
}

// EventsMax is how many events a group keeps of a marketplace and UTC day. BOUND: some 7 GB. Further ones are charged and
// counted, and not kept.
const EventsMax = 1 << 26

// storeEvent keeps a new event, if its marketplace keeps them.
func (m *Machine) storeEvent(marketplace uint16, r *command.EventRecord, result *command.EventResult) {
	if m.tenant(marketplace).eventDays == 0 {
		return
	}
	id := dayID{tableEvent, dayOf(m.state.now), marketplace}
	number := uint64(0)
	if d := m.days.all[id]; d != nil {
		number = d.count
	}
	if number >= uint64(m.eventsMax) { // Positive.
		return
	}
	nameless := *r
	nameless.UserHash = 0
	m.key = appendU32(appendDayID(m.key[:0], id), uint32(number)) // Below EventsMax.
	m.value = appendStoredEvent(m.value[:0], m.state.now, &nameless, result)
	m.addToDay(id, m.add(m.key, m.value))
}

// purgeEvents drops the days that their marketplaces do not keep any more. It runs with each Advance and follows from the
// state alone, so that all replicas drop a day with the same command, also when a setting was changed just before.
func (m *Machine) purgeEvents() {
	var gone []dayID
	for id := range m.days.all { // order: sorted below.
		if id.table == tableEvent && !m.keepsEvents(id) {
			gone = append(gone, id)
		}
	}
	slices.SortFunc(gone, compareDays)
	for _, id := range gone {
		m.dropDay(m.days.all[id])
	}
}

// keepsEvents reports whether a marketplace still keeps the events of a day.
func (m *Machine) keepsEvents(id dayID) bool {
	kept := m.tenant(id.marketplace).eventDays
	return kept > 0 && id.day >= m.firstDay(kept)
}

// Events calls fn for the events of a marketplace that the group keeps of a UTC day, in the order of their commits from a
// number on, until fn returns false. fn may keep what it gets.
func (b Queries) Events(marketplace uint16, day, from uint32, fn func(number uint32, e *StoredEvent) bool) {
	prefix := appendDayID(nil, dayID{tableEvent, day, marketplace})
	b.R.Scan(appendU32(slices.Clone(prefix), from), prefixEnd(prefix), func(key, value []byte) bool {
		e := must(readStoredEvent(day, slices.Clone(value)))
		return fn(binary.BigEndian.Uint32(key[len(prefix):]), &e)
	})
}

// FirstEvent returns the number of the first event of a marketplace and UTC day that was committed at a time or later, in Unix
// milliseconds; without one, the number of events of the day.
func (b Queries) FirstEvent(marketplace uint16, day uint32, millis int64) (number uint32) {
	id := dayID{tableEvent, day, marketplace}
	stored, found := b.R.Get(keyDay(nil, id))
	if !found {
		return 0
	}
	count := int(binary.LittleEndian.Uint64(stored)) // As flushDays writes it; at most EventsMax.
	prefix := appendDayID(nil, id)
	return uint32(sort.Search(count, func(i int) bool { // At most count.
		value, _ := b.R.Get(appendU32(slices.Clone(prefix), uint32(i))) // Numbers have no gaps.
		e := must(readStoredEvent(day, value))
		return e.CommittedMillis >= millis
	}))
}

// eventKeyLen is the length of a key of tableEvent.
const eventKeyLen = 1 + 4 + 2 + 4

func appendStoredEvent(dst []byte, now int64, r *command.EventRecord, result *command.EventResult) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(now%dayMillis)) // Less than a day, and not negative: the state clock is after 1970.
	dst = append(dst, byte(result.Outcome))
	dst = binary.AppendUvarint(dst, uint64(result.Charged)) // Not negative.
	return command.AppendEventRecord(dst, r)
}

// readStoredEvent reads the value of an event of a day. OWNERSHIP: its texts alias the value.
func readStoredEvent(day uint32, value []byte) (e StoredEvent, err error) {
	d := command.NewDecoder(value)
	e.CommittedMillis = int64(day)*dayMillis + int64(d.U32())
	e.Outcome, e.Charged = command.Outcome(d.Enum(uint8(command.Outcomes))), money.Micros(d.Uvarint()) // Written from a Micros.
	command.ReadEventRecord(&d, &e.EventRecord)
	return e, d.Err()
}

func (l *loader) loadEvent(key, value []byte) error {
	day := binary.BigEndian.Uint32(key[1:])
	if l.m.days.all[dayID{tableEvent, day, binary.BigEndian.Uint16(key[5:])}] == nil {
		return errors.New("event without day")
	}
	_, err := readStoredEvent(day, value)
	return err
}
