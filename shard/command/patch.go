package command

import (
	"encoding/binary"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// A patch changes members of a stored value: a mask of the members, and their new values. Its members are those rows of
// the value's table that were made by patched, under the same numbers.

// Members is a set of members of a value: bit n is the member whose row has number n.
type Members uint64

// patchRow is what a row needs to read and write its member in a patch.
type patchRow[S, P any] struct {
	member  Members
	level   Level
	present func(p *P) bool
	needs   func(p *P) Level // nil when no new value needs a level.
	append  func(dst []byte, p *P) []byte
	read    func(d *Decoder, p *P)
	change  func(s *S, p *P)
	value   func(dst []byte, s *S) []byte
}

// patched makes the fixed row of a member that a patch can change; with by, the patch P points to the new value or has
// nil. row.optional makes the row optional in the stored value.
func patched[S, P, T any](number int, name string, k kind[T], of func(*S) *T, by func(*P) **T) row[S] {
	return patchedBy(number, name, k, of, func(p *P) *T { return *by(p) }, func(p *P, v *T) { *by(p) = v })
}

// patchedBy is patched for a patch that says in another way what it changes: get returns the new value or nil, and set
// sets it.
func patchedBy[S, P, T any](
	number int, name string, k kind[T], of func(*S) *T, get func(*P) *T, set func(*P, *T),
) row[S] {
	r := fixed(name, k, of)
	r.number = number
	put := func(dst []byte, v *T) []byte { return k.write(dst, unsafe.Pointer(v)) }
	x := &patchRow[S, P]{
		member:  1 << number,
		present: func(p *P) bool { return get(p) != nil },
		append:  func(dst []byte, p *P) []byte { return put(dst, get(p)) },
		read: func(d *Decoder, p *P) {
			v := new(T)
			k.decode(d, unsafe.Pointer(v))
			set(p, v)
		},
		change: func(s *S, p *P) {
			if v := get(p); v != nil {
				*of(s) = *v
			}
		},
		value: func(dst []byte, s *S) []byte { return put(dst, of(s)) },
	}
	if k.needs != nil {
		x.needs = func(p *P) Level { return k.needs(unsafe.Pointer(get(p))) }
	}
	r.patch = x
	return r
}

// patchTable holds the rows of a table that the patch P can change.
type patchTable[S, P any] struct {
	name    string // Of the table.
	rows    []patchRow[S, P]
	names   map[string]Members
	known   Members
	leveled bool
}

// patchesOf makes the patchTable of a table.
func patchesOf[P, S any](t *table[S]) *patchTable[S, P] {
	pt := &patchTable[S, P]{name: t.name, names: map[string]Members{}}
	for _, r := range t.rows {
		if r.patch == nil {
			continue
		}
		x := *r.patch.(*patchRow[S, P]) // The start of the process panics on a row of another patch.
		x.level = max(r.level, r.patchLevel)
		pt.rows = append(pt.rows, x)
		pt.names[r.name] = x.member
		pt.known |= x.member
		pt.leveled = pt.leveled || x.level > LevelFormat1 || x.needs != nil
	}
	return pt
}

// members returns the members with the given names. It panics, at the start of the process, on a name without a row.
func (t *patchTable[S, P]) members(names ...string) (all Members) {
	for _, name := range names {
		if t.names[name] == 0 {
			panic("command: no patch changes " + name)
		}
		all |= t.names[name]
	}
	return all
}

// of returns the members that a patch changes.
func (t *patchTable[S, P]) of(p *P) (all Members) {
	for i := range t.rows {
		if t.rows[i].present(p) {
			all |= t.rows[i].member
		}
	}
	return all
}

func (t *patchTable[S, P]) append(dst []byte, p *P) []byte {
	all := t.of(p)
	dst = binary.AppendUvarint(dst, uint64(all))
	for i := range t.rows {
		if r := &t.rows[i]; all&r.member != 0 {
			dst = r.append(dst, p)
		}
	}
	return dst
}

// read reads what append wrote.
func (t *patchTable[S, P]) read(d *Decoder, p *P) {
	all := Members(d.Uvarint())
	if all&^t.known != 0 {
		d.Fail()
	}
	for i := range t.rows {
		if r := &t.rows[i]; all&r.member != 0 {
			d.needs = max(d.needs, r.level)
			r.read(d, p)
		}
	}
}

// changes makes the row of a patch's own table that holds the changed members.
func changes[S, P any](t *patchTable[S, P]) row[P] {
	c := codec{
		name: "changed members of the " + t.name, least: 1,
		append: func(dst []byte, p unsafe.Pointer) []byte { return t.append(dst, (*P)(p)) },
		read:   func(d *Decoder, p unsafe.Pointer) { t.read(d, (*P)(p)) },
		isZero: func(p unsafe.Pointer) bool { return t.of((*P)(p)) == 0 },
	}
	if t.leveled {
		c.needs = func(p unsafe.Pointer) Level { return t.needs((*P)(p)) }
	}
	return fixed("changes", kind[P]{c}, func(p *P) *P { return p })
}

// needs returns the level from which a patch may be written.
func (t *patchTable[S, P]) needs(p *P) (needs Level) {
	if !t.leveled {
		return LevelFormat1
	}
	for i := range t.rows {
		r := &t.rows[i]
		if !r.present(p) {
			continue
		}
		needs = max(needs, r.level)
		if r.needs != nil {
			needs = max(needs, r.needs(p))
		}
	}
	return needs
}

// change applies a patch to a value.
func (t *patchTable[S, P]) change(s *S, p *P) {
	for i := range t.rows {
		t.rows[i].change(s, p)
	}
}

// version returns the version of members of a value: a hash of what they are.
func (t *patchTable[S, P]) version(s *S, members Members) uint64 {
	var b []byte
	for i := range t.rows {
		if r := &t.rows[i]; members&r.member != 0 {
			b = r.value(b, s)
		}
	}
	return xxhash.Sum64(b)
}
