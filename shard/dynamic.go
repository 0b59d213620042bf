package shard

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

// A dynamic segment lies in the meta group. Its definition is a record that the engine does not read; the engine has a
// hash of it and a number, which is in the keys of all its records and is never used again. So a new definition drops the
// records of the former one as a range, without reading them, and no decision about the former one can be taken for one
// about the new one.
//
// A user who belongs to the segment, or will do so at a known time, has a record. A second record sorts the users by
// that time, so that nobody has to be looked for.
//
// INVARIANT: decisions are stored in the order of the times as of which they were made. A decision is a function of what
// the groups had stored up to that time, so which node made it makes no difference.

// DynamicSegmentsMax is how many dynamic segments a marketplace may have. BOUND: each user who does something is compared
// with all of them, and each has up to model.SegmentUsersMax users, 16 MB in memory with the view of the auctions.
const DynamicSegmentsMax = 20

// segmentID names a segment.
type segmentID struct {
	marketplace uint16
	id          string
}

// dynamicSegment is what memory keeps of a dynamic segment.
type dynamicSegment struct {
	of         segmentID
	number     uint64
	definition [16]byte
	asOf       int64  // The time of the newest decision, or of the definition.
	records    uint32 // Number of users with a record. INVARIANT: at most model.SegmentUsersMax.
	xor        uint64 // Of the hashes of all its records but the head.
	backfill   command.Backfill
	users      []uint64 // Those who belong to it, ascending. INVARIANT: the slice is never written after it is stored here.
	size       uint32   // Number of users, as the head says while they are loaded.
}

func (m *Machine) dynamicOf(marketplace uint16, id string) *dynamicSegment {
	return m.dynamic[segmentID{marketplace, id}]
}

// defineSegment makes a segment dynamic with a definition, or ends it.
func (m *Machine) defineSegment(x *command.DefineSegment) command.Result {
	if !isID(x.Segment) {
		return refused(command.Invalid, 0)
	}
	d := m.dynamicOf(x.Marketplace, x.Segment)
	switch {
	case d == nil && x.Drop, d != nil && !x.Drop && d.definition == x.Definition:
		m.repeated = true
		return command.Result{}
	case d == nil && m.countDynamic(x.Marketplace) >= DynamicSegmentsMax:
		return refused(command.TooMany, 0)
	}
	if d != nil {
		m.dropDynamic(d)
	}
	m.changed = true
	if x.Drop {
		m.feed.DeleteSegment(x.Marketplace, x.Segment)
		return command.Result{}
	}
	m.state.lastVersion++ // The counter never gives a number twice.
	d = &dynamicSegment{of: segmentID{x.Marketplace, x.Segment}, number: m.state.lastVersion, definition: x.Definition, asOf: max(m.state.now, 0)}
	m.dynamic[d.of] = d
	m.putDynamic(d)
	m.feed.PutSegment(x.Marketplace, x.Segment, nil)
	return command.Result{}
}

func (m *Machine) countDynamic(marketplace uint16) (n int) {
	for of := range m.dynamic { // order: they are counted.
		if of.marketplace == marketplace {
			n++
		}
	}
	return n
}

// dropDynamic deletes all records of a dynamic segment. INVARIANT: nothing reads a record of its number afterwards.
func (m *Machine) dropDynamic(d *dynamicSegment) {
	m.digest ^= d.xor
	m.written = true
	for _, table := range [...]byte{1, 2} {
		from := appendU64([]byte{tableMember, table}, d.number)
		m.b.DeleteRange(from, prefixEnd(from))
	}
	m.put(keyDynamic(nil, d.of), nil)
	delete(m.dynamic, d.of)
}

// putDynamic writes the head of a dynamic segment.
func (m *Machine) putDynamic(d *dynamicSegment) {
	value := append(binary.LittleEndian.AppendUint64(nil, d.number), d.definition[:]...)
	value = command.AppendMillis(value, d.asOf)
	value = binary.LittleEndian.AppendUint32(value, d.records)
	value = binary.LittleEndian.AppendUint32(value, uint32(len(d.users))) // At most SegmentUsersMax.
	value = binary.LittleEndian.AppendUint64(value, d.xor)
	m.put(keyDynamic(nil, d.of), command.AppendBackfill(value, &d.backfill))
}

func readDynamic(of segmentID, value []byte) (d dynamicSegment, err error) {
	r := command.NewDecoder(value)
	d = dynamicSegment{of: of, number: r.U64(), definition: r.Sixteen(), asOf: r.I64(), records: r.U32(), size: r.U32(), xor: r.U64()}
	r.Backfill(&d.backfill)
	return d, r.Err()
}

// feedDynamic shows the users of a dynamic segment to auctions.
func (m *Machine) feedDynamic(d *dynamicSegment) {
	m.feed.PutSegment(d.of.marketplace, d.of.id, d.users)
	m.changed = true
}

// DynamicSegment is a dynamic segment as the engine knows it.
type DynamicSegment struct {
	ID         string
	Number     uint64 // Of the definition.
	Definition [16]byte
	AsOfMillis int64
	Users      int
	Backfill   command.Backfill
}

// DynamicSegments lists the dynamic segments of a marketplace.
func (b Queries) DynamicSegments(marketplace uint16) (all []DynamicSegment) {
	prefix := appendU16([]byte{tableMember, 0}, marketplace)
	b.R.Scan(prefix, prefixEnd(prefix), func(key, value []byte) bool {
		of := segmentID{marketplace, string(key[len(prefix):])}
		d := must(readDynamic(of, value))
		all = append(all, DynamicSegment{d.of.id, d.number, d.definition, d.asOf, int(d.size), d.backfill})
		return true
	})
	return all
}

// DynamicMarketplaces lists the marketplaces with dynamic segments, or with anything that is kept for them in the group.
func (b Queries) DynamicMarketplaces() (all []uint16) {
	for _, prefix := range [...][2]byte{{tableMember, 0}, {tableWatch, 0}, {tableWatch, 1}} {
		for next, found := 0, true; found && next <= math.MaxUint16; {
			found = false
			b.R.Scan(appendU16(slices.Clone(prefix[:]), uint16(next)), prefixEnd(prefix[:]), func(key, _ []byte) bool {
				marketplace := binary.BigEndian.Uint16(key[2:])
				all, found, next = append(all, marketplace), true, int(marketplace)+1
				return false
			})
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// dynamicSize returns the number of users of a dynamic segment; found is false for one that is not dynamic.
func (b Queries) dynamicSize(of segmentID) (size int, found bool) {
	stored, found := b.R.Get(keyDynamic(nil, of))
	if !found {
		return 0, false
	}
	return int(must(readDynamic(of, stored)).size), true
}

// loadMember loads a head or a record of a user. The heads come first.
func (l *loader) loadMember(key, value []byte) error {
	switch {
	case len(key) > 4 && key[1] == 0:
		of := segmentID{binary.BigEndian.Uint16(key[2:]), string(key[4:])}
		d, err := readDynamic(of, value)
		l.m.dynamic[of], l.dynamic[d.number] = &d, &d
		return err
	case len(key) == memberKeyLen && key[1] == 1:
		x, err := readMembership(binary.BigEndian.Uint64(key[10:]), value)
		d := l.dynamic[binary.BigEndian.Uint64(key[2:])]
		if d == nil {
			return errNoDynamic
		}
		if x.Member {
			d.users = append(d.users, x.User)
		}
		return err
	case len(key) == dueKeyLen && key[1] == 2:
		return nil
	default:
		return errKey
	}
}

// finishDynamic shows the loaded dynamic segments to auctions.
func (l *loader) finishDynamic() error {
	for _, d := range l.dynamic { // order: each is shown for itself.
		if len(d.users) != int(d.size) || d.records > model.SegmentUsersMax {
			return errDynamicSize
		}
		l.m.feedDynamic(d)
	}
	return nil
}

// keyDynamic names the head of a dynamic segment.
func keyDynamic(dst []byte, of segmentID) []byte {
	return append(appendU16(append(dst, tableMember, 0), of.marketplace), of.id...)
}
