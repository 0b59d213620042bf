package shard

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
)

// forgetUser erases a user from the group: touches, clicks, links, purchases, enrolments, participants, and segments. Counters, charges and credited items
// stay; none of them names a user (LevelUsers). What the user does afterwards is stored again.
func (m *Machine) forgetUser(x *command.ForgetUser) command.Result {
	if x.User == 0 || len(x.Segment) > textMax {
		return refused(command.Invalid, 0)
	}
	if m.data() {
		m.forgetTouches(x.Marketplace, x.User)
		m.forgetUserClicks(x.Marketplace, x.User)
		m.forgetLinks(x.Marketplace, x.User)
		m.forgetBuyer(x.Marketplace, x.User)
		m.forgetBuyers(x.Marketplace, x.User)
		m.forgetEnrolments(x.Marketplace, x.User)
		m.forgetParticipants(x.Marketplace, x.User)
		m.forgetActions(x.Marketplace, x.User)
	}
	if m.meta {
		m.forgetInDynamic(x.Marketplace, x.User)
	}
	if m.meta && x.Segment != "" {
		m.forgetMember(x.Marketplace, x.Segment, x.User)
	}
	return command.Result{}
}

// forgetTouches deletes the touches of a user.
func (m *Machine) forgetTouches(marketplace uint16, user uint64) {
	for _, id := range m.daysOf(tableTouch) {
		m.eraseTouches(id, m.touchesUnder(keyTouches(nil, id.day, marketplace, user), math.MaxInt))
	}
}

// daysOf returns the days with records of a table, oldest first.
func (m *Machine) daysOf(table byte) (days []dayID) {
	for id := range maps.Keys(m.days.all) { // order: sorted below.
		if id.table == table {
			days = append(days, id)
		}
	}
	slices.SortFunc(days, func(a, b dayID) int { return cmp.Compare(a.day, b.day) })
	return days
}

// forgetMember removes a user from a segment.
func (m *Machine) forgetMember(marketplace uint16, segment string, user uint64) {
	prefix := prefixSegment(nil, marketplace, segment)
	head := m.segmentHead(prefix)
	users := m.segmentUsers(prefix, head.pieces)
	at, found := slices.BinarySearch(users, user)
	if !found {
		return
	}
	users = slices.Delete(users, at, at+1)
	head.result.Size = uint32(len(users)) // At most SegmentUsersMax.
	m.storeSegment(prefix, head.pieces, users, segmentHead{upload: head.upload, result: head.result})
	m.feed.PutSegment(marketplace, segment, users)
	m.changed = true
}

// SegmentsWith returns the ids of the static segments of a marketplace that contain a user. It reads the users of all of them.
func (b Queries) SegmentsWith(marketplace uint16, user uint64) (segments []string) {
	prefix := appendU16([]byte{tableSegment}, marketplace)
	head := len(prefix) + 2 // The length of the id.
	b.R.Scan(prefix, prefixEnd(prefix), func(key, value []byte) bool {
		id, piece := string(key[head:len(key)-4]), key[len(key)-4:]
		if string(piece) == "\x00\x00\x00\x00" {
			return true // The head of the segment.
		}
		d := command.NewDecoder(value)
		if _, found := slices.BinarySearch(must(d.Users(), d.Err()), user); found {
			segments = append(segments, id)
		}
		return true
	})
	return segments
}
