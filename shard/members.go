package shard

import (
	"encoding/binary"
	"errors"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

var (
	errNoDynamic   = errors.New("member of a segment without head")
	errDynamicSize = errors.New("dynamic segment with another number of users than its head says")
)

// decideMembers stores who belongs to a dynamic segment. A user beyond the bound of the segment is not stored.
func (m *Machine) decideMembers(x *command.DecideMembers) command.Result {
	d := m.dynamicOf(x.Marketplace, x.Segment)
	switch {
	case d == nil || d.number != x.Number:
		return refused(command.NotFound, 0)
	case x.AsOfMillis < d.asOf:
		return refused(command.Conflict, 0)
	}
	d.asOf, d.backfill = x.AsOfMillis, x.Backfill
	m.storeMembers(d, x.Members)
	return command.Result{}
}

// storeMembers stores the results of users, which ascend, and shows the segment to auctions if users joined or left it.
func (m *Machine) storeMembers(d *dynamicSegment, all []command.Membership) {
	var joined, left []uint64
	for i := range all {
		x := &all[i]
		was, stored := m.storeMember(d, x)
		switch {
		case stored && x.Member && !was:
			joined = append(joined, x.User)
		case stored && was && !x.Member:
			left = append(left, x.User)
		}
	}
	if len(joined) > 0 {
		d.users, _ = combine(d.users, joined, command.SegmentAdd)
	}
	if len(left) > 0 {
		d.users, _ = combine(d.users, left, command.SegmentRemove)
	}
	if len(joined)+len(left) > 0 {
		m.feedDynamic(d)
	}
	m.putDynamic(d)
}

// storeMember stores the result of a user. was says whether the user belonged to the segment before; stored is false when
// the segment is full.
func (m *Machine) storeMember(d *dynamicSegment, x *command.Membership) (was, stored bool) {
	key := keyMember(nil, d.number, x.User)
	var before command.Membership
	value, found := m.get(key)
	if found {
		before = must(readMembership(x.User, value))
	}
	needed := x.Member || x.ChangesMillis != 0
	switch {
	case found && needed && before == *x, !found && !needed:
		return before.Member, true
	case !found && d.records >= m.dynamicUsersMax:
		return false, false
	case !found:
		d.records++
	case !needed:
		d.records--
	}
	if before.ChangesMillis != x.ChangesMillis {
		m.putOfSegment(d, keyDue(nil, d.number, &before), nil)
		if x.ChangesMillis != 0 {
			m.putOfSegment(d, keyDue(nil, d.number, x), []byte{})
		}
	}
	value = nil
	if needed {
		value = command.AppendMembership(nil, x)
	}
	m.putOfSegment(d, key, value)
	return before.Member, true
}

// putOfSegment is put for a record of a dynamic segment, except for its head.
func (m *Machine) putOfSegment(d *dynamicSegment, key, value []byte) {
	if old, found := m.get(key); found {
		d.xor ^= m.hashOf(key, old)
	}
	if value != nil {
		d.xor ^= m.hashOf(key, value)
	}
	m.put(key, value)
}

// forgetInDynamic removes a user from the dynamic segments of a marketplace.
func (m *Machine) forgetInDynamic(marketplace uint16, user uint64) {
	for of, d := range m.dynamic { // order: every segment is changed for itself.
		if of.marketplace == marketplace {
			m.storeMembers(d, []command.Membership{{User: user}})
		}
	}
}

func readMembership(user uint64, value []byte) (x command.Membership, err error) {
	d := command.NewDecoder(value)
	d.Membership(&x)
	if x.User != user {
		d.Fail()
	}
	return x, d.Err()
}

// DueMembers lists users of a dynamic segment whose membership changes until a time, those who were due first first, at most
// limit.
func (b Queries) DueMembers(number uint64, untilMillis int64, limit int) (users []uint64) {
	from := keyDue(nil, number, &command.Membership{})
	to := keyDue(nil, number, &command.Membership{ChangesMillis: max(untilMillis, 0) + 1})
	b.R.Scan(from, to, func(key, _ []byte) bool {
		if len(users) == limit {
			return false
		}
		users = append(users, binary.BigEndian.Uint64(key[18:]))
		return true
	})
	return users
}

const (
	memberKeyLen = 1 + 1 + 8 + 8
	dueKeyLen    = memberKeyLen + 8

	dynamicUsersMax = model.SegmentUsersMax
)

func keyMember(dst []byte, number, user uint64) []byte {
	return appendU64(appendU64(append(dst, tableMember, 1), number), user)
}

// keyDue names the record that sorts a user by the time of the next change.
func keyDue(dst []byte, number uint64, x *command.Membership) []byte {
	dst = appendU64(append(dst, tableMember, 2), number)
	return appendU64(appendU64(dst, uint64(x.ChangesMillis)), x.User) // Not negative.
}
