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

// answerReadError answers a request that fasthttp could not read, in JSON like all errors. The server closes the connection
// afterwards, because it is not known where the next request would begin.
func (s *Server) answerReadError(ctx *fasthttp.RequestCtx, err error) {
	_, headTooLarge := errors.AsType[*fasthttp.ErrSmallBuffer](err)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case headTooLarge:
		s.refuse(ctx, apierr.HeadTooLarge, "")
	case isNet && timeout.Timeout():
		// The connection is closed without an answer. The client has sent no request yet: an answer on a connection that was
		// opened in advance would be taken for the answer to the next request. And a client with a slow line repeats a request
		// without an answer, but does not repeat one that was answered with 400.
		_ = ctx.Conn().Close()
	default:
		s.refuse(ctx, apierr.BadRequest, notHTTP)
	}
}

// refuse answers with an error and makes the connection close.
func (s *Server) refuse(ctx *fasthttp.RequestCtx, code apierr.Code, message string) {
	now := time.Now()
	sc := s.core.Acquire()
	sc.Request.Now = now
	s.core.Refuse(sc, code, message)
	send(ctx, sc)
	s.closeUnread(ctx)
	sc.Release(time.Since(now))
}

// refuseConn answers a connection beyond the bound.
func (s *Server) refuseConn(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(time.Second))
	_, _ = c.Write(s.surplusAnswer()) // It fits the socket's buffer, so Write does not block. The client may have disconnected.
}

// surplusAnswer returns the answer to a connection beyond the bound. It has a request id and a random Retry-After like every
// 503, so that the clients do not repeat their requests together.
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

// logger receives fasthttp's reports of failed connections. They are common on the internet, so it logs them at level debug.
type logger struct{ *slog.Logger }

// Printf logs one report.
func (l logger) Printf(format string, args ...any) {
	l.Debug("connection_failed", slog.String("report", fmt.Sprintf(format, args...)))
}
