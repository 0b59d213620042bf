package shard

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/gavel-ads/gavel/shard/attribution"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Links are stored by the UTC day on which they were made, and dropped with it, like touches. A link has two records in
// the same group: one finds the users that were linked to a buyer, the other is what erases a user from the links of
// others.
// INVARIANT: tableLink and tableLinkedTo hold the same links.

// LinksMax is how many links of a user, in each direction, a group keeps of a UTC day. BOUND: a purchase reads them. Of
// more the latest stay: a person uses a few devices a day, but a shop may link all its visitors to one user.
const LinksMax = 20

// link is one entry of a record of links.
type link struct {
	user   uint64
	millis uint32 // Of the day; the state clock at the commit.
}

const linkLen = 8 + 4

// UserShard returns the shard whose group keeps the links to a user.
func UserShard(user uint64) ids.Shard { return ids.Shard(byte(user)) }

// linkUsers stores a link, unless it is stored with today's.
func (m *Machine) linkUsers(x *command.LinkUsers) command.Result {
	if x.From == 0 || x.To == 0 || x.From == x.To {
		return refused(command.Invalid, 0)
	}
	day, millis := dayOf(m.state.now), uint32(max(m.state.now, 0)%dayMillis) // Less than a day.
	for _, l := range m.linksOf(tableLink, day, x.Marketplace, x.To) {
		if l.user == x.From {
			return command.Result{}
		}
	}
	m.addLink(tableLink, day, x.Marketplace, x.To, link{x.From, millis})
	m.addLink(tableLinkedTo, day, x.Marketplace, x.From, link{x.To, millis})
	return command.Result{}
}

// otherEnd returns the table with the links of a table in the other direction.
func otherEnd(table byte) byte { return tableLink + tableLinkedTo - table }

// addLink adds one of the two entries of a link. When the record is full, its oldest link goes.
func (m *Machine) addLink(table byte, day uint32, marketplace uint16, user uint64, l link) {
	all := m.linksOf(table, day, marketplace, user)
	if len(all) >= m.linksMax {
		m.dropLink(otherEnd(table), day, marketplace, all[0].user, user)
		all = all[1:]
	}
	m.putLinks(table, day, marketplace, user, append(all, l))
}

// dropLink removes the entry of another user from a record.
func (m *Machine) dropLink(table byte, day uint32, marketplace uint16, user, other uint64) {
	var left []link
	for _, l := range m.linksOf(table, day, marketplace, user) {
		if l.user != other {
			left = append(left, l)
		}
	}
	m.putLinks(table, day, marketplace, user, left)
}

// forgetLinks removes all links of a user, in both directions.
func (m *Machine) forgetLinks(marketplace uint16, user uint64) {
	for day := m.firstDay(daysKept); day <= dayOf(m.state.now); day++ {
		for _, table := range []byte{tableLink, tableLinkedTo} {
			for _, l := range m.linksOf(table, day, marketplace, user) {
				m.dropLink(otherEnd(table), day, marketplace, l.user, user)
			}
			m.putLinks(table, day, marketplace, user, nil)
		}
	}
}

// linksOf reads a record of links, oldest first, as the batch has left it so far.
func (m *Machine) linksOf(table byte, day uint32, marketplace uint16, user uint64) []link {
	stored, _ := m.get(keyLinks(nil, table, day, marketplace, user))
	return must(readLinks(stored))
}

// putLinks writes a record of links, or deletes it when there are none.
func (m *Machine) putLinks(table byte, day uint32, marketplace uint16, user uint64, all []link) {
	var value []byte
	for _, l := range all {
		value = appendU32(appendU64(value, l.user), l.millis)
	}
	m.putOfDay(dayIn(table, day), keyLinks(nil, table, day, marketplace, user), value)
}

var errLinks = errors.New("malformed links")

func readLinks(value []byte) (all []link, err error) {
	if len(value)%linkLen != 0 {
		return nil, errLinks
	}
	for ; len(value) > 0; value = value[linkLen:] {
		all = append(all, link{binary.BigEndian.Uint64(value), binary.BigEndian.Uint32(value[8:])})
	}
	return all, nil
}

// LinkedTo calls fn for the users who were linked to a user until a time in Unix milliseconds, latest link first, until fn
// returns false. It reads those links that no group drops before the day after that time, and names a user again for each
// day on which the link was made.
func (b Queries) LinkedTo(marketplace uint16, user uint64, untilMillis int64, fn func(user uint64) bool) {
	last := dayOf(untilMillis)
	for _, day := range slices.Backward(b.daysWith(tableLink, last-min(last, attribution.WindowDaysMax-2), last)) {
		stored, _ := b.R.Get(keyLinks(nil, tableLink, day, marketplace, user))
		all := must(readLinks(stored))
		for _, link := range slices.Backward(all) {
			if int64(day)*dayMillis+int64(link.millis) <= untilMillis && !fn(link.user) {
				return
			}
		}
	}
}

func (l *loader) loadLinks(key, value []byte) error {
	if l.m.days.all[dayIn(key[0], binary.BigEndian.Uint32(key[1:]))] == nil {
		return errors.New("links without day")
	}
	if all, err := readLinks(value); err != nil || len(all) == 0 || len(all) > LinksMax {
		return errLinks
	}
	return nil
}
