package shard

import (
	"github.com/gavel-ads/gavel/shard/rollup"
)

// cellsMax bounds the counters kept in memory between batches, to about 16 MB.
const cellsMax = 1 << 16

// cells are the counters being counted. A cell is read from the durable state when it is first touched, counted in
// memory, and written once per batch; between batches it stays as a cache until there are too many.
type cells struct {
	index map[string]int // By stored key.
	all   []cell
	dirty []int
}

type cell struct {
	key   string
	hash  uint64 // Of the stored form; 0 before the first.
	dirty bool
	rollup.Counters
}

func newCells() cells { return cells{index: make(map[string]int)} }

// cell returns the counters stored under a key, to be added to. OWNERSHIP: valid until the next call.
func (m *Machine) cell(key []byte) *rollup.Counters {
	i, known := m.cells.index[string(key)]
	if !known {
		i = len(m.cells.all)
		c := cell{key: string(key)}
		if stored, found := m.b.Get(key); found {
			c.hash = m.hashOf(key, stored)
			if c.Decode(stored) != nil {
				panic("shard: stored counters are unreadable")
			}
		}
		m.cells.all = append(m.cells.all, c)
		m.cells.index[c.key] = i
	}
	c := &m.cells.all[i]
	if !c.dirty {
		c.dirty = true
		m.cells.dirty = append(m.cells.dirty, i)
	}
	return &c.Counters
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

// settle forgets all cells when there are too many. REQUIRES: none is dirty.
func (c *cells) settle() {
	if len(c.all) > cellsMax {
		clear(c.index)
		clear(c.all)
		c.all = c.all[:0]
	}
}
