package market

import "slices"

// The arenas hold values of varying length. They only grow: a changed value is written to new memory and the old one
// becomes waste, so an older view never sees overwritten memory. Chunks are never moved, and a view keeps the list of
// chunks.

// bidArena holds the bids of each product as one block of consecutive rows.
//
// A block may have free rows at its end. A row written there lies beyond the count that older views have, so they do
// not see it. INVARIANT: after the publication of its block, a row is written at most once.
type bidArena struct {
	chunks          [][]BidRow
	free            uint32 // Index of the first free row of the last chunk.
	rows            int    // Rows allocated since the last compaction.
	live            int    // Rows that hold a bid of a product.
	publishedBlocks uint32 // Blocks below this number are in a published view.
}

const (
	bidChunkBits = 13
	bidChunkRows = 1 << bidChunkBits
)

// bidsAt returns the first count rows of a block.
func bidsAt(chunks [][]BidRow, block, count uint32) []BidRow {
	if count == 0 {
		return nil
	}
	chunk := chunks[block>>bidChunkBits]
	from := block % bidChunkRows
	return chunk[from : from+count : from+count]
}

func (a *bidArena) at(block, count uint32) []BidRow { return bidsAt(a.chunks, block, count) }

// add allocates a block of the given size. A block longer than a chunk gets a chunk of its own.
func (a *bidArena) add(size uint32) uint32 {
	if len(a.chunks) == 0 || uint64(a.free)+uint64(size) > uint64(len(a.chunks[len(a.chunks)-1])) {
		a.chunks = append(a.chunks, make([]BidRow, max(bidChunkRows, size)))
		a.free = 0
	}
	block := uint32(len(a.chunks)-1)<<bidChunkBits | a.free // BOUND: 2^32 rows.
	a.free += size
	a.rows += int(size)
	return block
}

// end returns a number above all allocated blocks and at most that of the next block.
func (a *bidArena) end() uint32 {
	if len(a.chunks) == 0 {
		return 0
	}
	return uint32(len(a.chunks)-1)<<bidChunkBits + min(a.free, bidChunkRows) // BOUND: 2^32 rows.
}

// wasteful reports whether a third of the arena is waste.
func (a *bidArena) wasteful() bool { return a.rows-a.live > a.live/2+bidChunkRows }

// wordArena holds lists of 32-bit words, each preceded by its length. Reference 0 is the empty list.
type wordArena struct {
	chunks [][]uint32
	free   int
	words  int // Words allocated since the last compaction.
	waste  int
}

const (
	wordChunkBits = 14
	wordChunkSize = 1 << wordChunkBits
)

func wordsAt(chunks [][]uint32, ref uint32) []uint32 {
	if ref == 0 {
		return nil
	}
	list := chunks[ref>>wordChunkBits][ref%wordChunkSize:]
	return list[1 : 1+list[0] : 1+list[0]]
}

func (a *wordArena) at(ref uint32) []uint32 { return wordsAt(a.chunks, ref) }

// put stores a copy of a list.
func (a *wordArena) put(list []uint32) uint32 {
	if len(list) == 0 {
		return 0
	}
	need := len(list) + 1
	if len(a.chunks) == 0 || a.free+need > len(a.chunks[len(a.chunks)-1]) {
		a.free = 0
		if len(a.chunks) == 0 {
			a.free = 1 // 0 is the empty list.
		}
		a.chunks = append(a.chunks, make([]uint32, max(wordChunkSize, need+a.free)))
	}
	ref := uint32((len(a.chunks)-1)<<wordChunkBits | a.free) // BOUND: 2^32 words.
	into := a.chunks[len(a.chunks)-1][a.free:]
	into[0] = uint32(len(list)) // Lists have a few hundred words.
	copy(into[1:], list)
	a.free += need
	a.words += need
	return ref
}

// replace stores a list instead of another one and returns its reference. Older views keep the memory of the old list.
func (a *wordArena) replace(ref uint32, list []uint32) uint32 {
	old := a.at(ref)
	if slices.Equal(old, list) {
		return ref
	}
	if ref != 0 {
		a.waste += len(old) + 1
	}
	return a.put(list)
}

func (a *wordArena) wasteful() bool { return a.waste > a.words/3+wordChunkSize }

// byteArena holds the texts of ids. Texts stay until the process ends.
type byteArena struct {
	chunks [][]byte
	free   int
}

const (
	byteChunkBits = 16
	byteChunkSize = 1 << byteChunkBits
)

func textAt(chunks [][]byte, ref uint32, length uint16) []byte {
	chunk := chunks[ref>>byteChunkBits]
	from := ref % byteChunkSize
	return chunk[from : from+uint32(length) : from+uint32(length)]
}

func (a *byteArena) at(ref uint32, length uint16) []byte { return textAt(a.chunks, ref, length) }

// put stores a copy of a text. REQUIRES: at most 65,535 bytes; ids have at most 255 characters.
func (a *byteArena) put(text string) uint32 {
	if len(a.chunks) == 0 || a.free+len(text) > byteChunkSize {
		a.chunks = append(a.chunks, make([]byte, byteChunkSize))
		a.free = 0
	}
	ref := uint32((len(a.chunks)-1)<<byteChunkBits | a.free) // BOUND: 4 GiB of texts.
	copy(a.chunks[len(a.chunks)-1][a.free:], text)
	a.free += len(text)
	return ref
}
