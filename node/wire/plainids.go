package wire

import (
	"encoding/binary"
	"math/bits"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
)

// Nine of ten bytes of the traffic are product ids. These two readers take them in runs and keep their state in registers;
// whatever they do not know ends the run, and the general reader says what it means.

// plainIDs appends the ids of a run of up to most good strings with neither escapes nor text that is not ASCII, and only
// commas between them. It ends before whatever else comes.
func (s *scanner) plainIDs(ids []auction.ID, most int) []auction.ID {
	src, pos, seed, length := s.src, s.pos, s.seed, 0
	for from := len(ids); len(ids)-from < most && pos < len(src) && src[pos] == '"'; {
		start := pos + 1
		end := start
		for {
			if end+8 > len(src) {
				return ids // The last bytes of the body.
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
		s.ahead(&ids[len(ids)-1])
		s.pos = end + 1
		pos = end + 2
		if pos >= len(src) || src[end+1] != ',' {
			return ids
		}
		if end-start == length && length >= 8 && length <= 16 && src[pos] == '"' {
			room := ids[len(ids):min(cap(ids), from+most)]
			n := evenIDs(room, src, seed, pos, length, s.sieve)
			ids = ids[:len(ids)+n]
			pos += n * (length + len(`"",`))
			s.pos = pos - 1
		}
		length = end - start
	}
	return ids
}

// ahead asks for what the look-up of an id reads first.
func (s *scanner) ahead(id *auction.ID) { s.sieve.Prefetch(&id.Hash, 0, 1) }

// evenIDsPlain reads ids that all have one length, from 8 to 16, which is how most shops number their products, and returns how
// many. Where the next id begins then does not depend on the bytes of this one, so the processor works on several at a
// time, and the two words that show that an id is plain are all of its hash. The last id of an array is not read.
// REQUIRES: src[at] is the quote that the first begins with.
func evenIDsPlain(ids []auction.ID, src []byte, seed uint64, at, length int) int {
	const link = '"' | ','<<8 | '"'<<16 // Between two ids.
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

// unusual marks words with a byte that special marks, a blank or an exclamation mark. Which bytes it marks is not exact, which costs
// less. What is not ASCII is marked by the one or by the other difference.
func unusual(w uint64) uint64 {
	return ((w - ('"'+1)*ones) | (w ^ backslashes - ones)) & highs
}
