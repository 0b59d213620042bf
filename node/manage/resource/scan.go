package resource

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/node/apierr"
)

// depthMax is the deepest nesting of arrays and objects in a body. BOUND: the interface's, for both listeners.
const depthMax = 32

// wellFormed checks that a body is one JSON value in UTF-8, nested at most depthMax deep. The functions below rely on
// it and do not check that again.
func wellFormed(b []byte) apierr.Code {
	if len(b) == skipSpace(b, 0) {
		return apierr.EmptyRequest
	}
	if depth(b) > depthMax {
		return apierr.BadRequest
	}
	if !utf8.Valid(b) || !json.Valid(b) || loneSurrogate(b) {
		return apierr.InvalidJSON
	}
	return apierr.OK
}

// depth returns the deepest nesting, also of malformed text, because the decoder that finds the defect must not recurse deeply.
func depth(b []byte) (deepest int) {
	open := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			open++
			deepest = max(deepest, open)
		case ']', '}':
			open--
		}
	}
	return deepest
}

// loneSurrogate reports an escape such as \ud800 without its other half. Decoders replace it with U+FFFD, which would
// make two different ids equal.
func loneSurrogate(b []byte) bool {
	for i := 0; i+1 < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		i++
		if b[i] != 'u' {
			continue
		}
		switch unit := hex4(b[i+1:]); {
		case unit >= 0xdc00 && unit <= 0xdfff:
			return true
		case unit >= 0xd800 && unit <= 0xdbff:
			rest := b[i+5:]
			if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' || hex4(rest[2:])>>10 != 0xdc00>>10 {
				return true
			}
			i += 10
		}
	}
	return false
}

func hex4(b []byte) uint64 {
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil {
		panic("json.Valid has seen four hex digits here")
	}
	return n
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the position after the string that opens at i.
func skipString(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// skipValue returns the position after the value that starts at i.
func skipValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		open := 0
		for {
			switch b[i] {
			case '"':
				i = skipString(b, i)
				continue
			case '{', '[':
				open++
			case '}', ']':
				open--
			}
			i++
			if open == 0 {
				return i
			}
		}
	default:
		for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
			i++
		}
		return i
	}
}

// unquote decodes a JSON string.
func unquote(b []byte) string {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		panic("json.Valid has seen this string: " + err.Error())
	}
	return s
}
