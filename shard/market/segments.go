package market

import (
	"encoding/binary"
	"slices"
)

// segments holds the user segments. Each is a set of keyed user hashes that is replaced as a whole. A campaign may name
// a segment that has no users, or none yet; then no user is in it.
type segments struct {
	rows[segmentRow]
	byKey map[string]uint32 // By marketplace and id.
}

type segmentRow struct {
	users []uint64 // Ascending. INVARIANT: the slice is never written after it is stored here.
}

func (s *segments) init() {
	s.add() // Row 0 means no segment.
	s.byKey = map[string]uint32{}
}

// PutSegment replaces the users of a segment.
func (m *Market) PutSegment(marketplace uint16, id string, users []uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.segments.edit(m.segment(marketplace, id), m.edition).users = slices.Clone(users)
	m.dirty = true
}

// DeleteSegment removes the users of a segment.
func (m *Market) DeleteSegment(marketplace uint16, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.segments.edit(m.segment(marketplace, id), m.edition).users = nil
	m.dirty = true
}

// segment returns the row of a segment, adding one on its first mention.
func (m *Market) segment(marketplace uint16, id string) uint32 {
	m.key = append(binary.BigEndian.AppendUint16(m.key[:0], marketplace), id...)
	i, known := m.segments.byKey[string(m.key)]
	if !known {
		i = m.segments.add()
		m.segments.byKey[string(m.key)] = i
		m.dirty = true
	}
	return i
}

func (m *Market) dropSegments() {
	for i := range m.segments.count {
		if m.segments.at(i).users != nil {
			m.segments.edit(i, m.edition).users = nil
		}
	}
}

// InSegment reports whether a user is in a segment. It is a binary search of at most twenty steps.
func (v *View) InSegment(segment uint32, user uint64) bool {
	_, found := slices.BinarySearch(v.segments.at(segment).users, user)
	return found
}
