package manage

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/serving"
)

// v2 serves a request with the same core as the auction listener, so that both answer the same bytes.
func (s *Server) v2(w http.ResponseWriter, r *http.Request) {
	core := s.deps.Core
	sc := core.Acquire()
	sc.Request = serving.Request{
		Now:             s.deps.Now(),
		Method:          []byte(r.Method),
		Target:          []byte(r.RequestURI),
		Authorization:   header(r, "Authorization"),
		RequestID:       header(r, "X-Request-Id"),
		ContentEncoding: []byte(strings.Join(r.Header.Values("Content-Encoding"), ", ")),
		Origin:          header(r, "Origin"),
		RequestHeaders:  header(r, "Access-Control-Request-Headers"),
	}
	marketplace, needs := needsBody(core, sc, r)
	lease := s.deps.Bodies.Lease(marketplace)
	defer lease.Release()
	var err error
	if needs {
		sc.Request.Body, err = limits.AppendBody(nil, r.Body, core.BodyMax(), &lease, v2BodyWeight)
		sc.Request.BodyTooLarge = errors.Is(err, limits.ErrTooLarge)
		sc.Request.Overloaded = errors.Is(err, limits.ErrBudget)
	}
	h := w.Header()
	switch {
	case err == nil || sc.Request.BodyTooLarge || sc.Request.Overloaded:
		core.Serve(sc)
	case isGone(err):
		panic(http.ErrAbortHandler) // The client has disconnected.
	default: // Malformed chunks.
		core.Refuse(sc, apierr.BadRequest, notHTTP)
		h.Set("Connection", "close")
	}
	if sc.Authenticated() {
		authenticated(r)
	}
	if !needs || sc.Request.Overloaded {
		s.rejectBody(w, r)
	}

	for _, f := range sc.Fields {
		h.Set(string(f.Name), string(f.Value))
	}
	if sc.Status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(sc.Body)))
	}
	w.WriteHeader(sc.Status)
	_, _ = w.Write(sc.Body) //nolint:gosec // JSON, with nosniff. The client may have disconnected.
	sc.Release(s.deps.Now().Sub(sc.Request.Now))
}

// v2BodyWeight is how many bytes of the budget one byte of a body on /v2 takes: parsed ids take as much again.
const v2BodyWeight = 2

// isGone reports whether a body ended early because the client disconnected or was too slow.
func isGone(err error) bool {
	_, broken := errors.AsType[net.Error](err)
	return broken || errors.Is(err, io.ErrUnexpectedEOF)
}

func header(r *http.Request, name string) []byte {
	if v := r.Header.Get(name); v != "" {
		return []byte(v)
	}
	return nil
}
