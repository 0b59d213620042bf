package command

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// A table describes how a type is encoded: one row for each member. Encoding, decoding, the masks of patches, the
// comparison of versions and FORMAT.md follow from it. A value is encoded as its fixed members in the order of the
// rows, a mask of those optional members that are not zero, and these members in the order of the rows.
//
// Layouts are append only: a fixed row stays where it is, and a number keeps its meaning. A new member is an optional
// row at the end, with a new number and, once a release has written the type, with the feature level from which it may
// be written. Values without it keep their encoding, and a binary that does not know it rejects the value instead of
// dropping the member.
type table[S any] struct {
	name     string
	rows     []row[S] // All rows, in their order.
	fixed    []column
	optional []column
	known    uint64 // The numbers of the optional rows, as a mask.
	least    int    // Length of the shortest encoding in bytes.
	leveled  bool   // Some value needs a level (needs).
	valid    func(*S) bool
}

// row is one row of a table. The functions fixed, optional and patched make it.
type row[S any] struct {
	column
	name       string
	isOptional bool
	patch      any   // *patchRow[S, P] when a patch P can change the member.
	patchLevel Level // The level from which it can, when values had the member before.
}

// column is what encoding and decoding need of a row.
type column struct {
	offset uintptr // Of the member in S.
	number int     // The bit in masks; noNumber for a fixed row that no patch changes.
	level  Level   // The level from which the member may be written.
	codec
}

// noNumber is the number of a row that has no bit in a mask.
const noNumber = -1

// numbersMax bounds the numbers of rows. BOUND: a mask has 64 bits.
const numbersMax = 64

// fixed makes the row of a member that is always written. of returns a pointer to the member; it is called once, to
// learn where in S the member is.
func fixed[S, T any](name string, k kind[T], of func(*S) *T) row[S] {
	s := new(S)
	offset := uintptr(unsafe.Pointer(of(s))) - uintptr(unsafe.Pointer(s))
	if offset+unsafe.Sizeof(*new(T)) > unsafe.Sizeof(*s) {
		panic("command: not a member: " + name)
	}
	return row[S]{name: name, column: column{offset: offset, number: noNumber, codec: k.codec}}
}

// optional makes the row of a member that is written when it is not zero.
func optional[S, T any](number int, name string, k kind[T], of func(*S) *T) row[S] {
	r := fixed(name, k, of)
	r.number, r.isOptional = number, true
	return r
}

// optional makes a patched row optional.
func (r row[S]) optional() row[S] {
	r.isOptional = true
	return r
}

// since sets the level from which an optional or patched member may be written.
func (r row[S]) since(level Level) row[S] {
	r.level = level
	return r
}

// patchedSince sets the level from which a patch may change a member that values had before.
func (r row[S]) patchedSince(level Level) row[S] {
	r.patchLevel = level
	return r
}

// newTable makes the table of a type. It panics, at the start of the process, on rows that contradict one another.
func newTable[S any](name string, rows ...row[S]) *table[S] {
	t := &table[S]{name: name, rows: rows, least: 1}
	seen := uint64(0)
	for _, r := range rows {
		if r.number != noNumber {
			bit := uint64(1) << r.number
			if r.number >= numbersMax || seen&bit != 0 {
				panic(fmt.Sprintf("command: number %d of %s in the table %s", r.number, r.name, name))
			}
			seen |= bit
		}
		if r.isOptional {
			t.optional = append(t.optional, r.column)
			t.known |= 1 << r.number
		} else {
			t.fixed = append(t.fixed, r.column)
			t.least += r.least
		}
		t.leveled = t.leveled || r.needs != nil || r.isOptional && r.level > LevelFormat1
	}
	return t
}

// checked adds a rule that every decoded value must satisfy.
func (t *table[S]) checked(valid func(*S) bool) *table[S] {
	t.valid = valid
	return t
}

// of returns a pointer to the member in the value at s.
func (c *column) of(s unsafe.Pointer) unsafe.Pointer { return unsafe.Add(s, c.offset) }

func (t *table[S]) append(dst []byte, s *S) []byte {
	p := unsafe.Pointer(s)
	for i := range t.fixed {
		c := &t.fixed[i]
		dst = c.write(dst, c.of(p))
	}
	mask := uint64(0)
	for i := range t.optional {
		if c := &t.optional[i]; !c.zero(c.of(p)) {
			mask |= 1 << c.number
		}
	}
	dst = binary.AppendUvarint(dst, mask)
	if mask == 0 {
		return dst
	}
	for i := range t.optional {
		if c := &t.optional[i]; mask>>c.number&1 != 0 {
			dst = c.write(dst, c.of(p))
		}
	}
	return dst
}

// read reads what append wrote. REQUIRES: *s is the zero value.
func (t *table[S]) read(d *Decoder, s *S) {
	p := unsafe.Pointer(s)
	for i := range t.fixed {
		c := &t.fixed[i]
		c.decode(d, c.of(p))
	}
	mask := d.Uvarint()
	if mask&^t.known != 0 {
		d.Fail()
	}
	for i := 0; mask != 0 && i < len(t.optional); i++ {
		if c := &t.optional[i]; mask>>c.number&1 != 0 {
			d.needs = max(d.needs, c.level)
			c.decode(d, c.of(p))
		}
	}
	if t.valid != nil && !t.valid(s) {
		d.Fail()
	}
}

// needs returns the level from which a value may be written.
func (t *table[S]) needs(s *S) (needs Level) {
	if !t.leveled {
		return LevelFormat1
	}
	p := unsafe.Pointer(s)
	for i := range t.rows {
		r := &t.rows[i]
		if r.isOptional && r.level > needs && !r.zero(r.of(p)) {
			needs = r.level
		}
		if r.codec.needs != nil {
			needs = max(needs, r.codec.needs(r.of(p)))
		}
	}
	return needs
}

func (t *table[S]) isZero(s *S) bool {
	for i := range t.rows {
		if r := &t.rows[i]; !r.zero(r.of(unsafe.Pointer(s))) {
			return false
		}
	}
	return true
}

// appendCommand appends a command whose body is described by a table.
func appendCommand[S any](dst []byte, op Op, nowMillis int64, t *table[S], s *S) []byte {
	dst, at := begin(dst, op, nowMillis, 0)
	return sealAt(t.append(dst, s), at, t.needs(s))
}

// readCommand reads what appendCommand wrote.
func readCommand[S any](c *Command, t *table[S]) (s S, err error) {
	d := c.decoder()
	t.read(&d, &s)
	return s, d.Err()
}
