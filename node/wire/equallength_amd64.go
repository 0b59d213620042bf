package wire

import (
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
)

// equalLengthIDs is equalLengthIDsGeneric in assembly. It tests all bytes of an id at once. As soon as the hash is known it
// prefetches the word of the product table that the lookup will read, so that the memory access overlaps with the next ids.
func equalLengthIDs(ids []auction.ID, src []byte, seed uint64, at, length int, filter market.TagFilter) int {
	if len(ids) == 0 {
		return 0
	}
	keys := market.ShortKeysOf(seed, length)
	tags, mask := filter.Words()
	return equalLengthIDsAsm(&ids[0], len(ids), &src[at], len(src)-at, length, uint32(at+1), &keys, tags, mask) // Bodies are at most 4 MiB.
}

// equalLengthIDsAsm reads at most n ids from the avail bytes that begin at first, stores them from ids on, and returns how
// many it read. offset is the position in the body of the first id's text, the byte after first.
//
//go:noescape
func equalLengthIDsAsm(ids *auction.ID, n int, first *byte, avail, length int, offset uint32, keys *market.ShortKeys, tags *uint64, mask uint64) int
