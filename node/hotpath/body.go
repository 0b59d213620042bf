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

// smallBody is a body that is read with its head, whatever becomes of the request. BOUND: 8 KiB, which fasthttp reads before it
// calls a handler. It spares clients with a wrong key or path a new connection for each request.
const smallBody = 8 << 10

const (
	// bodyWeight is how many bytes of the budget a byte of a body takes. BOUND: ids that are parsed take as much again.
	bodyWeight = 2
	// bufferKeptMax is the memory above which the buffer of a body is not pooled. BOUND: one large body must not pin it.
	bufferKeptMax = 256 << 10

	contentLengthChunked = -1
	contentLengthNone    = -2
)

var nameExpect = []byte("Expect")

type bodyBuffer struct{ b []byte }

func newBodyBuffer() any { return &bodyBuffer{make([]byte, 0, 2*smallBody)} }

// partialMaxOf is how many connections of the fast path may hold a buffer for a request that is not complete: a quarter of the
// budget of bodies. Further requests take the way through fasthttp, whose buffers grow with what arrives.
func partialMaxOf(bodies *limits.Bytes) int64 {
	if bodies == nil {
		return connectionsMax
	}
	return max(1, bodies.Stats().Max/4/laneBuffer)
}

// inspect looks at the head of a request before anything is done about its body. Where the body cannot change the answer, because
// path, method or key are refused, it is not read: to fasthttp such a request has no body and is the last of its connection.
// fasthttp calls it when it has read a head.
func (s *Server) inspect(h *fasthttp.RequestHeader) (unchanged fasthttp.RequestConfig) {
	length := h.ContentLength()
	expects := len(h.PeekBytes(nameExpect)) > 0
	if length == contentLengthNone || length >= 0 && length <= smallBody && !expects {
		return unchanged
	}
	if s.wants(h) {
		return unchanged
	}
	h.SetContentLength(0)
	h.DelBytes(nameExpect)
	h.SetConnectionClose()
	return unchanged
}

// wants reports whether the body of a request decides how it is answered.
func (s *Server) wants(h *fasthttp.RequestHeader) bool {
	sc := s.core.Acquire()
	defer sc.Discard()
	sc.Request = serving.Request{
		Now: time.Now(), Method: h.Method(), Target: h.RequestURI(), Authorization: h.PeekCanonical(nameAuthorization),
	}
	_, wants := s.core.NeedsBody(sc)
	return wants
}

// body is what became of the body of a request, and what has to be given back when the request is answered.
type body struct {
	outcome bodyOutcome
	buffer  *bodyBuffer
	lease   limits.Lease
}

type bodyOutcome uint8

const (
	bodyRead   bodyOutcome = iota // To its end, or there is none.
	bodyUnread                    // Not to its end: the answer does not need it. The connection cannot be used again.
	bodyBroken                    // Its framing is wrong.
	bodyGone                      // It did not come in time, or its sender has gone.
)

// readBody reads the body of a request that needs one into sc.Request, or sets there why it was not read.
func (s *Server) readBody(ctx *fasthttp.RequestCtx, sc *serving.Scratch) (b body) {
	h := &ctx.Request.Header
	stream, length := ctx.RequestBodyStream(), h.ContentLength()
	switch {
	case length == 0 && h.ConnectionClose(): // Perhaps inspect decided so.
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
		b.outcome = bodyBroken // The connection ended early.
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
		return bodyGone
	default:
		return bodyBroken
	}
}

func (s *Server) releaseBody(b *body) {
	b.lease.Release()
	if b.buffer != nil && cap(b.buffer.b) <= bufferKeptMax {
		s.buffers.Put(b.buffer)
	}
}

// closeUnread has the connection closed after the answer, and what still comes of its request thrown away before.
func (s *Server) closeUnread(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	if l, ok := ctx.Conn().(*laneConn); ok {
		l.unread.Store(true)
	}
}

// Bounds of what is thrown away of a request that is answered before it was sent to its end. BOUND: closing a connection with unread
// bytes resets it, and the client may lose the answer that says why; a larger or slower request is not worth the courtesy.
const (
	discardMax     = 16 << 20
	discardTimeout = readTimeout
)

var discards = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// discardRest ends the sending side and throws away what the other side still sends. The connection counts as one that waits
// meanwhile: it is closed when a new one needs its place.
func (c *laneConn) discardRest() {
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
			return // io.EOF: all has come.
		}
	}
}
