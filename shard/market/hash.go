package market

import (
	"encoding/binary"
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// These are odd 64-bit constants with balanced bits, taken from the digits of the square roots of 2, 3 and 5.
const (
	mixA = 0x6a09e667f3bcc909
	mixB = 0xbb67ae8584caa73b
	mixC = 0x3c6ef372fe94f82b
)

// Hash is the keyed 64-bit hash of the tables: two 64x64 to 128-bit multiplications over up to 16 bytes, one more for
// every further 16 (the construction of wyhash, by Wang Yi). The seed enters both factors of every multiplication, so
// that nobody who does not know it can choose texts that collide.
func Hash(seed uint64, text []byte) uint64 {
	n := len(text)
	var a, b uint64
	state := seed
	switch {
	case n > 16:
		rest := text
		for len(rest) > 16 {
			state = fold(binary.LittleEndian.Uint64(rest)^seed^mixA, binary.LittleEndian.Uint64(rest[8:])^state^mixB)
			rest = rest[16:]
		}
		a = binary.LittleEndian.Uint64(text[n-16:])
		b = binary.LittleEndian.Uint64(text[n-8:])
	case n >= 8:
		a = binary.LittleEndian.Uint64(text)
		b = binary.LittleEndian.Uint64(text[n-8:])
	case n >= 4:
		a = uint64(binary.LittleEndian.Uint32(text))
		b = uint64(binary.LittleEndian.Uint32(text[n-4:]))
	case n > 0:
		a = uint64(text[0])<<16 | uint64(text[n>>1])<<8 | uint64(text[n-1])
	}
	return finish(seed, state, a, b, uint64(n))
}

// HashShort is Hash for a text of 8 to 16 bytes, given by its first eight and its last eight. It is small enough to be
// inlined where ids are read.
func HashShort(seed, head, tail uint64, length int) uint64 {
	return finish(seed, seed, head, tail, uint64(length)) // 8 to 16.
}

// ShortKeys are the values that HashShort mixes into its two multiplications for one seed and one length, for code that
// hashes many texts of that length. With hi, lo = (head^k[0]) * (tail^k[1]) the hash is fold(lo^k[2], hi^k[3]), where
// fold multiplies and xors the halves of the product.
type ShortKeys [4]uint64

// ShortKeysOf returns the ShortKeys of a seed and a length of 8 to 16 bytes.
func ShortKeysOf(seed uint64, length int) ShortKeys {
	return ShortKeys{seed ^ mixB, bits.RotateLeft64(seed, 32) ^ mixC, seed ^ mixA, uint64(length) ^ mixB} // 8 to 16.
}

func finish(seed, state, a, b, length uint64) uint64 {
	hi, lo := bits.Mul64(a^seed^mixB, b^bits.RotateLeft64(state, 32)^mixC)
	return fold(lo^seed^mixA, hi^length^mixB)
}

// fold multiplies a and b and returns the xor of the two halves of the 128-bit product.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// Mix derives one 64-bit value from two, for seeds and for the order of ties. It is a bijection of b for every a.
func Mix(a, b uint64) uint64 {
	x := b ^ (a * mixA) ^ bits.RotateLeft64(a, 29)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// AppendFold appends text with its case folded: every rune is replaced by the smallest rune that is equal to it under
// Unicode simple case folding, which bytes.EqualFold uses. Locations are hashed in this form.
func AppendFold(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf && c != 'k' && c != 's' && c != 'K' && c != 'S' {
			if 'a' <= c && c <= 'z' {
				c -= 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		dst = utf8.AppendRune(dst, smallestFold(r))
		i += size
	}
	return dst
}

// smallestFold returns the smallest rune that simple case folding treats as equal to r. At most four runes are equal.
func smallestFold(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
