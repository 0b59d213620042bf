package shard

import (
	"encoding/binary"
	"math/bits"
)

// keyFilter is a Bloom filter of 16-byte hashes that grows with its keys and is never persisted. A key sets one bit in
// each of the 8 words of one block (Putze, Sanders and Singler, Cache-, Hash- and Space-Efficient Bloom Filters, 2009),
// so a look-up reads one cache line of each layer. A full layer gets a successor of four times its size (Almeida and
// others, Scalable Bloom Filters, 2007), because a Bloom filter cannot be enlarged.
type keyFilter struct {
	layers [][]filterBlock // Only the last one gets new keys.
	free   int             // How many more keys the last layer gets.
}

type filterBlock [8]uint64

const (
	firstBlocks  = 1 << 10 // 64 KiB, for 32,768 keys.
	growthOfKeys = 4
	blockKeys    = 32 // At 16 bits a key, one absent key of some 1,000 seems contained.
	// blocksMax is the size of the largest layer. BOUND: all layers of a day together have 85 MiB, for 44 million events of
	// a group a day. Beyond that the last layer takes more keys, and more events are looked up in vain, which is slower and
	// gives the same answers.
	blocksMax = 1 << 20
)

// add adds a key.
func (f *keyFilter) add(key *[16]byte) {
	if last := len(f.layers) - 1; f.free == 0 && (last < 0 || len(f.layers[last]) < blocksMax) {
		blocks := firstBlocks
		if last >= 0 {
			blocks = len(f.layers[last]) * growthOfKeys
		}
		f.layers = append(f.layers, make([]filterBlock, blocks))
		f.free = blocks * blockKeys
	}
	f.free = max(f.free-1, 0)
	at, set := placeOf(key)
	layer := f.layers[len(f.layers)-1]
	b := &layer[blockAt(at, len(layer))]
	for i := range b {
		b[i] |= 1 << (set >> (6 * i) % 64)
	}
}

// mayContain returns false if the key was not added. It returns true if it was, and rarely if it was not.
func (f *keyFilter) mayContain(key *[16]byte) bool {
	at, set := placeOf(key)
	for _, layer := range f.layers {
		if layer[blockAt(at, len(layer))].has(set) {
			return true
		}
	}
	return false
}

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
