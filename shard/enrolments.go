package shard

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

// An enrolment says that a user takes part in the measurement of a campaign's holdout (market.Holdout): a bid of the
// campaign has won an auction of the user, or would have. It lies in the campaign's group under its day and user. Purchases
// of the user are not counted here: they lie in other groups, and the report finds them by their buyer (tableBuyer). Who
// saw an ad does not matter either, because nobody knows who would have seen it among those held out.

// EnrolmentsMax is how many enrolments of a UTC day a group keeps. BOUND: 9 MB a day and 550 MB in all; at most 16 million
// records of 34 bytes, which a start reads in some seconds. Further users of the day are left out, whatever their arm, so
// that both arms stay comparable.
const EnrolmentsMax = 1 << 18

// enrolUsers stores enrolments, unless the user has one of the day, campaign and percentage.
func (m *Machine) enrolUsers(x *command.EnrolUsers) command.Result {
	for i := range x.Users {
		m.enrol(&x.Users[i])
	}
	return command.Result{}
}

func (m *Machine) enrol(x *command.Enrolment) {
	day := dayOf(x.Millis)
	if x.Campaign == 0 || uint64(x.Campaign) > uint64(len(m.campaigns)) || x.User == 0 || x.Percent == 0 {
		return
	}
	c := m.campaigns[x.Campaign-1]
	if c.HoldoutPercent != x.Percent || !m.mayEnrol(c.Marketplace, day) {
		return
	}
	id, key := dayIn(tableEnrolment, day), keyEnrolment(nil, day, c.Marketplace, x.User, x.Campaign)
	old, found := m.get(key)
	if found && old[0] == x.Percent {
		return
	}
	if d := m.days.all[id]; !found && d != nil && d.count >= uint64(m.enrolmentsMax) { // Positive.
		return
	}
	m.putOfDay(id, key, binary.AppendUvarint([]byte{x.Percent}, uint64(max(x.Millis, 0)%dayMillis))) // Not negative.
}

// mayEnrol reports whether enrolments of a day are stored: not of one that is not kept any more, and not of the future.
func (m *Machine) mayEnrol(marketplace uint16, day uint32) bool {
	return day >= m.firstDay(keptOf(tableEnrolment)) && day <= dayOf(m.state.now)+1 && m.keepsTouches(marketplace, day)
}

// forgetEnrolments erases the enrolments of a user.
func (m *Machine) forgetEnrolments(marketplace uint16, user uint64) {
	for _, id := range m.daysOf(tableEnrolment) {
		for _, key := range m.coldKeys(appendU64(prefixEnrolments(nil, id.day, marketplace), user), math.MaxInt) {
			m.putOfDay(id, key, nil)
		}
	}
}

// purgeEnrolments deletes the enrolments of a marketplace and day, at most limit. It returns how many there were, or limit+1
// when there are more.
func (m *Machine) purgeEnrolments(marketplace uint16, day uint32, limit int) int {
	id := dayIn(tableEnrolment, day)
	if m.days.all[id] == nil {
		return 0
	}
	keys := m.coldKeys(prefixEnrolments(nil, day, marketplace), limit+1)
	for _, key := range keys[:min(limit, len(keys))] {
		m.putOfDay(id, key, nil)
	}
	return len(keys)
}

// Enrolled is a user in the measurement of a campaign's holdout.
type Enrolled struct {
	User   uint64
	Arm    market.Arm
	Millis int64 // The first auction of the day.
}

// Enrolments calls fn for the users of a campaign who were enrolled on a day under its present holdout, until fn returns
// false. full says that the group has as many enrolments of the day as it keeps, so some users may be left out. Only the
// group of the campaign has them.
func (b Queries) Enrolments(campaign ids.UUID, day uint32, fn func(*Enrolled) bool) (full bool) {
	c, found := b.Campaign(campaign)
	if !found || c.HoldoutPercent == 0 {
		return false
	}
	holdout := market.HoldoutOf(&c.Campaign)
	prefix := prefixEnrolments(nil, day, c.Marketplace)
	b.R.Scan(prefix, prefixEnd(prefix), func(key, value []byte) bool {
		if binary.BigEndian.Uint32(key[15:]) != c.Ordinal || value[0] != c.HoldoutPercent {
			return true
		}
		millis, _ := binary.Uvarint(value[1:])
		e := Enrolled{User: binary.BigEndian.Uint64(key[7:]), Millis: int64(day)*dayMillis + int64(millis%dayMillis)} // Less than a day.
		e.Arm = holdout.Arm(e.User)
		return fn(&e)
	})
	stored, found := b.R.Get(keyDay(nil, dayIn(tableEnrolment, day)))
	return found && binary.LittleEndian.Uint64(stored) >= EnrolmentsMax
}

// PurchasesOfBuyers calls fn for the purchases of a marketplace that were opened on a day and whose buyer is one that
// wanted accepts, until fn returns false.
func (b Queries) PurchasesOfBuyers(marketplace uint16, day uint32, wanted func(user uint64) bool, fn func(*command.Purchase) bool) {
	prefix := appendU16(appendU32([]byte{tableBuyer}, day), marketplace)
	var keys [][16]byte
	b.R.Scan(prefix, prefixEnd(prefix), func(key, _ []byte) bool {
		if wanted(binary.BigEndian.Uint64(key[7:])) {
			keys = append(keys, [16]byte(key[buyerKeyLen-16:]))
		}
		return true
	})
	for i := range keys {
		if stored, found := b.R.Get(keyPurchase(nil, day, &keys[i])); found {
			p := must(readPurchase(stored))
			if !fn(&p) {
				return
			}
		}
	}
}

func prefixEnrolments(dst []byte, day uint32, marketplace uint16) []byte {
	return appendU16(appendU32(append(dst, tableEnrolment), day), marketplace)
}

func keyEnrolment(dst []byte, day uint32, marketplace uint16, user uint64, campaign uint32) []byte {
	return appendU32(appendU64(prefixEnrolments(dst, day, marketplace), user), campaign)
}

const enrolmentKeyLen = 1 + 4 + 2 + 8 + 4

func (l *loader) loadEnrolment(key, value []byte) error {
	if l.m.days.all[dayIn(tableEnrolment, binary.BigEndian.Uint32(key[1:]))] == nil {
		return errors.New("enrolment without day")
	}
	if _, n := binary.Uvarint(value[min(1, len(value)):]); len(value) < 2 || n != len(value)-1 {
		return errors.New("malformed enrolment")
	}
	return nil
}
