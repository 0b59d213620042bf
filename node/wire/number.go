package wire

import "math"

// number reads a number and returns its text, or nil when it stops the scan. It does not limit the length: each member
// has its own limit, which its reader checks.
func (s *scanner) number() []byte {
	src, i := s.src, s.pos
	if i < len(src) && src[i] == '-' {
		i++
	}
	start := i
	i = digits(src, i)
	good := i > start && (src[start] != '0' || i == start+1)
	if good && i < len(src) && src[i] == '.' {
		start = i + 1
		i = digits(src, start)
		good = i > start
	}
	if good && i < len(src) && src[i]|0x20 == 'e' {
		i++
		if i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		start = i
		i = digits(src, start)
		good = i > start
	}
	if !good {
		s.pos = min(i, len(src))
		s.fail()
		return nil
	}
	text := src[s.pos:i]
	s.pos = i
	return text
}

func digits(src []byte, i int) int {
	for i < len(src) && src[i]-'0' <= 9 {
		i++
	}
	return i
}

// numberValue reads a value that should be a number. The text is empty if the value is not a number, or stops the scan.
func (s *scanner) numberValue() ([]byte, presence) {
	if c := s.peek(); c == '-' || c-'0' <= 9 {
		return s.number(), present
	}
	return nil, s.other()
}

// numberLenMax bounds the text of a number that the operation reads.
const numberLenMax = 32 // BOUND: set by the interface, in bytes.

// integer parses the text of a number that must be written as an integer, without fraction and exponent. Values beyond
// int64 saturate: the bounds of all integers in the interface are far below.
func integer(text []byte) (n int64, ok bool) {
	if len(text) == 0 || len(text) > numberLenMax {
		return 0, false
	}
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	for _, c := range text {
		switch {
		case c-'0' > 9:
			return 0, false // The text has a fraction or an exponent.
		case n > (math.MaxInt64-9)/10:
			n = math.MaxInt64
		default:
			n = 10*n + int64(c-'0')
		}
	}
	if negative {
		n = -n
	}
	return n, true
}
