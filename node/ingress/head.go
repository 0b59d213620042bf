package ingress

import (
	"errors"
	"io"
)

// ErrHeadRefused is the error of Checker.Read after a refusal. It is not io.EOF, because fasthttp takes that for the end of
// trailers.
var ErrHeadRefused = errors.New("the framing of a request was refused")

// Checker checks one connection. It is a state machine over single bytes and stores nothing of a request but its length and
// encoding, so it needs no memory for requests in pieces or for pipelined ones. The zero value is at the beginning of a
// request.
//
// INVARIANT: every server finds the end of a request where Checker finds it: Checker passes one plain Content-Length, or one
// "Transfer-Encoding: chunked" of HTTP/1.1, or neither, never both, and chunks only in the strict form. It replaces the first
// byte that it does not pass, and all later ones, by refusal, which no server reads as the rest of a request. So the server
// itself refuses the request after its earlier answers: Checker writes nothing and cannot disturb an answer.
//
// It must not be used by several goroutines at the same time.
type Checker struct {
	state   state
	refused bool
	rest    string // The part of refusal that was not read yet.

	// These fields belong to the head.
	tail      [8]byte // The last eight bytes of the request line.
	chunkable bool    // The version is HTTP/1.1, so chunks are allowed.
	name      [nameMax]byte
	nameLen   int
	field     field
	value     [valueMax]byte
	valueLen  int
	blank     bool  // A blank came after the value.
	seen      field // The fields that came.
	length    int64 // How many bytes of the body, or of the chunk, have not come yet.

	// These fields belong to a chunk: the number of digits of its size, and the number of bytes of its extension.
	digits, extension int
}

// refusal is what a server reads in place of the bytes that are not passed on. Wherever it begins, a line is malformed: the
// one that it ends, or the second one, which has no colon. It is neither the size nor the end of a chunk, and it ends no
// chunk extension, because lines around chunks must not end in LF alone.
const refusal = "\x00\n\x00\n\n"

const (
	nameMax  = len("transfer-encoding")
	valueMax = 24 // BOUND: in bytes; the longest value that is compared is a length.

	lengthDigits   = 18      // BOUND: numbers of so many digits fit an int64.
	sizeDigits     = 15      // BOUND: the same in hexadecimal.
	extensionBytes = 1 << 10 // BOUND: in bytes; the node does not use chunk extensions.
)

type state uint8

const (
	beforeRequest state = iota // Empty lines are skipped.
	requestLine
	lineStart
	headEnd // After the CR of the empty line.
	inName
	beforeValue
	inValue
	valueEnd // After the CR of a header line.
	fixedBody
	sizeStart
	inSize
	afterSize // In blanks after the size of a chunk.
	inExtension
	sizeEnd // After the CR of the size line.
	inChunk
	chunkCR
	chunkLF
	lastCR // Before the CR of the line after the last chunk, which must be empty: trailers are refused.
	lastLF
)

// field is a header field whose value is checked. Other fields are 0.
type field uint8

const (
	contentLength field = 1 << iota
	transferEncoding
	expect
	host
)

// Read reads from a connection into p and checks the bytes. In place of refused bytes it returns refusal, and after that
// ErrHeadRefused.
func (c *Checker) Read(from io.Reader, p []byte) (int, error) {
	if c.refused {
		return c.readRefusal(p)
	}
	n, err := from.Read(p)
	good := c.check(p[:n])
	if good == n {
		return n, err
	}
	c.refused, c.rest = true, refusal
	more, err := c.readRefusal(p[good:])
	return good + more, err
}

func (c *Checker) readRefusal(p []byte) (int, error) {
	if c.rest == "" {
		return 0, ErrHeadRefused
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Refused reports whether a byte was refused.
func (c *Checker) Refused() bool { return c.refused }

// check returns how many of the next bytes are accepted. If it is less than len(b), the byte after them is refused.
func (c *Checker) check(b []byte) int {
	for i := 0; i < len(b); i++ {
		if c.state == fixedBody || c.state == inChunk {
			skip := min(int64(len(b)-i), c.length)
			c.length -= skip
			if i += int(skip) - 1; c.length == 0 {
				c.endBytes()
			}
			continue
		}
		if !c.step(b[i]) {
			return i
		}
	}
	return len(b)
}

// endBytes changes the state after the last byte of a body or a chunk.
func (c *Checker) endBytes() {
	if c.state == inChunk {
		c.state = chunkCR
		return
	}
	c.state = beforeRequest
}

// step processes one byte of a head or of the lines around chunks, and reports whether it is accepted.
func (c *Checker) step(b byte) bool {
	switch c.state {
	case sizeStart, inSize, afterSize, inExtension, sizeEnd, chunkCR, chunkLF, lastCR, lastLF:
		return c.stepChunk(b)
	case beforeRequest:
		if b == '\r' || b == '\n' {
			return true
		}
		*c = Checker{state: requestLine}
		return c.stepLine(b)
	case requestLine:
		return c.stepLine(b)
	default:
		return c.stepField(b)
	}
}

// stepLine processes a byte of the request line. It checks only the version at its end; the server checks method and target.
func (c *Checker) stepLine(b byte) bool {
	if b != '\n' {
		if b != '\r' {
			copy(c.tail[:], c.tail[1:])
			c.tail[len(c.tail)-1] = b
		}
		return true
	}
	version := string(c.tail[:])
	if version[:7] != "HTTP/1." {
		return false
	}
	c.chunkable = version[7] == '1'
	c.state = lineStart
	return true
}
