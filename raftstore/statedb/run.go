package statedb

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// run is a sequence of changes of single keys, which reach the memtable in the order of their keys: an insert into its
// skip list begins where the last one ended, and the nodes between two neighbours are in the processor's cache. With keys
// in the order of their commands, the inserts were a third of the CPU time of charged events.
type run struct {
	changes []change
	bytes   []byte // Keys and values, one after the other.
}

// change sets or deletes one key. Sorting moves changes, so they are small.
type change struct {
	begin    [2]uint64 // The first sixteen bytes of the key, so that most comparisons touch nothing else.
	at       int       // Where the key begins in bytes; the value follows it. It orders the changes of one key.
	keyLen   uint32
	valueLen int32 // Negative: the key is deleted.
}

func (c *change) deleted() bool { return c.valueLen < 0 }

func (r *run) add(key, value []byte, deleted bool) {
	var begin [16]byte
	copy(begin[:], key)
	c := change{
		begin: [2]uint64{binary.BigEndian.Uint64(begin[:8]), binary.BigEndian.Uint64(begin[8:])},
		at:    len(r.bytes), keyLen: uint32(len(key)), valueLen: int32(len(value)), // Both are parts of a command, which has some MB.
	}
	if deleted {
		c.valueLen = -1
	}
	r.changes = append(r.changes, c)
	r.bytes = append(append(r.bytes, key...), value...)
}

func (r *run) key(c *change) []byte { return r.bytes[c.at : c.at+int(c.keyLen)] }

// value returns the value of a change that is no deletion.
func (r *run) value(c *change) []byte {
	from := c.at + int(c.keyLen)
	return r.bytes[from : from+int(c.valueLen)]
}

const changeSize = 32 // Bytes of a change.

// size is the memory that the changes occupy, in bytes.
func (r *run) size() int { return len(r.bytes) + changeSize*len(r.changes) }

// sort orders the changes by key, and those of one key as they were made.
func (r *run) sort() {
	slices.SortFunc(r.changes, func(a, b change) int {
		if a.begin[0] != b.begin[0] {
			return cmp.Compare(a.begin[0], b.begin[0])
		}
		if a.begin[1] != b.begin[1] {
			return cmp.Compare(a.begin[1], b.begin[1])
		}
		return cmp.Or(bytes.Compare(r.key(&a), r.key(&b)), cmp.Compare(a.at, b.at))
	})
}

// runKeepMax bounds the memory that an emptied run keeps, in bytes, so that one large batch does not hold it for ever.
const runKeepMax = 4 << 20

// reset empties the run.
func (r *run) reset() {
	if cap(r.bytes) > runKeepMax {
		*r = run{}
		return
	}
	r.changes, r.bytes = r.changes[:0], r.bytes[:0]
}
