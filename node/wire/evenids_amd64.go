package wire

import (
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
)

// evenIDs is evenIDsPlain in assembly. It tests all bytes of an id at once, and asks for the word of the product table that the
// look-up will read as soon as the hash is known: so the memory works while the next ids are read.
func evenIDs(ids []auction.ID, src []byte, seed uint64, at, length int, sieve market.Sieve) int {
	if len(ids) == 0 {
		return 0
	}
	keys := market.ShortKeysOf(seed, length)
	tags, mask := sieve.Words()
	return evenIDsAhead(&ids[0], len(ids), &src[at], len(src)-at, length, uint32(at+1), &keys, tags, mask) //nolint:gosec // Bodies are at most 4 MiB.
}

// evenIDsAhead reads up to n ids of the room bytes from first on, whose text begins at offset.
//
//go:noescape
func evenIDsAhead(ids *auction.ID, n int, first *byte, room, length int, offset uint32, keys *market.ShortKeys, tags *uint64, mask uint64) int
