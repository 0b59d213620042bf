package command

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// This file has the kinds of members that consist of values with tables.

// value is the kind of a member that has a table of its own.
func value[S any](t *table[S]) kind[S] {
	c := codec{
		name: t.name, least: t.least,
		append: func(dst []byte, v unsafe.Pointer) []byte { return t.append(dst, (*S)(v)) },
		read:   func(d *Decoder, v unsafe.Pointer) { t.read(d, (*S)(v)) },
		isZero: func(v unsafe.Pointer) bool { return t.isZero((*S)(v)) },
	}
	if t.leveled {
		c.needs = func(v unsafe.Pointer) Level { return t.needs((*S)(v)) }
	}
	return kind[S]{c}
}

// pointer is the kind of a member that points to a value or is nil. REQUIRES: its row is optional.
func pointer[S any](t *table[S]) kind[*S] {
	c := codec{
		name: t.name, least: t.least,
		append: func(dst []byte, v unsafe.Pointer) []byte { return t.append(dst, *(**S)(v)) },
		read: func(d *Decoder, v unsafe.Pointer) {
			s := new(S)
			t.read(d, s)
			*(**S)(v) = s
		},
		isZero: func(v unsafe.Pointer) bool { return *(**S)(v) == nil },
	}
	if t.leveled {
		c.needs = func(v unsafe.Pointer) Level {
			if s := *(**S)(v); s != nil {
				return t.needs(s)
			}
			return LevelFormat1
		}
	}
	return kind[*S]{c}
}

const (
	unbounded  = math.MaxInt // The limit of a list that only the length of its command bounds.
	reserveMax = 128         // BOUND: elements of a list for which memory is allocated before they are read.
)

// list is the kind of a list of values with a table, of at most limit values. Decoding an empty list returns nil.
func list[S any](t *table[S], limit int) kind[[]S] {
	c := codec{
		name: "list of " + t.name, least: 1,
		append: func(dst []byte, v unsafe.Pointer) []byte {
			all := *(*[]S)(v)
			dst = binary.AppendUvarint(dst, uint64(len(all)))
			for i := range all {
				dst = t.append(dst, &all[i])
			}
			return dst
		},
		read:   func(d *Decoder, v unsafe.Pointer) { *(*[]S)(v) = readList(d, t, limit) },
		isZero: func(v unsafe.Pointer) bool { return len(*(*[]S)(v)) == 0 },
	}
	if limit != unbounded {
		c.name = fmt.Sprintf("list of at most %d %s", limit, t.name)
	}
	if t.leveled {
		c.needs = func(v unsafe.Pointer) (needs Level) {
			all := *(*[]S)(v)
			for i := range all {
				needs = max(needs, t.needs(&all[i]))
			}
			return needs
		}
	}
	return kind[[]S]{c}
}

func readList[S any](d *Decoder, t *table[S], limit int) []S {
	n := d.Count(t.least)
	if n > limit {
		d.Fail()
	}
	if d.bad || n == 0 {
		return nil
	}
	all := make([]S, 0, min(n, reserveMax))
	for range n {
		var zero S
		all = append(all, zero)
		if t.read(d, &all[len(all)-1]); d.bad {
			return nil
		}
	}
	return all
}
