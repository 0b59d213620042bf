package market

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/shard/h3"
)

// product returns the row of a product id, adding one on its first mention.
func (m *Market) product(marketplace uint16, id string) uint32 {
	i, hash, ok := m.findProduct(marketplace, id)
	if ok {
		return i
	}
	i = m.products.add()
	r := m.products.at(i)
	r.Marketplace, r.key, r.keyLen = marketplace, m.texts.put(id), uint16(len(id)) // Ids are short.
	if jsonSafe(id) {
		r.Flags = ProductIDJSONSafe
	}
	m.dirty = true
	if m.products.table.full() {
		m.growProducts(i)
	}
	m.products.table.insert(hash, i)
	return i
}

// findProduct returns the row of a product id and the id's hash.
func (m *Market) findProduct(marketplace uint16, id string) (row uint32, hash uint64, ok bool) {
	m.key = append(m.key[:0], id...)
	hash = m.hash(seedOf(m.seed, marketplace), m.key)
	t := m.products.table
	for p := t.probe(hash); ; {
		entry, ok := t.next(&p)
		if !ok {
			return 0, hash, false
		}
		i := entry & ordinalMask
		if r := m.products.at(i); r.Marketplace == marketplace && string(m.texts.at(r.key, r.keyLen)) == id {
			return i, hash, true
		}
	}
}

// growProducts builds a product table of twice the size for the next view, with the first n rows.
func (m *Market) growProducts(n uint32) {
	m.products.table = m.products.table.grown(n, func(i uint32) (hash uint64, entry uint32) {
		entry = i
		if m.products.at(i).Flags&productHadBid != 0 {
			entry |= hadBid
		}
		return m.hashOfProduct(i), entry
	})
}

func (m *Market) hashOfProduct(i uint32) uint64 {
	r := m.products.at(i)
	return m.hash(seedOf(m.seed, r.Marketplace), m.texts.at(r.key, r.keyLen))
}

// category returns the row of a category id, adding one on its first mention.
func (m *Market) category(marketplace uint16, id string) uint32 {
	i, hash, ok := m.findCategory(marketplace, id)
	if ok {
		return i
	}
	i = m.categories.add()
	r := m.categories.at(i)
	r.marketplace, r.key, r.keyLen = marketplace, m.texts.put(id), uint16(len(id)) // Ids are short.
	r.parent = noCategory
	m.dirty = true
	if m.categories.table.full() {
		m.growCategories(i)
	}
	m.categories.table.insert(hash, i)
	return i
}

// findCategory returns the row of a category id and the id's hash.
func (m *Market) findCategory(marketplace uint16, id string) (row uint32, hash uint64, ok bool) {
	m.key = append(m.key[:0], id...)
	hash = m.hash(seedOf(m.seed, marketplace), m.key)
	t := m.categories.table
	for p := t.probe(hash); ; {
		entry, ok := t.next(&p)
		if !ok {
			return 0, hash, false
		}
		i := entry & ordinalMask
		if r := m.categories.at(i); r.marketplace == marketplace && string(m.texts.at(r.key, r.keyLen)) == id {
			return i, hash, true
		}
	}
}

// growCategories builds a category table of twice the size for the next view, with the first n rows.
func (m *Market) growCategories(n uint32) {
	m.categories.table = m.categories.table.grown(n, func(i uint32) (hash uint64, entry uint32) {
		r := m.categories.at(i)
		return m.hash(seedOf(m.seed, r.marketplace), m.texts.at(r.key, r.keyLen)), i
	})
}

// location returns the row of a location, 0 for the empty one. Locations that differ only in case have the same row.
func (m *Market) location(marketplace uint16, location string) uint32 {
	if location == "" {
		return 0
	}
	m.key = binary.BigEndian.AppendUint16(m.key[:0], marketplace)
	m.key = AppendFold(m.key, []byte(location))
	if i, ok := m.locations.byKey[string(m.key)]; ok {
		return i
	}
	i := m.locations.add()
	folded := string(m.key[2:])
	cell, _ := h3.Parse([]byte(location))
	*m.locations.at(i) = locationRow{
		cell:   cell,
		hash:   m.hash(seedOf(m.seed, marketplace), m.key[2:]),
		key:    m.texts.put(folded),
		keyLen: uint16(len(folded)), // Locations have at most 255 characters.
	}
	m.locations.byKey[string(m.key)] = i
	return i
}

// vendor returns the number of a vendor, from 1, and assigns one on its first mention.
func (m *Market) vendor(marketplace uint16, id string) uint32 {
	m.key = binary.BigEndian.AppendUint16(m.key[:0], marketplace)
	m.key = append(m.key, id...)
	if i, ok := m.vendors[string(m.key)]; ok {
		return i
	}
	i := uint32(len(m.vendors) + 1) // BOUND: fewer than 2^31 vendors.
	m.vendors[string(m.key)] = i
	m.vendorIDs = append(m.vendorIDs, textOf(id))
	return i
}

// jsonSafe reports whether a JSON string may contain the text without escaping.
func jsonSafe(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c == '"' || c == '\\' {
			return false
		}
	}
	return utf8.ValidString(text)
}
