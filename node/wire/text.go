package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/shard/auction"
)

// Each constant is a word of eight copies of one byte.
const (
	ones        = 0x0101010101010101
	highs       = 0x80 * ones
	quotes      = '"' * ones
	backslashes = '\\' * ones
	spaces      = ' ' * ones
)

// special marks the bytes of a word that end a run of plain string text: quote, backslash, control, or not ASCII. The
// lowest mark is exact; marks above it may be false, because a borrow runs upwards.
func special(w uint64) uint64 {
	return ((w ^ quotes - ones) | (w ^ backslashes - ones) | (w - spaces) | w) & highs
}

// str reads a string and returns its span. REQUIRES: the byte at pos is a quote.
func (s *scanner) str() auction.Span {
	start := s.pos + 1
	i := start
	for ; i+8 <= len(s.src); i += 8 {
		marks := special(binary.LittleEndian.Uint64(s.src[i:]))
		if marks == 0 {
			continue
		}
		i += bits.TrailingZeros64(marks) / 8
		if s.src[i] == '"' {
			s.pos = i + 1
			return span(start, i)
		}
		break
	}
	return s.strSlow(start, i)
}

// strSlow continues a string at i, byte by byte. It reads what str does not: the last seven bytes of the body, text that
// is not ASCII, and escapes.
func (s *scanner) strSlow(start, i int) auction.Span {
	ascii := true
	for ; i < len(s.src); i++ {
		switch c := s.src[i]; {
		case c == '"':
			s.pos = i + 1
			if !ascii && !utf8.Valid(s.src[start:i]) {
				s.pos = start
				s.fail()
			}
			return span(start, i)
		case c == '\\':
			return s.unescape(start, i)
		case c < ' ':
			s.pos = i
			s.fail()
			return auction.Span{}
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	s.pos = i
	s.fail()
	return auction.Span{}
}

// unescape decodes a string whose first escape is at i into the arena. The decoded text is checked for UTF-8 as a whole.
// That is enough: an escape never yields a lone continuation byte, so it cannot complete a broken sequence before it.
func (s *scanner) unescape(start, i int) auction.Span {
	mark := len(s.arena)
	s.arena = append(s.arena, s.src[start:i]...)
	for i < len(s.src) {
		switch c := s.src[i]; {
		case c == '"':
			s.pos = i + 1
			if !utf8.Valid(s.arena[mark:]) {
				s.pos = start
				s.fail()
			}
			return span(len(s.src)+mark, len(s.src)+len(s.arena))
		case c == '\\':
			n := s.escape(s.src[i:])
			if n == 0 {
				s.pos = i
				s.fail()
				return auction.Span{}
			}
			i += n
		case c < ' ':
			s.pos = i
			s.fail()
			return auction.Span{}
		default:
			s.arena = append(s.arena, c)
			i++
		}
	}
	s.pos = i
	s.fail()
	return auction.Span{}
}

// escape decodes the escape that src begins with and returns its length, or 0 if it is not valid. Half a surrogate pair is
// not valid: no UTF-8 text corresponds to it, and the U+FFFD that other decoders write would make two ids equal.
func (s *scanner) escape(src []byte) int {
	if len(src) < 2 {
		return 0
	}
	c := src[1]
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		return s.escapeRune(src)
	default:
		return 0
	}
	s.arena = append(s.arena, c)
	return 2
}

func (s *scanner) escapeRune(src []byte) int {
	r := hexRune(src)
	n := 6
	if utf16.IsSurrogate(r) {
		r = utf16.DecodeRune(r, hexRune(src[n:]))
		n = 12
		if r == unicode.ReplacementChar { // DecodeRune's error: a valid pair is above U+FFFF, so it is never U+FFFD.
			return 0
		}
	}
	if r < 0 {
		return 0
	}
	s.arena = utf8.AppendRune(s.arena, r)
	return n
}

// hexRune returns the value of \uXXXX at the start of src, or -1.
func hexRune(src []byte) rune {
	if len(src) < 6 || src[0] != '\\' || src[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range src[2:6] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20-'a' <= 5:
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// span returns the span of the positions from up to to. Positions from len(src) on are in the arena.
func span(from, to int) auction.Span {
	return auction.Span{Off: uint32(from), Len: uint32(to - from)} // Bodies are at most 4 MiB.
}

// text returns the bytes of a span.
func (s *scanner) text(sp auction.Span) []byte {
	if off := int(sp.Off); off < len(s.src) {
		return s.src[off : off+int(sp.Len)]
	}
	off := int(sp.Off) - len(s.src)
	return s.arena[off : off+int(sp.Len) : off+int(sp.Len)]
}

// presence is what a reader found as the value of a member.
type presence uint8

const (
	absent  presence = iota // The value is null, or, for optional strings, empty or blank.
	present                 // The value has the right type.
	wrong                   // The value has another type; it was skipped.
)

// stringValue reads a value that should be a string.
func (s *scanner) stringValue() (auction.Span, presence) {
	if s.peek() == '"' {
		return s.str(), present
	}
	return auction.Span{}, s.other()
}

// other reads a value that is not of the expected type, and returns absent for null and wrong for the rest.
func (s *scanner) other() presence {
	if s.null() {
		return absent
	}
	s.skip()
	return wrong
}

// optionalString is stringValue for members where an empty or blank string counts as absent.
func (s *scanner) optionalString() (auction.Span, presence) {
	sp, p := s.stringValue()
	if p == present && blank(s.text(sp)) {
		return auction.Span{}, absent
	}
	return sp, p
}

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// longer reports whether text has more than most characters. REQUIRES: text is valid UTF-8.
func longer(text []byte, most int) bool {
	if len(text) <= most {
		return false
	}
	count := 0
	for _, c := range text { // utf8.RuneCount allocates for texts over 32 bytes in Go 1.26.
		if c&0xc0 != 0x80 {
			count++
		}
	}
	return count > most
}

// words counts the words of text, and stops counting at most+1.
func words(text []byte, most int) int {
	count, inside := 0, false
	for i := 0; i < len(text) && count <= most; {
		r, n := utf8.DecodeRune(text[i:])
		space := unicode.IsSpace(r)
		if !space && !inside {
			count++
		}
		inside = !space
		i += n
	}
	return count
}
