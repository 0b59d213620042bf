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

const notHTTP = "the request is not well-formed HTTP"

// unreadable answers a request that fasthttp gave up reading, in JSON like everything else. The server closes the
// connection afterwards, because nobody knows where the next request would begin.
func (s *Server) unreadable(ctx *fasthttp.RequestCtx, err error) {
	_, headTooLarge := errors.AsType[*fasthttp.ErrSmallBuffer](err)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case headTooLarge:
		s.refuse(ctx, apierr.HeadTooLarge, "")
	case isNet && timeout.Timeout():
		// Closed without a word. Nobody has asked anything yet: an answer on a connection that was opened in advance would
		// be taken for the answer to the next request. And a client whose line is slow repeats what got no answer, but
		// gives up for good on 400.
		_ = ctx.Conn().Close()
	default:
		s.refuse(ctx, apierr.BadRequest, notHTTP)
	}
}

// refuse answers an error and has the connection closed.
func (s *Server) refuse(ctx *fasthttp.RequestCtx, code apierr.Code, message string) {
	now := time.Now()
	sc := s.core.Acquire()
	sc.Request.Now = now
	s.core.Refuse(sc, code, message)
	send(ctx, sc)
	s.closeUnread(ctx)
	sc.Release(time.Since(now))
}

// refuseConn answers a connection for which there is no place.
func (s *Server) refuseConn(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(time.Second))
	_, _ = c.Write(s.surplusAnswer()) // It fits the socket's buffer. The other side may be gone.
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
