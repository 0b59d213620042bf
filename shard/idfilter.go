package shard

import "github.com/cespare/xxhash/v2"

const (
	// filterBits is the size of an idFilter. With UnknownProductsMax keys and filterProbes, one absent key of 500 is taken for
	// one that may be contained. BOUND: 16 KiB for each day of a marketplace on which its limit was reached.
	filterBits   = 1 << 17
	filterProbes = 6
)

// idFilter is a Bloom filter of keys (B. Bloom, Space/time trade-offs in hash coding with allowable errors, 1970) whose probes
// are the sums of two hashes (Kirsch and Mitzenmacher, Less hashing, same performance, 2006). It is never persisted.
type idFilter [filterBits / 64]uint64

// add adds a key.
func (f *idFilter) add(key []byte) {
	h, step := probesOf(key)
	for range filterProbes {
		f[h%filterBits/64] |= 1 << (h % 64)
		h += step
	}
}

// mayContain returns false if the key was not added. It returns true if it was, and rarely if it was not.
func (f *idFilter) mayContain(key []byte) bool {
	h, step := probesOf(key)
	for range filterProbes {
		if f[h%filterBits/64]&(1<<(h%64)) == 0 {
			return false
		}
		h += step
	}
	return true
}

// probesOf returns the first probe and the odd distance between probes.
func probesOf(key []byte) (first, step uint64) {
	h := xxhash.Sum64(key)
	return h, h>>32 | 1
}
