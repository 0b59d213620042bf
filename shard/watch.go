package shard

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
)

// A data group marks users whose membership in dynamic segments may have changed: those who did something of which a
// definition depends, and those who were erased. A node evaluates them soon after and has the marks deleted. Marks lie in
// the state, so they outlive the node that would have evaluated them. A marketplace without a dynamic segment watches
// nothing, and its events write nothing here.

// UserMarksMax is how many marks a group keeps. BOUND: they wait while a group cannot be read, for some 30 bytes each.
// Beyond it events leave no marks, and their users are evaluated after a later action.
const UserMarksMax = 1 << 20

// watchUsers replaces which actions of a marketplace mark their users.
func (m *Machine) watchUsers(x *command.WatchUsers) command.Result {
	t := m.tenant(x.Marketplace)
	if t.watched != x.Was {
		return refused(command.Conflict, 0)
	}
	t.watched = x.Kinds
	var value []byte
	if x.Kinds != 0 {
		value = []byte{x.Kinds}
	}
	m.put(keyWatched(nil, x.Marketplace), value)
	return command.Result{}
}

// watches reports whether actions of a kind are watched.
func (m *Machine) watches(marketplace uint16, kind event.Kind) bool {
	return m.tenant(marketplace).watched>>kind&1 != 0
}

// markAction marks the user of an action that was stored, if such actions are watched.
func (m *Machine) markAction(marketplace uint16, user uint64, kind event.Kind) {
	if m.watches(marketplace, kind) && m.marks < m.marksMax {
		m.markUser(marketplace, user)
	}
}

// markUser marks a user at the time of the state clock, once.
func (m *Machine) markUser(marketplace uint16, user uint64) {
	m.key = keyMark(m.key[:0], marketplace, command.UserMark{Millis: max(m.state.now, 0), User: user})
	if _, found := m.get(m.key); !found {
		m.marks++
		m.putOver(m.key, nil, 0)
	}
}

// forgetMarks deletes marks.
//
// INVARIANT: no event adds a mark that was deleted, because an evaluation considers only times that the state clock has
// passed.
func (m *Machine) forgetMarks(x *command.ForgetMarks) command.Result {
	for _, mark := range x.Marks {
		key := keyMark(nil, x.Marketplace, mark)
		if _, found := m.get(key); found {
			m.marks--
			m.put(key, nil)
		}
	}
	return command.Result{}
}

// forgetActions erases the purchases of a user, and has the user evaluated: all actions are gone, so the user leaves the
// dynamic segments, also those into which a running evaluation still puts the user.
func (m *Machine) forgetActions(marketplace uint16, user uint64) {
	for _, id := range m.daysOf(tableBought) {
		m.putOfDay(id, keyBought(nil, id.day, marketplace, user), nil)
	}
	if m.tenant(marketplace).watched != 0 {
		m.markUser(marketplace, user)
	}
}

// Watched returns which actions of a marketplace mark their users, one bit for each kind.
func (b Queries) Watched(marketplace uint16) uint8 {
	stored, found := b.R.Get(keyWatched(nil, marketplace))
	if !found {
		return 0
	}
	return must(readWatched(stored))
}

func readWatched(b []byte) (kinds uint8, err error) {
	d := command.NewDecoder(b)
	kinds = d.U8()
	return kinds, d.Err()
}

// UserMarks lists the marks of a marketplace up to a time of the state clock, oldest first, at most limit.
func (b Queries) UserMarks(marketplace uint16, untilMillis int64, limit int) (all []command.UserMark) {
	from := keyMark(nil, marketplace, command.UserMark{})
	to := keyMark(nil, marketplace, command.UserMark{Millis: max(untilMillis, 0) + 1})
	b.R.Scan(from, to, func(key, _ []byte) bool {
		if len(all) == limit {
			return false
		}
		all = append(all, markOf(key))
		return true
	})
	return all
}

func markOf(key []byte) command.UserMark {
	return command.UserMark{
		Millis: int64(binary.BigEndian.Uint64(key[4:])), // Written from an int64.
		User:   binary.BigEndian.Uint64(key[12:]),
	}
}

// loadWatch loads what a marketplace watches, or a mark.
func (l *loader) loadWatch(key, value []byte) error {
	switch {
	case len(key) == watchedKeyLen && key[1] == 0:
		kinds, err := readWatched(value)
		l.m.tenant(binary.BigEndian.Uint16(key[2:])).watched = kinds
		return err
	case len(key) == markKeyLen && key[1] == 1:
		l.m.marks++
		return nil
	default:
		return errKey
	}
}

const (
	watchedKeyLen = 1 + 1 + 2
	markKeyLen    = 1 + 1 + 2 + 8 + 8
)

func keyWatched(dst []byte, marketplace uint16) []byte {
	return appendU16(append(dst, tableWatch, 0), marketplace)
}

func keyMark(dst []byte, marketplace uint16, mark command.UserMark) []byte {
	dst = appendU16(append(dst, tableWatch, 1), marketplace)
	return appendU64(appendU64(dst, uint64(mark.Millis)), mark.User) // Not negative.
}
