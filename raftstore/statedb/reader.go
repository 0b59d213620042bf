package statedb

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// Reader reads the state of one group with keys relative to it. It is not safe for concurrent use.
//
// A read that fails ends the process, so there are no errors here: the state machine must not decide on a part of its
// state.
type Reader struct {
	group *Group
	p     pebble.Reader
	key   []byte
	value []byte
}

// Reader returns a reader of the current state.
func (g *Group) Reader() *Reader { return g.newReader(g.db.p) }

func (g *Group) newReader(p pebble.Reader) *Reader {
	return &Reader{group: g, p: p, key: append([]byte(nil), g.prefix...)}
}

// Get returns the value of a key. OWNERSHIP: the value is valid until the next Get. It is a copy, because a value of
// Pebble pins a block until its closer is closed, and one forgotten closer makes Close panic.
func (r *Reader) Get(key []byte) (value []byte, found bool) {
	r.key = append(r.key[:len(r.group.prefix)], key...)
	value, closer, err := r.p.Get(r.key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false
	}
	r.group.db.mustRead(err)
	r.value = append(r.value[:0], value...)
	r.group.db.mustRead(closer.Close())
	return r.value, true
}

// Scan calls fn for the keys from (included) to (excluded), in order, until it returns false. OWNERSHIP: key and value
// are valid until fn returns.
func (r *Reader) Scan(from, to []byte, fn func(key, value []byte) bool) {
	low, high := r.fullRange(from, to)
	r.group.db.mustRead(r.each(low, high, fn))
}

// fullRange returns the bounds of a range of the group in the database.
func (r *Reader) fullRange(from, to []byte) (low, high []byte) {
	prefix := r.group.prefix
	low = append(append(make([]byte, 0, len(prefix)+len(from)), prefix...), from...)
	high = append(append(make([]byte, 0, len(prefix)+len(to)), prefix...), to...)
	return low, high
}

// each is Scan with bounds in the database; it returns a read that failed.
func (r *Reader) each(low, high []byte, fn func(key, value []byte) bool) error {
	it, err := r.p.NewIter(&pebble.IterOptions{LowerBound: low, UpperBound: high})
	if err != nil {
		return err
	}
	for valid := it.First(); valid; valid = it.Next() {
		if !fn(it.Key()[len(r.group.prefix):], it.Value()) {
			break
		}
	}
	return errors.Join(it.Error(), it.Close())
}
