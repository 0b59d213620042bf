package shard

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

// A marketplace may keep its touches for less than daysKept days (model.Marketplace.TouchDays). A day is dropped as a
// whole for all marketplaces, so touches of one of them are deleted one by one, a few with each Advance. The state has
// the day from which on the marketplace may have touches, so that every replica deletes the same ones.
// INVARIANT: a marketplace has no touches of days before tenant.touchesFrom.

// touchesPurged is how many touches of a marketplace an Advance deletes. BOUND: some 10 ms; there is an Advance every
// second, so this is more than a group can count in a day.
const touchesPurged = 2_000

// setTouchDays takes over the setting of a marketplace.
func (t *tenant) setTouchDays(x *model.Marketplace) {
	t.touchDays = daysKept
	if x.TouchDays > 0 {
		t.touchDays = uint32(x.TouchDays)
	}
}

// keepsTouches reports whether a marketplace stores touches of a day.
func (m *Machine) keepsTouches(marketplace uint16, day uint32) bool {
	t := m.tenant(marketplace)
	return t.touchDays == 0 || day >= max(t.touchesFrom, m.firstDay(t.touchDays))
}

// purgeTouches deletes touches that their marketplaces do not keep any more.
func (m *Machine) purgeTouches() {
	for _, marketplace := range slices.Sorted(maps.Keys(m.marketplaces)) {
		t := m.tenant(marketplace)
		if t.touchDays == 0 || t.touchDays >= daysKept {
			continue
		}
		first := m.firstDay(t.touchDays)
		if from := m.purgedTo(marketplace, max(t.touchesFrom, m.firstDay(daysKept)), first); from > t.touchesFrom {
			t.touchesFrom = from
			m.put(keyTouchesFrom(nil, marketplace), binary.BigEndian.AppendUint32(nil, from))
		}
	}
}

// purgedTo deletes some touches, purchases of users, buyers of purchases, enrolments and participants, of a marketplace of
// days from up to, but without, to. It returns the first of these days that may still have some.
func (m *Machine) purgedTo(marketplace uint16, from, to uint32) uint32 {
	for left := m.touchesPurged; from < to; from++ {
		id := dayIn(tableTouch, from)
		if m.days.all[id] != nil {
			some := m.touchesUnder(appendU16(appendU32([]byte{tableTouch}, from), marketplace), left+1)
			m.eraseTouches(id, some[:min(left, len(some))])
			left -= len(some)
		}
		if left >= 0 {
			left -= m.purgeBought(marketplace, from, left)
		}
		if left >= 0 {
			left -= m.purgeBuyers(marketplace, from, left)
		}
		if left >= 0 {
			left -= m.purgeEnrolments(marketplace, from, left)
		}
		if left >= 0 {
			left -= m.purgeParticipants(marketplace, from, left)
		}
		if left < 0 {
			return from
		}
	}
	return from
}

// storedTouch is the key of a touch and the hash of its record.
type storedTouch struct {
	key  []byte
	hash uint64
}

// touchesUnder returns the first touches under a prefix of keys, as the batch has left them so far: at most limit.
func (m *Machine) touchesUnder(prefix []byte, limit int) (all []storedTouch) {
	m.b.Scan(prefix, prefixEnd(prefix), func(key, value []byte) bool {
		if _, erased := m.overlay[string(key)]; !erased {
			all = append(all, storedTouch{slices.Clone(key), m.hashOf(key, value)})
		}
		return len(all) < limit
	})
	for i := range m.touchCounts.fresh {
		if f := &m.touchCounts.fresh[i]; bytes.HasPrefix(f.key[:], prefix) {
			all = append(all, storedTouch{slices.Clone(f.key[:]), f.hash})
		}
	}
	slices.SortFunc(all, func(a, b storedTouch) int { return bytes.Compare(a.key, b.key) })
	return all[:min(limit, len(all))]
}

// eraseTouches deletes touches of a day.
func (m *Machine) eraseTouches(id dayID, all []storedTouch) {
	for _, x := range all {
		m.digest ^= x.hash
		m.written = true
		m.overlay[string(x.key)] = nil
		m.b.Delete(x.key)
		m.takeFromDay(id, x.hash)
		delete(m.touchCounts.full, touchesWith(x.key)) // There is space again.
	}
	if len(all) == 0 {
		return
	}
	m.touchCounts.fresh = slices.DeleteFunc(m.touchCounts.fresh, func(f freshTouch) bool {
		_, erased := m.overlay[string(f.key[:])]
		return erased
	})
}

// TouchesFrom returns the first day of which the group may still have touches of a marketplace.
func (b Queries) TouchesFrom(marketplace uint16) uint32 {
	first := dayOf(b.Clock())
	first -= min(first, daysKept-1)
	if stored, found := b.R.Get(keyTouchesFrom(nil, marketplace)); found {
		first = max(first, binary.BigEndian.Uint32(stored))
	}
	return first
}

func (l *loader) loadTouchesFrom(marketplace uint16, d *command.Decoder) error {
	rest := d.Rest()
	if len(rest) != 4 {
		return errKey
	}
	l.m.tenant(marketplace).touchesFrom = binary.BigEndian.Uint32(rest)
	return nil
}
