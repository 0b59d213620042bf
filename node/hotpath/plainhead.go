package hotpath

import (
	"bytes"
	"encoding/binary"
)

// parseResult is the result of parsing the first bytes of a connection's buffer.
type parseResult uint8

const (
	fallback   parseResult = iota // The bytes are not known to be a plain request, so fasthttp must read them.
	incomplete                    // The bytes may be the beginning of a plain request.
	supported                     // The bytes begin with a complete plain request.
)

// plainRequest is a request in the form that nearly all clients send. Its slices alias the buffer.
type plainRequest struct {
	target          []byte
	authorization   []byte
	requestID       []byte
	contentEncoding []byte
	origin          []byte
	body            []byte
	size            int // The number of bytes of head and body.
}

// plainTargets are the paths of plain requests, each with the end of the request line.
var plainTargets = []string{
	"/v2/auctions HTTP/1.1\r\n", "/v2/events HTTP/1.1\r\n", "/v2/auctions/sponsored-brand HTTP/1.1\r\n", "/v2/auctions/travel HTTP/1.1\r\n",
}

const plainMethod = "POST "

// parsePlain parses the request at the begin of b.
//
// It accepts one form of head: lines that end in CR LF, names of token characters, values of printable ASCII, one Host, one
// Content-Length in plain digits. For a field that could change where the body ends or whether the connection stays open,
// for one that comes twice, and for anything unusual it returns fallback. So it refuses nothing, and accepts nothing that
// fasthttp would read differently (FuzzPlain). It also returns fallback for a request of more than sizeMax bytes.
func parsePlain(b []byte, headMax, bodyMax, sizeMax int) (r plainRequest, v parseResult) {
	at, v := r.readLine(b)
	if v != supported {
		return r, v
	}
	seen, length := fields(0), 0
	for {
		end := bytes.IndexByte(b[at:], '\n')
		if end < 0 {
			if len(b) > headMax {
				return r, fallback
			}
			return r, incomplete
		}
		line := b[at : at+end]
		at += end + 1
		if end == 0 || line[end-1] != '\r' {
			return r, fallback
		}
		line = line[:end-1]
		if len(line) == 0 {
			break
		}
		colon := bytes.IndexByte(line, ':')
		if colon <= 0 || !printable(line) || !isToken(line[:colon]) {
			return r, fallback
		}
		field := fieldOf(line[:colon])
		if field == otherField {
			continue
		}
		if field == fallbackField || seen&field != 0 {
			return r, fallback
		}
		seen |= field
		if value := trim(line[colon+1:]); !r.setField(field, value, &length) {
			return r, fallback
		}
	}
	r.size = at + length
	switch {
	case seen&(hostField|lengthField) != hostField|lengthField || at > headMax || length > bodyMax || r.size > sizeMax:
		return r, fallback
	case len(b) < r.size:
		return r, incomplete
	}
	r.body = b[at:r.size]
	return r, supported
}

// readLine parses the request line and returns the position of the next line.
func (r *plainRequest) readLine(b []byte) (next int, v parseResult) {
	if len(b) < len(plainMethod) || string(b[:len(plainMethod)]) != plainMethod {
		if len(b) < len(plainMethod) && string(b) == plainMethod[:len(b)] {
			return 0, incomplete
		}
		return 0, fallback
	}
	rest := b[len(plainMethod):]
	for _, target := range plainTargets {
		n := min(len(rest), len(target))
		if string(rest[:n]) != target[:n] {
			continue
		}
		if n < len(target) {
			return 0, incomplete
		}
		r.target = rest[:len(target)-len(" HTTP/1.1\r\n")]
		return len(plainMethod) + len(target), supported
	}
	return 0, fallback
}

// fields is a set of header fields.
type fields uint8

const (
	otherField fields = 0
	hostField  fields = 1 << (iota - 1)
	lengthField
	connectionField
	authorizationField
	requestIDField
	contentEncodingField
	originField
	fallbackField
)

// fieldOf returns the field of a name in any case. Names on the list of ignored fields are otherField. Every other name is
// foreignField, so a field that nobody has thought of is read by the complete HTTP server.
func fieldOf(name []byte) fields {
	switch len(name) {
	case 4:
		if equalFold(name, "host") {
			return hostField
		}
	case 6:
		if equalFold(name, "origin") {
			return originField
		}
	case 10:
		if equalFold(name, "connection") {
			return connectionField
		}
	case 12:
		if equalFold(name, "x-request-id") {
			return requestIDField
		}
	case 13:
		if equalFold(name, "authorization") {
			return authorizationField
		}
	case 14:
		if equalFold(name, "content-length") {
			return lengthField
		}
	case 16:
		if equalFold(name, "content-encoding") {
			return contentEncodingField
		}
	}
	if ignored(name) {
		return otherField
	}
	return fallbackField
}

// equalFold reports whether name is want in any case. Both have the same length, and want is in lower case.
func equalFold(name []byte, want string) bool {
	for i := range len(want) {
		if c := name[i]; c != want[i] && (c < 'A' || c > 'Z' || c|0x20 != want[i]) {
			return false
		}
	}
	return true
}

// setField stores the value of a field and reports whether the value has the plain form.
func (r *plainRequest) setField(f fields, value []byte, length *int) bool {
	switch f {
	case hostField:
		return plainHost(value)
	case lengthField:
		return parseLength(value, length)
	case connectionField:
		return len(value) == len("keep-alive") && equalFold(value, "keep-alive")
	case authorizationField:
		r.authorization = value
	case requestIDField:
		r.requestID = value
	case contentEncodingField:
		r.contentEncoding = value
	case originField:
		r.origin = value
	case otherField, fallbackField: // parsePlain does not store these.
	}
	return true
}

// plainHost reports whether a host consists of the characters of names and IPv4 addresses, with or without a port of digits behind
// one colon. fasthttp reads requests with any other host, and refuses some of them.
func plainHost(value []byte) bool {
	port := false
	for _, c := range value {
		switch {
		case c >= '0' && c <= '9':
		case port:
			return false
		case c == ':':
			port = true
		case c|0x20 >= 'a' && c|0x20 <= 'z' || c == '.' || c == '-' || c == '_':
		default:
			return false
		}
	}
	return len(value) > 0
}

// parseLength parses a Content-Length. BOUND: seven digits, ten million; a longer body is too long for every operation.
func parseLength(value []byte, length *int) bool {
	if len(value) == 0 || len(value) > 7 || value[0] == '0' && len(value) > 1 {
		return false
	}
	n := 0
	for _, c := range value {
		if c-'0' > 9 {
			return false
		}
		n = 10*n + int(c-'0')
	}
	*length = n
	return true
}

// trim removes blanks at both ends. Plain values contain no tabs.
func trim(value []byte) []byte {
	for len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	for len(value) > 0 && value[len(value)-1] == ' ' {
		value = value[:len(value)-1]
	}
	return value
}

// printable reports whether all bytes are printable ASCII, blanks included and tabs not. It tests eight bytes at a time.
func printable(line []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	unusual := uint64(0)
	for ; len(line) >= 8; line = line[8:] {
		w := binary.LittleEndian.Uint64(line)
		// Bytes above 0x7f have their top bit set, bytes below 0x20 get it by the subtraction, and 0x7f by the addition. A borrow
		// or carry can come only from a byte that is marked itself.
		unusual |= (w | (w - 0x20*ones) | (w + ones)) & highs
	}
	for _, c := range line {
		if c < 0x20 || c > 0x7e {
			return false
		}
	}
	return unusual == 0
}

// isToken reports whether all bytes are allowed in a field name.
func isToken(name []byte) bool {
	for _, c := range name {
		if !tokenBytes[c] {
			return false
		}
	}
	return true
}

// tokenBytes are the bytes of a token of RFC 9110, section 5.6.2.
var tokenBytes = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), byte(c)) >= 0
	}
	return t
}()
