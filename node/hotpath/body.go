package hotpath

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/serving"
)

// smallBody is the size in bytes up to which a body is read even if the answer does not depend on it. BOUND: 8 KiB, which
// fasthttp reads before it calls a handler. So a client with a wrong key or path does not need a new connection for each
// request.
const smallBody = 8 << 10

const (
	// bodyWeight is how many bytes of the budget a byte of a body takes. BOUND: the parsed ids take as much memory again.
	bodyWeight = 2
	// bufferKeptMax is the size in bytes above which the buffer of a body is not pooled. BOUND: one large body must not pin
	// memory.
	bufferKeptMax = 256 << 10

	contentLengthChunked = -1
	contentLengthNone    = -2
)

var (
	nameExpect       = []byte("Expect")
	continueExpected = []byte("100-continue")
)

type bodyBuffer struct{ b []byte }

func newBodyBuffer() any { return &bodyBuffer{make([]byte, 0, 2*smallBody)} }

// incompleteMaxOf returns how many connections of the fast path may have a buffer for an incomplete request. BOUND: the
// buffers take at most a quarter of the budget of bodies. Further requests are read by fasthttp, whose buffers grow with what
// is received.
func incompleteMaxOf(bodies *limits.Bytes) int64 {
	if bodies == nil {
		return connectionsMax
	}
	return max(1, bodies.Stats().Max/4/fastPathBufferSize)
}

// inspect decides whether the body of a request is read. fasthttp calls it when it has read the head. If the answer does not
// depend on the body, because path, method or key are refused, inspect changes the head so that for fasthttp the request has
// no body and is the last of its connection.
func (s *Server) inspect(h *fasthttp.RequestHeader) (unchanged fasthttp.RequestConfig) {
	length := h.ContentLength()
	expects := len(h.PeekBytes(nameExpect)) > 0
	if expects {
		// The checker lets only this value pass, in whatever case; fasthttp knows it in lower case.
		h.SetBytesKV(nameExpect, continueExpected)
	}
	if length == contentLengthNone || length >= 0 && length <= smallBody && !expects {
		return unchanged
	}
	if s.needsBody(h) {
		return unchanged
	}
	h.SetContentLength(0)
	h.DelBytes(nameExpect)
	h.SetConnectionClose()
	return unchanged
}

// needsBody reports whether the answer to a request depends on its body.
func (s *Server) needsBody(h *fasthttp.RequestHeader) bool {
	sc := s.core.Acquire()
	defer sc.Discard()
	sc.Request = serving.Request{
		Now: time.Now(), Method: h.Method(), Target: h.RequestURI(), Authorization: h.PeekCanonical(nameAuthorization),
	}
	_, needs := s.core.NeedsBody(sc)
	return needs
}

// body is the result of reading the body of a request, with the resources that are released when the request is answered.
type body struct {
	outcome bodyOutcome
	buffer  *bodyBuffer
	lease   limits.Lease
}

type bodyOutcome uint8

const (
	bodyRead      bodyOutcome = iota // It was read to its end, or there is none.
	bodyUnread                       // It was not read to its end, because the answer does not need it. The connection cannot be used again.
	bodyMalformed                    // Its framing is invalid.
	bodyTimedOut                     // It was not received in time.
)

// readBody reads the body into sc.Request if the answer depends on it. If the body is too large or does not fit the budget,
// it sets BodyTooLarge or Overloaded there.
func (s *Server) readBody(ctx *fasthttp.RequestCtx, sc *serving.Scratch) (b body) {
	h := &ctx.Request.Header
	stream, length := ctx.RequestBodyStream(), h.ContentLength()
	switch {
	case length == 0 && h.ConnectionClose(): // inspect may have set both, so there may be a body that is not read.
		b.outcome = bodyUnread
		return b
	case stream == nil:
		return b
	}
	if length > smallBody || length == contentLengthChunked {
		marketplace, needs := s.core.NeedsBody(sc)
		if !needs {
			b.outcome = bodyUnread
			return b
		}
		b.lease = s.bodies.Lease(marketplace)
	}
	if length > s.core.BodyMax() {
		sc.Request.BodyTooLarge, b.outcome = true, bodyUnread
		return b
	}
	b.buffer = s.buffers.Get().(*bodyBuffer) //nolint:forcetypeassert // The pool's New.
	var err error
	b.buffer.b, err = limits.AppendBody(b.buffer.b[:0], stream, s.core.BodyMax(), &b.lease, bodyWeight)
	sc.Request.Body = b.buffer.b
	b.outcome = outcomeOf(err, sc)
	if err == nil && length >= 0 && len(b.buffer.b) != length {
		b.outcome = bodyMalformed // The connection ended early.
	}
	return b
}

func outcomeOf(err error, sc *serving.Scratch) bodyOutcome {
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case err == nil:
		return bodyRead
	case errors.Is(err, limits.ErrTooLarge):
		sc.Request.BodyTooLarge = true
		return bodyUnread
	case errors.Is(err, limits.ErrBudget):
		sc.Request.Overloaded = true
		return bodyUnread
	case isNet && timeout.Timeout():
		return bodyTimedOut
	default:
		return bodyMalformed
	}
}

func (s *Server) releaseBody(b *body) {
	b.lease.Release()
	if b.buffer != nil && cap(b.buffer.b) <= bufferKeptMax {
		s.buffers.Put(b.buffer)
	}
}

// closeUnread makes the connection close after the answer. Before it closes, the rest of its request is read and discarded.
func (s *Server) closeUnread(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	if l, ok := ctx.Conn().(*fastPathConn); ok {
		l.unread.Store(true)
	}
}

// These bound how much is read and discarded of a request that was answered before it was received completely, in bytes and
// time. BOUND: closing a connection with unread bytes resets it, and the client may lose the answer with the reason. A
// larger or slower request is not worth the effort.
const (
	discardMax     = 16 << 20
	discardTimeout = readTimeout
)

var discards = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// discardRest closes the sending side and discards what the client still sends. Meanwhile the connection counts as idle, so
// that it can be closed in favour of a new one.
func (c *fastPathConn) discardRest() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.Conn.SetReadDeadline(time.Now().Add(discardTimeout)) != nil {
		return
	}
	c.slot.End()
	buffer := discards.Get().(*[16 << 10]byte) //nolint:forcetypeassert // The pool's New.
	defer discards.Put(buffer)
	for read := 0; read < discardMax; {
		n, err := c.Conn.Read(buffer[:])
		if read += n; err != nil {
			return // After io.EOF the client has sent everything.
		}
	}
}
