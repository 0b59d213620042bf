package shard

import "github.com/cespare/xxhash/v2"

// The digest is the xor of the hashes of all records. An xor can be maintained in any order, a record's old hash can be
// taken out of it without reading the rest, and a range of records can be dropped when the xor of their hashes is kept
// beside them. It finds divergence and rot, not forgery: the journal's chain is there for that.

// hashOf hashes one record, length of the key included, so that no two different records give the same input.
func (m *Machine) hashOf(key, value []byte) uint64 {
	var h uint64
	h, m.hash = recordHash(m.hash, key, value)
	return h
}

func recordHash(scratch, key, value []byte) (uint64, []byte) {
	scratch = append(appendU16(scratch[:0], uint16(len(key))), key...) //nolint:gosec // keys are short.
	scratch = append(scratch, value...)
	return xxhash.Sum64(scratch), scratch
}

// get returns a cold record as the batch left it so far. OWNERSHIP: valid until the next read of the batch.
func (m *Machine) get(key []byte) (value []byte, found bool) {
	if v, ok := m.overlay[string(key)]; ok {
		return v, v != nil
	}
	return m.b.Get(key)
}

// put writes a cold record, or deletes it when value is nil.
func (m *Machine) put(key, value []byte) {
	if old, found := m.get(key); found {
		m.digest ^= m.hashOf(key, old)
	} else if value == nil {
		return
	}
	m.written = true
	if value == nil {
		m.overlay[string(key)] = nil
		m.b.Delete(key)
		return
	}
	m.set(key, value)
}

// putOver is put of a value where the caller has just read what is stored: was is its hash, 0 when nothing was. A read costs
// several times what a write does.
func (m *Machine) putOver(key, value []byte, was uint64) {
	m.digest ^= was
	m.written = true
	m.set(key, value)
}

func (m *Machine) set(key, value []byte) {
	m.digest ^= m.hashOf(key, value)
	m.overlay[string(key)] = append([]byte{}, value...)
	m.b.Set(key, value)
}

// add writes a record that did not exist before and that no command of this batch reads back through get.
func (m *Machine) add(key, value []byte) (hash uint64) {
	hash = m.hashOf(key, value)
	m.digest ^= hash
	m.written = true
	m.b.Set(key, value)
	return hash
}

// replace writes a record of which memory holds the truth; last is the hash of its stored form, 0 when there is none.
func (m *Machine) replace(key, value []byte, last uint64) (hash uint64) {
	hash = m.hashOf(key, value)
	if hash == last {
		return hash
	}
	m.digest ^= last ^ hash
	m.written = true
	m.b.Set(key, value)
	return hash
}
