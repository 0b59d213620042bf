// Package hotpath is the auction listener: fasthttp, with a fast path for plain requests below it, in front of the core of
// /v2. It handles HTTP itself (framing, timeouts, sizes, connections) and nothing else. Package serving decides on the
// answer, which is the same on the management listener.
//
// DESIGN.md describes the options, and what this package adds because fasthttp does not do it.
package hotpath

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/ingress"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/node/serving"
)

// Default limits of the listener.
const (
	readTimeout  = 2 * time.Second // The time for a whole request, from its first byte.
	writeTimeout = 5 * time.Second
	idleTimeout  = 60 * time.Second // The time between two requests of a connection.

	// headMax is the limit of a request head in bytes. It is the size of fasthttp's read buffer.
	headMax     = 16 << 10 // BOUND: set by the interface; each connection has one until it ends.
	writeBuffer = 16 << 10 // It holds most answers, so that they are sent with one write.

	// connectionsMax is how many connections are served at the same time. BOUND: each occupies about 40 KiB.
	connectionsMax = 50_000
)

// Options are the dependencies and limits of a Server. A limit that is zero takes its default.
type Options struct {
	Core    *serving.Core
	Metrics *metrics.Metrics
	Log     *slog.Logger
	// ManagementAddr is the address of the management listener. The answer to an unknown path names it. [omitted]
	ManagementAddr string

	ReadTimeout, WriteTimeout, IdleTimeout time.Duration
	Connections                            int // How many connections may be open; see package connections for what happens at the bound.
	// Bodies is the budget of bytes of request bodies in memory. [no budget]
	Bodies  *limits.Bytes
	HeadMax int // The limit of request line and headers together, in bytes.
	// WithoutFastPath turns the fast path off: fasthttp reads every request.
	WithoutFastPath bool
	// NoDate leaves the Date header out. fasthttp updates it in a goroutine that never ends, which tests in a synctest bubble
	// cannot have.
	NoDate bool
}

func (o Options) withDefaults() Options {
	o.ReadTimeout = withDefault(o.ReadTimeout, readTimeout)
	o.WriteTimeout = withDefault(o.WriteTimeout, writeTimeout)
	o.IdleTimeout = withDefault(o.IdleTimeout, idleTimeout)
	o.Connections = withDefault(o.Connections, connectionsMax)
	o.HeadMax = withDefault(o.HeadMax, headMax)
	return o
}

func withDefault[T ~int | ~int64](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}

// Server is the auction listener.
type Server struct {
	http            *fasthttp.Server
	core            *serving.Core
	frames          *metrics.Stripe
	connections     int
	unknownPath     string
	withoutFastPath bool
	pool            fastPathPool
	bodies          *limits.Bytes
	buffers         sync.Pool // It holds *bodyBuffer.
	incompleteMax   int64     // How many connections of the fast path may have a buffer for an incomplete request.
	listener        atomic.Pointer[ingress.Listener]
	log             *slog.Logger
}

// New returns a server that does not listen yet.
func New(o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		core: o.Core, frames: o.Metrics.Stripe(), connections: o.Connections, withoutFastPath: o.WithoutFastPath,
		pool: fastPathPool{buffers: sync.Pool{New: newFastPathBuffer}}, bodies: o.Bodies, buffers: sync.Pool{New: newBodyBuffer}, log: o.Log,
		incompleteMax: incompleteMaxOf(o.Bodies),
		unknownPath: "there is no such path on the auction listener, which serves /v2; " +
			"/public/v1, the console and /metrics are on the management listener",
	}
	if o.ManagementAddr != "" {
		s.unknownPath += " at " + o.ManagementAddr
	}
	s.http = Tuned(o, s.handle)
	s.http.ErrorHandler = s.answerReadError
	s.http.HeaderReceived = s.inspect
	s.http.StreamRequestBody = true // The handler reads the body, and only if the answer depends on it; see body.go.
	s.http.ConnState = connState
	s.http.MaxRequestBodySize = o.Core.BodyMax()
	return s
}

// Tuned returns a fasthttp server with the listener's options and another handler. Benchmarks use it to compare with a
// handler that does nothing under the same conditions.
func Tuned(o Options, handler fasthttp.RequestHandler) *fasthttp.Server {
	o = o.withDefaults()
	return &fasthttp.Server{
		Handler:      handler,
		ReadTimeout:  o.ReadTimeout,
		WriteTimeout: o.WriteTimeout,
		IdleTimeout:  o.IdleTimeout,
		// Package connections bounds connections. This bound is higher, because a connection that was closed in favour of a new
		// one may end a little later.
		Concurrency:        2*o.Connections + 1024,
		ReadBufferSize:     o.HeadMax,
		WriteBufferSize:    writeBuffer,
		MaxRequestBodySize: serving.BodyMax,
		CloseOnShutdown:    true,

		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		NoDefaultDate:                o.NoDate,
		DisablePreParseMultipartForm: true,
		SecureErrorLogMessage:        true,
		// ReduceMemoryUsage is off, because it costs an allocation per request.
		Logger: logger{o.Log},
	}
}

// Serve accepts and serves connections until Shutdown, then returns nil.
func (s *Server) Serve(l net.Listener) error {
	bounded := ingress.NewListener(l, ingress.ListenerOptions{Name: "auction", Max: s.connections, Refuse: s.refuseConn, Log: s.log})
	s.listener.Store(bounded)
	return s.http.Serve(fastPathListener{bounded, s})
}

// ServeTLS is Serve with TLS. A connection beyond the bound is closed without an answer.
func (s *Server) ServeTLS(l net.Listener, config *tls.Config) error {
	bounded := ingress.NewListener(l, ingress.ListenerOptions{Name: "auction", Max: s.connections, Log: s.log})
	s.listener.Store(bounded)
	return s.http.Serve(fastPathListener{ingress.NewTLSListener(bounded, config), s})
}

// Connections returns the connection counters of the listener that Serve was called with.
func (s *Server) Connections() ingress.ListenerStats {
	if l := s.listener.Load(); l != nil {
		return l.Stats()
	}
	return ingress.ListenerStats{Max: s.connections}
}

// fastPathListener returns connections to fasthttp that answer plain requests themselves.
type fastPathListener struct {
	net.Listener
	s *Server
}

// Accept returns the next connection.
func (l fastPathListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.s.wrap(c), nil
}

// connState reports to the listener that fasthttp has answered a request.
func connState(c net.Conn, state fasthttp.ConnState) {
	if l, ok := c.(*fastPathConn); ok && state == fasthttp.StateIdle {
		l.slot.End()
	}
}

// ServeConn serves one connection until it ends.
func (s *Server) ServeConn(c net.Conn) error { return s.http.ServeConn(s.wrap(c)) }

// Drain makes every further answer end its connection, with Connection: close. Connections are accepted and requests
// answered as before: a client that gets such an answer opens its next connection, and a load balancer that knows that the
// node stops opens it to another node. Idle connections stay open, because a request may be on its way on them.
func (s *Server) Drain() { s.pool.phase.CompareAndSwap(phaseServing, phaseDraining) }

// Shutdown stops listening, waits until every request that has begun is answered, closes the connections and returns. If ctx
// ends before that, it returns the context's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.pool.stop()
	return s.http.ShutdownWithContext(ctx)
}

// handle answers one request that fasthttp has read.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	if l, ok := ctx.Conn().(*fastPathConn); ok && !l.slot.Begin() {
		return // The connection is closed already.
	}
	s.answer(ctx, ctx.Time())
}

// contentEncoding is the encoding that a head names. One that names it in two lines has an encoding that is not served, as one
// that names two in a line.
func contentEncoding(h *fasthttp.RequestHeader) []byte {
	if len(h.PeekAll("Content-Encoding")) > 1 {
		return severalEncodings
	}
	return h.PeekCanonical(nameContentEncoding)
}

var severalEncodings = []byte("several")

// answer reads the body if the answer depends on it, calls the core and copies the answer into the response.
func (s *Server) answer(ctx *fasthttp.RequestCtx, now time.Time) {
	h := &ctx.Request.Header
	sc := s.core.Acquire()
	sc.Request = serving.Request{
		Now: now, Method: h.Method(), Target: h.RequestURI(),
		Authorization:   h.PeekCanonical(nameAuthorization),
		RequestID:       h.PeekCanonical(nameRequestID),
		ContentEncoding: contentEncoding(h),
		Origin:          h.PeekCanonical(nameOrigin),
		RequestHeaders:  h.PeekCanonical(nameRequestHeaders),
		UnknownPath:     s.unknownPath,
	}
	body := s.readBody(ctx, sc)
	switch body.outcome {
	case bodyTimedOut:
		_ = ctx.Conn().Close() // The client has disconnected or is too slow, so it gets no answer.
	case bodyMalformed:
		s.core.Refuse(sc, apierr.BadRequest, notHTTP)
	case bodyRead, bodyUnread:
		s.core.Serve(sc)
	}
	if body.outcome != bodyRead {
		s.closeUnread(ctx)
	}
	if s.pool.phase.Load() != phaseServing {
		ctx.SetConnectionClose()
	}
	if l, ok := ctx.Conn().(*fastPathConn); ok && sc.Authenticated() {
		l.slot.Authenticated()
	}
	if body.outcome != bodyTimedOut {
		send(ctx, sc)
	}
	sc.Release(sc.Took())
	s.releaseBody(&body)
}

// Header names in the canonical form that fasthttp stores.
var (
	nameAuthorization   = []byte("Authorization")
	nameRequestID       = []byte("X-Request-Id")
	nameContentEncoding = []byte("Content-Encoding")
	nameOrigin          = []byte("Origin")
	nameRequestHeaders  = []byte("Access-Control-Request-Headers")
)

// send copies an answer into the response. SetBody copies too, because the response is written after the scratch has been
// released.
func send(ctx *fasthttp.RequestCtx, sc *serving.Scratch) {
	ctx.Response.SetStatusCode(sc.Status)
	for i := range sc.Fields {
		ctx.Response.Header.SetCanonical(sc.Fields[i].Name, sc.Fields[i].Value)
	}
	ctx.Response.SetBody(sc.Body)
}
