package shard

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// The digest is the xor of the hashes of all records. An xor does not depend on the order of changes, the old hash of a
// record can be removed without reading other records, and a range of records can be removed when the xor of their
// hashes is stored. The digest detects divergence and corruption. It does not detect forgery; the journal's hash chain
// does.

// hashOf hashes one record. The input includes the length of the key, so that no two records have the same input.
func (m *Machine) hashOf(key, value []byte) uint64 {
	var h uint64
	h, m.hash = recordHash(m.hash, key, value)
	return h
}

func recordHash(scratch, key, value []byte) (uint64, []byte) {
	scratch = append(appendU16(scratch[:0], uint16(len(key))), key...) // Keys are short.
	scratch = append(scratch, value...)
	return xxhash.Sum64(scratch), scratch
}

// get returns a cold record as the batch has left it so far. OWNERSHIP: valid until the next read of the batch.
func (m *Machine) get(key []byte) (value []byte, found bool) {
	if v, ok := m.overlay[string(key)]; ok {
		return v, v != nil
	}
	return m.b.Get(key)
}

// scanCold calls fn for the cold records of a prefix as the batch has left them so far, in the order of their keys. fn may
// change them. REQUIRES: the records are written by put and putOver alone. OWNERSHIP: key and value are fn's.
func (m *Machine) scanCold(prefix []byte, fn func(key, value []byte)) {
	all := make(map[string][]byte)
	m.b.Scan(prefix, prefixEnd(prefix), func(key, value []byte) bool {
		all[string(key)] = slices.Clone(value)
		return true
	})
	for key, value := range m.overlay { // order: it fills a map.
		if strings.HasPrefix(key, string(prefix)) {
			all[key] = slices.Clone(value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if all[key] != nil {
			fn([]byte(key), all[key])
		}
	}
}

// coldKeys lists the keys of the cold records of a prefix as the batch has left them so far, ascending, at most limit.
// REQUIRES: the records are written by put and putOver alone.
func (m *Machine) coldKeys(prefix []byte, limit int) (keys [][]byte) {
	m.b.Scan(prefix, prefixEnd(prefix), func(key, _ []byte) bool {
		if _, changed := m.overlay[string(key)]; !changed {
			keys = append(keys, slices.Clone(key))
		}
		return len(keys) < limit
	})
	for key, value := range m.overlay { // order: sorted below.
		if value != nil && strings.HasPrefix(key, string(prefix)) {
			keys = append(keys, []byte(key))
		}
	}
	slices.SortFunc(keys, bytes.Compare)
	return keys[:min(limit, len(keys))]
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

// putOver is put for a caller that has just read the stored record. was is the hash of that record, 0 when there is
// none. It saves a read, which costs several times as much as a write.
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

// add writes a new record. REQUIRES: no command of this batch reads it through get.
func (m *Machine) add(key, value []byte) (hash uint64) {
	hash = m.hashOf(key, value)
	m.digest ^= hash
	m.written = true
	m.b.Set(key, value)
	return hash
}

// replace writes a hot record. last is the hash of its stored form, 0 when there is none. It returns the new hash and
// writes nothing when the hash is unchanged.
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
