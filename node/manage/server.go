package manage

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/ingress"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/serving"
)

// Bounds of a connection. The management listener serves few clients and may be slower than the auction listener, but
// no client may hold a connection for ever.
const (
	headMax           = 16 << 10         // BOUND: request line and headers.
	headSlop          = 4 << 10          // Bytes that net/http reads beyond MaxHeaderBytes before it refuses.
	readHeaderTimeout = 5 * time.Second  // BOUND: time for the headers of a slow client.
	readTimeout       = 30 * time.Second // BOUND: time for a request; 8 MiB at 2 Mbit/s.
	writeTimeout      = 60 * time.Second // BOUND: time from the end of the headers to the end of the answer.
	idleTimeout       = 60 * time.Second
	streamsMax        = 64 // BOUND: open requests of one HTTP/2 connection; a client sends further ones later.
)

// HTTP returns the net/http server for the listener, with its timeouts and bounds.
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
		ConnState:   ingress.HTTPConnState, ConnContext: connContext,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: streamsMax},
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer drain(w, r)
	setTLS(r)
	if s.deps.Draining != nil && s.deps.Draining() {
		w.Header().Set("Connection", "close")
	}
	if serving.IsV2([]byte(r.RequestURI)) {
		s.v2(w, r)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	id := serving.RequestID(r.Header.Get(requestIDHeader), s.deps.Now())
	h.Set(requestIDHeader, id)
	r.Header.Set(requestIDHeader, id) // Handlers see only the checked id.
	defer s.recovered(w, r)

	rt, allow := s.routes.match(r)
	if rt == nil && allow != "" {
		s.setCORS(h, r, s.routes.sibling(r, allow))
	} else {
		s.setCORS(h, r, rt)
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

// counted serves an operation of /public/v1 or of a file, and counts it.
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
	end := func(int) {}
	if s.deps.Trace != nil {
		r, end = s.deps.Trace(r, rt.operation, rt.path, w.Header().Get(requestIDHeader))
	}
	defer func() {
		if c.status == 0 {
			c.status = http.StatusInternalServerError // The handler panicked; recovered writes the answer.
		}
		end(c.status)
		now := s.deps.Now()
		s.deps.Count(rt.operation, strconv.Itoa(c.status), w.Header().Get(requestIDHeader), now.Sub(began))
		if !rt.streams && s.deps.Access.Due(now, now.Sub(began)) { // An upload takes as long as its sender.
			s.deps.Access.Write(&serving.AccessEntry{
				Operation: rt.operation, Status: c.status, Took: now.Sub(began), RequestID: w.Header().Get(requestIDHeader),
				In: int(max(r.ContentLength, 0)), Out: c.bytes,
			})
		}
	}()
	serve(c, r)
}

// management serves an operation of /public/v1. It buffers the answer, so that the answer has a Content-Length, can be repeated
// (Idempotency-Key), and is whole even if the handler fails halfway.
func (s *Server) management(w http.ResponseWriter, r *http.Request) {
	caller, code := s.authorize(w.Header(), r)
	if code != apierr.OK {
		s.rejectBody(w, r)
		s.refuse(w, code, "")
		return
	}
	authenticated(r)
	if !s.deps.Slots.Take(caller.Marketplace) {
		s.rejectBody(w, r)
		s.refuse(w, apierr.ServiceUnavailable, tooManyRequests)
		return
	}
	defer s.deps.Slots.Free(caller.Marketplace)
	streams := s.routes.of(r).streams
	if !streams { // A handler that reads its body itself waits for the client most of the time.
		turn := s.deps.Background.NewTurn(caller.Marketplace)
		r = r.WithContext(limits.WithTurn(r.Context(), turn))
	}
	// The session is opened before the body is read, so that a request that waits for other nodes takes no memory.
	ctx, code, message := s.open(r, caller)
	if code != apierr.OK {
		s.rejectBody(w, r)
		s.refuse(w, code, message)
		return
	}
	var body []byte
	lease := s.deps.Bodies.Lease(caller.Marketplace)
	defer lease.Release()
	if streams {
		file := ingress.NewUploadBody(w, r)
		file.MeasureRate() // The key was checked above.
		r.Body = file
	} else if body, code, message = s.readBody(r, &lease); code != apierr.OK {
		if code == apierr.ServiceUnavailable {
			s.rejectBody(w, r)
		}
		s.refuse(w, code, message)
		return
	}
	if caller.vendor != "" && !namesOnlyVendor(caller.vendor, body) {
		code = apierr.ForbiddenAPIKey
		if caller.user != nil {
			code = apierr.ForbiddenRole
		}
		s.refuse(w, code, "")
		return
	}
	a := newBufferedResponse()
	if streams {
		s.serve(a, r.WithContext(ctx))
	} else {
		s.serveIdempotent(a, r.WithContext(ctx), body)
	}
	a.writeTo(w)
}

const tooManyRequests = "the marketplace has as many requests under way as this node has connections left for all others"

// problem answers the error of an operation that is not registered with the kit.
func (s *Server) problem(w http.ResponseWriter, err error) {
	if cause := resource.WriteProblem(w, s.config.PublicURL, err); cause != nil {
		s.deps.Log.Error("management_operation_failed", slog.Any("error", cause))
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
	_, _ = w.Write(body) // The client may have disconnected.
}

// recovered turns a panic into a 500, so that a defect fails one request only. http.ErrAbortHandler is passed on to net/http.
func (s *Server) recovered(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler { //nolint:errorlint // recover returns the very value.
		panic(cause)
	}
	s.deps.Log.Error("management_request_panicked",
		slog.String("path", r.URL.Path), slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
	s.refuse(w, apierr.InternalServerError, "")
}

const requestIDHeader = "X-Request-Id"
