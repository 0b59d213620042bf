package pebblelog

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
)

// handle is the only owner of the log database. Its one way to commit waits for the disk, so no code above it can make
// an unsynced write.
type handle struct {
	p *pebble.DB
}

func (h handle) batch() *pebble.Batch { return h.p.NewBatch() }

// commit makes the batch durable and releases it.
func (h handle) commit(b *pebble.Batch) error {
	err := h.p.Apply(b, pebble.Sync)
	return errors.Join(err, b.Close())
}

// get returns a copy of a value.
func (h handle) get(key []byte) (value []byte, found bool, err error) {
	v, closer, err := h.p.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	value = append([]byte{}, v...)
	return value, true, closer.Close()
}

// iterate returns an iterator over [from, to). Every iterator has both bounds, so that none of them reads the
// tombstones of other ranges.
func (h handle) iterate(from, to []byte) (*pebble.Iterator, error) {
	return h.p.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
}
