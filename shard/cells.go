package shard

import (
	"github.com/gavel-ads/gavel/shard/rollup"
)

// cellsMax bounds the cells kept in memory between batches. BOUND: about 16 MB.
const cellsMax = 1 << 16

// cells caches the report counters that commands change. A cell is read from the durable state on first use, changed in
// memory, and written once per batch. Between batches it stays in memory until there are more than cellsMax cells.
type cells struct {
	index map[string]int // By stored key.
	all   []cell
	dirty []int
}

type cell struct {
	key   string
	hash  uint64 // Hash of the stored record; 0 when there is none.
	dirty bool
	rollup.Counters
}

func newCells() cells { return cells{index: make(map[string]int)} }

// cell returns the counters stored under a key so that the caller changes them. OWNERSHIP: valid until the next call.
func (m *Machine) cell(key []byte) *rollup.Counters {
	i := m.cached(key)
	c := &m.cells.all[i]
	if !c.dirty {
		c.dirty = true
		m.cells.dirty = append(m.cells.dirty, i)
	}
	return &c.Counters
}

// countersAt returns the counters stored under a key, as the batch has left them so far. OWNERSHIP: they must not be
// changed, and are valid until the next call.
func (m *Machine) countersAt(key []byte) *rollup.Counters {
	return &m.cells.all[m.cached(key)].Counters
}

// cached returns the index of the cell with a key in memory.
func (m *Machine) cached(key []byte) int {
	i, known := m.cells.index[string(key)]
	if !known {
		i = len(m.cells.all)
		c := cell{key: string(key)}
		if stored, found := m.b.Get(key); found {
			c.hash = m.hashOf(key, stored)
			if c.Decode(stored) != nil {
				panic("shard: stored counters cannot be decoded")
			}
		}
		m.cells.all = append(m.cells.all, c)
		m.cells.index[c.key] = i
	}
	return i
}

func (m *Machine) flushCells() {
	for _, i := range m.cells.dirty {
		c := &m.cells.all[i]
		c.dirty = false
		m.key = append(m.key[:0], c.key...)
		m.value = c.AppendTo(m.value[:0])
		c.hash = m.replace(m.key, m.value, c.hash)
	}
	m.cells.dirty = m.cells.dirty[:0]
}

// evict drops all cells from memory when there are more than cellsMax. REQUIRES: none is dirty.
func (c *cells) evict() {
	if len(c.all) > cellsMax {
		clear(c.index)
		clear(c.all)
		c.all = c.all[:0]
	}
}
