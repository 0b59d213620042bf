package manage

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/background"
	"github.com/gavel-ads/gavel/node/connections"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/upload"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Bounds of a connection. The management listener serves few clients and may be slower than the auction listener, but
// no client may hold a connection for ever.
const (
	headMax           = 16 << 10         // BOUND: request line and headers.
	headSlop          = 4 << 10          // What net/http reads beyond MaxHeaderBytes before it refuses.
	readHeaderTimeout = 5 * time.Second  // BOUND: a client that drips its headers.
	readTimeout       = 30 * time.Second // BOUND: 8 MiB at 2 Mbit/s.
	writeTimeout      = 60 * time.Second // BOUND: from the end of the headers to the end of the answer.
	idleTimeout       = 60 * time.Second
)

// HTTP returns the net/http server for the listener, with its bounds set.
func (s *Server) HTTP() *http.Server {
	head := s.config.RequestHeadSize
	if head == 0 {
		head = headMax
	}
	return &http.Server{
		Handler: s, MaxHeaderBytes: max(1, head-headSlop), DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ErrorLog:    slog.NewLogLogger(s.deps.Log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return context.Background() },
		ConnState:   connections.OfHTTP, ConnContext: connContext,
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer drain(w, r)
	if serving.IsV2([]byte(r.RequestURI)) {
		s.v2(w, r)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	id := requestID(r.Header.Get(requestIDHeader), s.deps.Now())
	h.Set(requestIDHeader, id)
	r.Header.Set(requestIDHeader, id) // Nobody behind here sees what was sent.
	defer s.recovered(w, r)

	rt, allow := s.routes.match(r)
	if rt == nil && allow != "" {
		s.corsHeaders(h, r, s.routes.beside(r, allow))
	} else {
		s.corsHeaders(h, r, rt)
	}
	switch {
	case rt == nil && allow == "":
		s.refuse(w, apierr.ResourceNotFound, "")
	case rt == nil && r.Method == http.MethodOptions:
		h.Set("Allow", allow)
		w.WriteHeader(http.StatusNoContent)
	case rt == nil:
		h.Set("Allow", allow)
		s.refuse(w, apierr.MethodNotAllowed, "")
	case rt.operation != "":
		s.counted(w, r, rt)
	default:
		rt.serve(w, r)
	}
}

// counted serves an operation of /public/v1, or an upload or a file, and counts it.
func (s *Server) counted(w http.ResponseWriter, r *http.Request, rt *route) {
	serve := rt.serve
	if rt.api {
		serve = s.management
	}
	if s.deps.Count == nil {
		serve(w, r)
		return
	}
	began := s.deps.Now()
	c := &statusWriter{ResponseWriter: w}
	defer func() {
		if c.status == 0 {
			c.status = http.StatusInternalServerError // It panics; the answer is written above.
		}
		s.deps.Count(rt.operation, strconv.Itoa(c.status), s.deps.Now().Sub(began))
	}()
	serve(c, r)
}

// management serves an operation of /public/v1, whose answer is gathered first: so that it has a Content-Length, can be
// answered again (Idempotency-Key), and a defect half way does not leave half an answer.
func (s *Server) management(w http.ResponseWriter, r *http.Request) {
	caller, code := s.admit(w.Header(), r)
	if code != apierr.OK {
		s.unread(w, r)
		s.refuse(w, code, "")
		return
	}
	authenticated(r)
	streams := s.routes.of(r).streams
	if !streams { // A stream waits for its sender most of the time.
		turn := s.deps.Background.NewTurn(caller.Marketplace)
		r = r.WithContext(background.WithTurn(r.Context(), turn))
	}
	// The session comes before the body: what waits for other nodes holds nothing.
	ctx, code, message := s.open(r, caller)
	if code != apierr.OK {
		s.unread(w, r)
		s.refuse(w, code, message)
		return
	}
	var body []byte
	lease := s.deps.Bodies.Lease(caller.Marketplace)
	defer lease.Release()
	if streams {
		file := upload.NewBody(w, r)
		file.Pace() // The key has been checked.
		r.Body = file
	} else if body, code, message = s.readBody(r, &lease); code != apierr.OK {
		if code == apierr.ServiceUnavailable {
			s.unread(w, r)
		}
		s.refuse(w, code, message)
		return
	}
	if caller.vendor != "" && !bodyOfVendor(caller.vendor, body) {
		s.refuse(w, apierr.ForbiddenAPIKey, "")
		return
	}
	a := newAnswer()
	if streams {
		s.serve(a, r.WithContext(ctx))
	} else {
		s.once(a, r.WithContext(ctx), body)
	}
	a.writeTo(w)
}

// problem answers an error of an operation that is served apart.
func (s *Server) problem(w http.ResponseWriter, err error) {
	if cause := resource.WriteProblem(w, s.config.PublicURL, err); cause != nil {
		s.deps.Log.Error("a management operation failed", slog.Any("error", cause))
	}
}

// refuse writes the error object of a code.
func (s *Server) refuse(w http.ResponseWriter, code apierr.Code, message string) {
	body := apierr.Append(nil, code, message, s.config.PublicURL)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if code == apierr.InvalidAPIKey {
		h.Set("WWW-Authenticate", `Bearer realm="gavel"`)
	}
	if code == apierr.ServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(code.Status())
	_, _ = w.Write(body) // The caller may be gone; nobody is left to tell.
}

// recovered turns a panic into a 500: a defect costs one request. http.ErrAbortHandler is no defect.
func (s *Server) recovered(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler { //nolint:errorlint // recover returns the very value.
		panic(cause)
	}
	s.deps.Log.Error("a management request panicked",
		slog.String("path", r.URL.Path), slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
	s.refuse(w, apierr.InternalServerError, "")
}

const (
	requestIDHeader = "X-Request-Id"
	requestIDMax    = 64 // BOUND: of the interface.
)

// requestID echoes the caller's id when it is one, else mints a UUIDv7.
func requestID(sent string, now time.Time) string {
	if sent != "" && len(sent) <= requestIDMax && strings.IndexFunc(sent, notIDRune) < 0 {
		return sent
	}
	var entropy [11]byte
	_, _ = rand.Read(entropy[:]) // Never fails: the runtime ends the process instead.
	return ids.Mint(now.UnixMilli(), [10]byte(entropy[:10]), ids.Shard(entropy[10])).String()
}

func notIDRune(c rune) bool {
	return !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '.' || c == '_' || c == '-')
}
