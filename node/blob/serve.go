package blob

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// headMax is the most bytes of the head of a request or of an answer. BOUND: a name has at most nameMax.
const headMax = 4 << 10

// newServer returns the HTTP server for requests of other nodes.
func (s *Shared) newServer() *http.Server {
	server := &http.Server{
		Handler: http.HandlerFunc(s.handle), ReadHeaderTimeout: stallTimeout, MaxHeaderBytes: headMax,
		WriteTimeout:                 stallTimeout, // For answers to malformed heads; handle sets later ones.
		DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	server.SetKeepAlivesEnabled(false)
	return server
}

// Serve answers one request of another node and closes the connection. REQUIRES: the caller has verified that it comes from a
// member of the cluster.
func (s *Shared) Serve(c net.Conn) {
	select {
	case s.requests <- struct{}{}:
		defer func() { <-s.requests }()
	default:
		_ = c.Close() // The peer asks another node, or again.
		return
	}
	_ = s.server.Serve(&singleListener{conn: &servedConn{Conn: c, closed: make(chan struct{})}}) // Always net.ErrClosed.
}

// handle carries out a request. The deadlines of the connection move with the file.
func (s *Shared) handle(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if !valid(name) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	progress := func() {
		until, control := time.Now().Add(stallTimeout), http.NewResponseController(w)
		_ = errors.Join(control.SetReadDeadline(until), control.SetWriteDeadline(until)) // Then reading and writing fail too.
	}
	progress()
	var err error
	switch r.Method {
	case http.MethodPut:
		err = s.local.Put(r.Context(), name, newReceiver(r.Body, func() http.Header { return r.Trailer }, progress))
	case http.MethodDelete:
		err = s.local.Remove(r.Context(), name)
	case http.MethodGet:
		err = s.send(w, r, name, progress)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	switch {
	case errors.Is(err, ErrNotFound):
		w.WriteHeader(http.StatusNotFound)
	case err != nil:
		s.log.Debug("blob_peer_request_failed", slog.String("method", r.Method), slog.Any("err", err))
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// send answers with a file. An answer that cannot be completed is cut off.
func (s *Shared) send(w http.ResponseWriter, r *http.Request, name string, progress func()) error {
	f, err := s.local.Open(r.Context(), name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // It was only read.
	w.Header().Set("Trailer", digestField)
	file := newSender(f)
	file.trailer, file.progress = w.Header(), progress
	if _, err := io.Copy(w, file); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// servedConn is a connection that reports when it was closed.
type servedConn struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

// Close closes the connection.
func (c *servedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// singleListener accepts one connection, and ends when that is closed.
type singleListener struct {
	conn     *servedConn
	accepted bool
}

// Accept returns the connection, and at the second call net.ErrClosed as soon as the connection is closed.
func (l *singleListener) Accept() (net.Conn, error) {
	if l.accepted {
		<-l.conn.closed
		return nil, net.ErrClosed
	}
	l.accepted = true
	return l.conn, nil
}

// Addr returns the local address of the connection.
func (l *singleListener) Addr() net.Addr { return l.conn.LocalAddr() }

// Close does nothing: the connection ends by itself.
func (l *singleListener) Close() error { return nil }
