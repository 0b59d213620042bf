// Package document replaces members of stored JSON objects without decoding their values.
//
// The replicated machine applies changes of products, so that changes of different members made on two nodes both take
// effect. It stores what the management API sent as a JSON object. Merge puts members into such an object and copies
// everything else byte by byte. So its result depends only on its arguments and not on the version of a JSON library.
package document

import "errors"

// Member is a member of a JSON object. Name is written between quotes without escaping, so it must be ASCII without
// quotes, backslashes and control characters. Value is one JSON value.
type Member struct {
	Name  string
	Value []byte
}

// ErrMalformed is returned for a base that is not a JSON object.
var ErrMalformed = errors.New("not a JSON object")

// Merge returns the object base with the given members. A member that base has is replaced at its position; the others
// are added at the end in the given order. An empty base is an empty object. It returns ErrMalformed when base is not
// an object.
// REQUIRES: the names of members differ, and so do the names in base. OWNERSHIP: the result is new memory.
func Merge(base []byte, members []Member) ([]byte, error) {
	out := append(make([]byte, 0, len(base)+2), '{')
	replaced := make([]bool, len(members))
	err := forEachMember(base, func(name string, value []byte) {
		for i := range members {
			if members[i].Name == name {
				value, replaced[i] = members[i].Value, true
			}
		}
		out = appendMember(out, name, value)
	})
	if err != nil {
		return nil, err
	}
	for i := range members {
		if !replaced[i] {
			out = appendMember(out, members[i].Name, members[i].Value)
		}
	}
	return append(out, '}'), nil
}

func appendMember(dst []byte, name string, value []byte) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	dst = append(append(append(dst, '"'), name...), '"', ':')
	return append(dst, value...)
}

// forEachMember calls fn for every member of an object in order, with the name as it is written between its quotes.
func forEachMember(object []byte, fn func(name string, value []byte)) error {
	if len(object) == 0 {
		return nil
	}
	s := scanner{rest: object}
	if !s.next('{') {
		return ErrMalformed
	}
	if s.next('}') {
		return s.end()
	}
	for {
		name, ok := s.text()
		if !ok || !s.next(':') {
			return ErrMalformed
		}
		value := s.value()
		if len(value) == 0 {
			return ErrMalformed
		}
		fn(name, value)
		if s.next('}') {
			return s.end()
		}
		if !s.next(',') {
			return ErrMalformed
		}
	}
}

// scanner splits a JSON text into tokens. It finds the ends of values and does not check their contents.
type scanner struct{ rest []byte }

func (s *scanner) space() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\t' || s.rest[0] == '\n' || s.rest[0] == '\r') {
		s.rest = s.rest[1:]
	}
}

// next consumes the character c, after white space, and reports whether it was there.
func (s *scanner) next(c byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *scanner) end() error {
	if s.space(); len(s.rest) > 0 {
		return ErrMalformed
	}
	return nil
}

// text consumes a JSON string and returns what is between its quotes.
func (s *scanner) text() (string, bool) {
	s.space()
	n := quoted(s.rest)
	if n == 0 {
		return "", false
	}
	text := string(s.rest[1 : n-1])
	s.rest = s.rest[n:]
	return text, true
}

// quoted returns the length of the JSON string at the beginning of b, quotes included, or 0 when there is none.
func quoted(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return 0
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// value consumes one value and returns it; empty when there is none or it does not end.
func (s *scanner) value() []byte {
	s.space()
	depth, at := 0, 0
	for at < len(s.rest) {
		switch c := s.rest[at]; {
		case c == '"':
			n := quoted(s.rest[at:])
			if n == 0 {
				return nil
			}
			at += n - 1
		case c == '{' || c == '[':
			depth++
		case (c == '}' || c == ']') && depth > 0:
			depth--
		case depth == 0 && (c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			return s.advance(at)
		}
		at++
	}
	return nil
}

func (s *scanner) advance(n int) []byte {
	taken := s.rest[:n]
	s.rest = s.rest[n:]
	return taken
}
