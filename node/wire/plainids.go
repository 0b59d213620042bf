package wire

import (
	"encoding/binary"
	"math/bits"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
)

// Nine of ten bytes of the traffic are product ids. The two readers of this file read runs of plain ids and keep their state
// in registers. Anything else ends the run, and the general reader continues there.

// plainIDs appends the ids of a run of at most most valid strings of printable ASCII without escapes and with only commas
// between them. It leaves pos at the first byte that does not belong to the run.
func (s *scanner) plainIDs(ids []auction.ID, most int) []auction.ID {
	src, pos, seed, length := s.src, s.pos, s.seed, 0
	for from := len(ids); len(ids)-from < most && pos < len(src) && src[pos] == '"'; {
		start := pos + 1
		end := start
		for {
			if end+8 > len(src) {
				return ids // The last seven bytes of the body are read by the general reader.
			}
			if marks := special(binary.LittleEndian.Uint64(src[end:])); marks != 0 {
				end += bits.TrailingZeros64(marks) / 8
				break
			}
			end += 8
		}
		if src[end] != '"' || end == start || end-start > idMax {
			return ids
		}
		ids = append(ids, auction.ID{Hash: market.Hash(seed, src[start:end]), Span: span(start, end)})
		s.prefetch(&ids[len(ids)-1])
		s.pos = end + 1
		pos = end + 2
		if pos >= len(src) || src[end+1] != ',' {
			return ids
		}
		if end-start == length && length >= 8 && length <= 16 && src[pos] == '"' {
			free := ids[len(ids):min(cap(ids), from+most)]
			n := equalLengthIDs(free, src, seed, pos, length, s.tagFilter)
			ids = ids[:len(ids)+n]
			pos += n * (length + len(`"",`))
			s.pos = pos - 1
		}
		length = end - start
	}
	return ids
}

// prefetch asks the processor for the word of the product table that the lookup of an id reads first.
func (s *scanner) prefetch(id *auction.ID) { s.tagFilter.Prefetch(&id.Hash, 0, 1) }

// equalLengthIDsGeneric reads ids that all have the same length, from 8 to 16 bytes, as most shops number their products,
// and returns how many it read. The position of the next id then does not depend on the bytes of this one, so the
// processor works on several ids at a time, and the two words that are tested for plain text are also the input of the
// hash. The last id of an array is not read. REQUIRES: src[at] is the opening quote of the first id.
func equalLengthIDsGeneric(ids []auction.ID, src []byte, seed uint64, at, length int) int {
	const link = '"' | ','<<8 | '"'<<16 // The three bytes between two ids.
	for n := range ids {
		end := at + 1 + length
		if end+4 > len(src) {
			return n
		}
		head := binary.LittleEndian.Uint64(src[at+1 : at+9])
		tail := binary.LittleEndian.Uint64(src[end-8 : end])
		if binary.LittleEndian.Uint32(src[end:end+4])<<8 != link<<8 || unusual(head)|unusual(tail) != 0 {
			return n
		}
		ids[n] = auction.ID{Hash: market.HashShort(seed, head, tail, length), Span: span(at+1, end)}
		at = end + 2
	}
	return len(ids)
}

// unusual returns a value other than 0 for every word with a byte that special marks, and for words with a blank or an
// exclamation mark, which the general reader then handles. Which bits are set is not exact; an exact test costs more.
// A byte that is not ASCII sets a bit in one of the two differences.
func unusual(w uint64) uint64 {
	return ((w - ('"'+1)*ones) | (w ^ backslashes - ones)) & highs
}
