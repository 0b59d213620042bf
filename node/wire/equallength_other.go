//go:build !amd64

package wire

import (
	"unsafe"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
)

// equalLengthIDs is equalLengthIDsGeneric followed by the prefetch of the words that the lookups of its ids read first.
func equalLengthIDs(ids []auction.ID, src []byte, seed uint64, at, length int, filter market.TagFilter) int {
	n := equalLengthIDsGeneric(ids, src, seed, at, length)
	if n > 0 {
		filter.Prefetch(&ids[0].Hash, unsafe.Sizeof(ids[0]), n)
	}
	return n
}
