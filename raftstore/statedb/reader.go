package statedb

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"
)

// Reader reads the state of one group with keys relative to it. Not for concurrent use.
//
// A value that cannot be read ends the process, so there are no errors here: the state machine must not decide on half
// of its state.
type Reader struct {
	group  *Group
	p      pebble.Reader
	key    []byte
	closer io.Closer // Of the value last returned.
}

// Reader reads the current state.
func (g *Group) Reader() *Reader { return g.newReader(g.db.p) }

func (g *Group) newReader(p pebble.Reader) *Reader {
	return &Reader{group: g, p: p, key: append([]byte(nil), g.prefix...)}
}

// Get returns the value of a key. OWNERSHIP: the value is valid until the next Get.
func (r *Reader) Get(key []byte) (value []byte, found bool) {
	r.release()
	r.key = append(r.key[:len(r.group.prefix)], key...)
	value, closer, err := r.p.Get(r.key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false
	}
	r.group.db.mustRead(err)
	r.closer = closer
	return value, true
}

// Scan calls fn for the keys from (included) to (excluded), in order, until it returns false. OWNERSHIP: key and value
// are valid until fn returns.
func (r *Reader) Scan(from, to []byte, fn func(key, value []byte) bool) {
	prefix := r.group.prefix
	low := append(append(make([]byte, 0, len(prefix)+len(from)), prefix...), from...)
	high := append(append(make([]byte, 0, len(prefix)+len(to)), prefix...), to...)
	r.scan(low, high, fn)
}

func (r *Reader) scan(low, high []byte, fn func(key, value []byte) bool) {
	it, err := r.p.NewIter(&pebble.IterOptions{LowerBound: low, UpperBound: high})
	r.group.db.mustRead(err)
	for valid := it.First(); valid; valid = it.Next() {
		if !fn(it.Key()[len(r.group.prefix):], it.Value()) {
			break
		}
	}
	r.group.db.mustRead(errors.Join(it.Error(), it.Close()))
}

// Release gives back what the last value holds. The database cannot be closed before.
func (r *Reader) Release() { r.release() }

func (r *Reader) release() {
	if r.closer != nil {
		r.group.db.mustRead(r.closer.Close())
		r.closer = nil
	}
}
