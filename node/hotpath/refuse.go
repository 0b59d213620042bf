package hotpath

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gavel-ads/gavel/node/apierr"
)

// unreadable answers a request that fasthttp gave up reading, in JSON like everything else. The server closes the
// connection afterwards, because nobody knows where the next request would begin.
func (s *Server) unreadable(ctx *fasthttp.RequestCtx, err error) {
	_, headTooLarge := errors.AsType[*fasthttp.ErrSmallBuffer](err)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case headTooLarge:
		drain(ctx.Conn(), 0)
		s.refuse(ctx, apierr.HeadTooLarge, "")
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		drain(ctx.Conn(), ctx.Request.Header.ContentLength()-s.http.ReadBufferSize) // What is buffered has been read.
		if len(ctx.Request.Header.RawHeaders()) == 0 {                              // It came in chunks, and the head is forgotten with what was read of the body.
			kept := s.heads.take(&ctx.Request.Header)
			if kept == nil {
				s.refuse(ctx, apierr.BadRequest, "the body is over the limit of this operation")
				return
			}
			kept.CopyTo(&ctx.Request.Header)
		}
		s.answer(ctx, time.Now(), true)
	case isNet && timeout.Timeout():
		// Closed without a word. Nobody has asked anything yet: an answer on a connection that was opened in advance would
		// be taken for the answer to the next request. And a client whose line is slow repeats what got no answer, but
		// gives up for good on 400.
		_ = ctx.Conn().Close()
	default:
		s.refuse(ctx, apierr.BadRequest, "the request is not well-formed HTTP")
	}
}

// refuse answers an error and has the connection closed.
func (s *Server) refuse(ctx *fasthttp.RequestCtx, code apierr.Code, message string) {
	now := time.Now()
	sc := s.core.Acquire()
	sc.Request.Now = now
	s.core.Refuse(sc, code, message)
	send(ctx, sc)
	ctx.SetConnectionClose()
	sc.Release(time.Since(now))
}

// drainMax is how much of a request that is too large is read and thrown away. BOUND: closing a connection with unread bytes
// resets it, and the client may lose the answer that says why; a request larger than this is not worth the courtesy.
const drainMax = 16 << 20

// drain reads what is left of a request of which at least so many bytes are still to come. Where the end cannot be
// seen, a pause is taken for it.
func drain(c net.Conn, outstanding int) {
	const pause = 250 * time.Millisecond
	deadline := time.Now().Add(readTimeout)
	buffer := make([]byte, 64<<10)
	for read := 0; read < drainMax && time.Now().Before(deadline); {
		until := deadline
		if read >= outstanding {
			until = time.Now().Add(pause)
		}
		_ = c.SetReadDeadline(until)
		n, err := c.Read(buffer)
		read += n
		if err != nil {
			return
		}
	}
}

// bounded refuses surplus connections with an answer that clients understand.
type bounded struct {
	net.Listener
	open    func() int32
	max     int32
	surplus func() []byte // Makes what a connection beyond the bound is answered with.
	lane    func(net.Conn) net.Conn
}

// Accept returns the next connection that may be served.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if b.open() < b.max {
			return b.lane(c), nil
		}
		_ = c.SetDeadline(time.Now().Add(time.Second))
		_, _ = c.Write(b.surplus())
		_ = c.Close()
	}
}

// surplusAnswer makes that answer, which is refused like everything else: with a request id, and a Retry-After that does not
// bring all of them back together.
func (s *Server) surplusAnswer() []byte {
	sc := s.core.Acquire()
	defer sc.Release(0)
	sc.Request.Now = time.Now()
	s.core.Refuse(sc, apierr.ServiceUnavailable, "too many connections")
	answer := []byte("HTTP/1.1 503 Service Unavailable\r\n")
	for _, f := range sc.Fields {
		answer = append(append(append(append(answer, f.Name...), ": "...), f.Value...), "\r\n"...)
	}
	answer = append(answer, "Connection: close\r\nContent-Length: "...)
	answer = append(strconv.AppendInt(answer, int64(len(sc.Body)), 10), "\r\n\r\n"...)
	return append(answer, sc.Body...)
}

// logger is where fasthttp reports connections that went wrong. That is everyday business on the internet, so it is told
// only to those who look for it.
type logger struct{ *slog.Logger }

// Printf logs one report.
func (l logger) Printf(format string, args ...any) {
	l.Debug("connection_failed", slog.String("report", fmt.Sprintf(format, args...)))
}
