package shard

import (
	"encoding/binary"
	"math/bits"
)

// keyFilter is a Bloom filter of 16-byte hashes that grows with its keys and is never persisted. A key sets one bit in
// each of the 8 words of one block (Putze, Sanders and Singler, Cache-, Hash- and Space-Efficient Bloom Filters, 2009),
// so a look-up reads one cache line of each layer. A full layer gets a successor (Almeida and others, Scalable Bloom
// Filters, 2007), because a Bloom filter cannot be enlarged: of four times its size, until a layer has blocksMax blocks.
type keyFilter struct {
	layers [][]filterBlock // Only the last one gets new keys.
	free   int             // How many more keys the last layer gets.
	bytes  int             // Of all layers.
}

type filterBlock [8]uint64

const (
	firstBlocks  = 1 << 10 // 64 KiB, for 16,384 keys.
	growthOfKeys = 4
	// smallKeys and largeKeys are how many keys a layer gets for each of its blocks. At 16 bits a key, 1 absent key of 700 seems
	// contained. Layers of less than blocksMax get half as many keys, so that they add 1 in 100,000 each.
	smallKeys, largeKeys = 16, 32
	blocksMax            = 1 << 20 // 64 MiB.
	// layersMax bounds the layers. BOUND: they have 213 MiB, for 106 million keys: the events of a group in a day at 1,200 a
	// second. Beyond that the last layer takes more keys, and more of them are looked up in vain, which is slower and gives the
	// same answers.
	layersMax = 8
)

// insert adds a key, unless it seems contained, and reports whether it was certainly absent.
func (f *keyFilter) insert(key *[16]byte) bool {
	at, set := placeOf(key)
	if f.has(at, set) {
		return false
	}
	if f.free == 0 && len(f.layers) < layersMax {
		f.grow()
	}
	f.free = max(f.free-1, 0)
	last := f.layers[len(f.layers)-1]
	last[blockAt(at, len(last))].add(set)
	return true
}

// grow adds a layer.
func (f *keyFilter) grow() {
	blocks, keys := firstBlocks, smallKeys
	if last := len(f.layers) - 1; last >= 0 {
		blocks = min(growthOfKeys*len(f.layers[last]), blocksMax)
	}
	if blocks == blocksMax {
		keys = largeKeys
	}
	f.layers = append(f.layers, make([]filterBlock, blocks))
	f.free = blocks * keys
	f.bytes += blocks * len(filterBlock{}) * 8
}

// mayContain returns false if the key was not added. It returns true if it was, and rarely if it was not.
func (f *keyFilter) mayContain(key *[16]byte) bool { return f.has(placeOf(key)) }

func (f *keyFilter) has(at, set uint64) bool {
	for _, layer := range f.layers {
		if layer[blockAt(at, len(layer))].has(set) {
			return true
		}
	}
	return false
}

// add sets the bits of a key.
func (b *filterBlock) add(set uint64) {
	for i := range b {
		b[i] |= 1 << (set >> (6 * i) % 64)
	}
}

// has reports whether all bits of a key are set.
func (b *filterBlock) has(set uint64) bool {
	for i := range b {
		if b[i]&(1<<(set>>(6*i)%64)) == 0 {
			return false
		}
	}
	return true
}

// placeOf returns the number that selects the block of a key, and its bits, 6 of the number for each word.
func placeOf(key *[16]byte) (at, set uint64) {
	const odd = 0x9e3779b97f4a7c15 // 2^64 / golden ratio. The first bytes of a key select its group, so they vary little in one.
	a, b := binary.LittleEndian.Uint64(key[:]), binary.LittleEndian.Uint64(key[8:])
	hi, lo := bits.Mul64(a^odd, b^bits.RotateLeft64(odd, 32))
	return hi ^ a*odd, lo ^ b*odd
}

func blockAt(at uint64, blocks int) uint64 {
	hi, _ := bits.Mul64(at, uint64(blocks))
	return hi
}
