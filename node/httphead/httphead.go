// Package httphead follows the framing of HTTP/1 requests on a connection, in front of the server that reads them, and refuses
// what two readers of the same bytes could take for different requests. Both listeners of the node use it, so they agree.
//
// A server that has parsed a request has forgotten most of what makes it ambiguous: net/http drops a Content-Length beside a
// Transfer-Encoding, merges equal lengths, unfolds lines; fasthttp keeps trailers as if they had been in the head. So the
// bytes are looked at before.
package httphead

import (
	"errors"
	"io"
)

// ErrRefused is what a connection returns behind a refusal. It is not io.EOF, which fasthttp takes for the end of trailers.
var ErrRefused = errors.New("the framing of a request was refused")

// Checker follows one connection. It is a state machine over single bytes and keeps nothing of a request but its length and
// encoding, so requests in pieces and pipelined ones need no memory. The zero value is at the beginning of a request.
//
// INVARIANT: where it believes that a request ends, every server must: it passes one plain Content-Length, or one
// "Transfer-Encoding: chunked" of HTTP/1.1, or neither, never both, and of chunks the strict form. What it does not pass it
// replaces by refusal, which no server takes for the rest of a request. So the server refuses the request by itself, in its
// order and its words: a Checker writes nothing, and an answer that is under way is not disturbed.
//
// One goroutine may use it at a time.
type Checker struct {
	state   state
	refused bool
	rest    string // Of refusal, what was not read yet.

	// Of the head.
	tail      [8]byte // The last bytes of the request line.
	chunkable bool    // The version is HTTP/1.1.
	name      [nameMax]byte
	nameLen   int
	field     field
	value     [valueMax]byte
	valueLen  int
	blank     bool // Blanks were seen behind the value.
	seen      field
	length    int64 // Bytes of the body, or of the chunk, that are still to come.

	// Of a chunk.
	digits, extension int
}

// refusal is what a server reads in place of the bytes that are not passed on. Wherever it begins, a line is malformed: the one
// that it ends, or the second one, which has no colon. It is no size of a chunk and no end of one, and lines around chunks must
// not end in LF alone, so it ends no extension.
const refusal = "\x00\n\x00\n\n"

const (
	nameMax  = len("transfer-encoding")
	valueMax = 24 // BOUND: more than the longest value that is read, which is a length.

	lengthDigits   = 18      // BOUND: what an int64 holds.
	sizeDigits     = 15      // BOUND: the same, in hexadecimal.
	extensionBytes = 1 << 10 // BOUND: extensions of a chunk mean nothing to us.
)

type state uint8

const (
	beforeRequest state = iota // Empty lines are skipped.
	requestLine
	lineStart
	headEnd // Behind the CR of the empty line.
	inName
	beforeValue
	inValue
	valueEnd // Behind a CR.
	fixedBody
	sizeStart
	inSize
	afterSize // Blanks.
	inExtension
	sizeEnd // Behind the CR.
	inChunk
	chunkCR
	chunkLF
	lastCR // Of the line behind the last chunk: trailers are refused.
	lastLF
)

// field is a header field that is looked at.
type field uint8

const (
	contentLength field = 1 << iota
	transferEncoding
	expect
	host
)

// Read reads from a connection as the server should read it. It returns ErrRefused behind a refusal.
func (c *Checker) Read(from io.Reader, p []byte) (int, error) {
	if c.refused {
		return c.readRefusal(p)
	}
	n, err := from.Read(p)
	good := c.pass(p[:n])
	if good == n {
		return n, err
	}
	c.refused, c.rest = true, refusal
	more, err := c.readRefusal(p[good:])
	return good + more, err
}

func (c *Checker) readRefusal(p []byte) (int, error) {
	if c.rest == "" {
		return 0, ErrRefused
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Refused reports whether something was refused.
func (c *Checker) Refused() bool { return c.refused }

// pass returns how many of the next bytes may pass.
func (c *Checker) pass(b []byte) int {
	for i := 0; i < len(b); i++ {
		if c.state == fixedBody || c.state == inChunk {
			skip := min(int64(len(b)-i), c.length)
			c.length -= skip
			if i += int(skip) - 1; c.length == 0 {
				c.endOfBytes()
			}
			continue
		}
		if !c.step(b[i]) {
			return i
		}
	}
	return len(b)
}

// endOfBytes goes on behind a body or a chunk.
func (c *Checker) endOfBytes() {
	if c.state == inChunk {
		c.state = chunkCR
		return
	}
	c.state = beforeRequest
}

// step takes one byte of a head or of what stands around chunks, and reports whether it may pass.
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

// stepLine takes a byte of the request line. Only its end is looked at; method and target are the server's business.
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
