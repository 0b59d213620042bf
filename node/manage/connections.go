package manage

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/ingress"
	"github.com/gavel-ads/gavel/node/serving"
)

// Protocols are the application protocols that the management listener offers in a TLS handshake.
var Protocols = []string{protocolHTTP2, "http/1.1"}

const protocolHTTP2 = "h2"

// Bounded returns the listener for the HTTP server, with the configured bound on connections, and the part of it that counts
// them. With secure the listener makes TLS handshakes; nil: it accepts plain text.
func (s *Server) Bounded(l net.Listener, secure *tls.Config) (net.Listener, *ingress.Listener) {
	o := ingress.ListenerOptions{Name: "management", Max: s.config.Connections, Log: s.deps.Log}
	if secure != nil { // A connection beyond the bound is closed without an answer, because a handshake would have to come first.
		bounded := ingress.NewListener(l, o)
		return s.Listener(ingress.NewTLSListener(bounded, secure)), bounded
	}
	o.Refuse = func(c net.Conn) {
		_ = c.SetDeadline(s.deps.Now().Add(time.Second))
		_, _ = c.Write(s.refusal(apierr.ServiceUnavailable, "too many connections")) // It fits the socket's buffer. The client may have disconnected.
	}
	bounded := ingress.NewListener(l, o)
	return s.Listener(bounded), bounded
}

type connKey struct{}

// requestConn is what requests know about their connection.
type requestConn struct {
	of     *ingress.Conn
	secure *tls.ConnectionState // Set for HTTP/1 over TLS.
}

// connContext puts the connection into the context of its requests.
func connContext(ctx context.Context, c net.Conn) context.Context {
	known := requestConn{of: ingress.ConnOf(c)}
	if framed, ok := c.(*framingConn); ok {
		known.secure = framed.tlsState()
	}
	return context.WithValue(ctx, connKey{}, known)
}

// connOf returns the connection of a request. In tests without a listener it is nil, and its methods do nothing.
func connOf(r *http.Request) *ingress.Conn {
	known, _ := r.Context().Value(connKey{}).(requestConn)
	return known.of
}

// setTLS sets the TLS member of a request that came over TLS, as net/http does for HTTP/2.
func setTLS(r *http.Request) {
	if known, ok := r.Context().Value(connKey{}).(requestConn); ok && r.TLS == nil {
		r.TLS = known.secure
	}
}

// authenticated reports to the listener that a request had a valid key.
func authenticated(r *http.Request) { connOf(r).Authenticated() }

// rejectBody is called before the answer to a request whose body is not read, because its sender has no right to it or the node has
// no memory for it. It closes the connection after the answer, and what still arrives is discarded for at most discardTimeout. Small
// bodies are discarded whole, so that the connection can be used again.
func (s *Server) rejectBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength >= 0 && r.ContentLength <= discardMax && r.Header.Get("Expect") == "" {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(discardTimeout)) // It fails only in tests, which have no connection.
}

const (
	// discardMax is the largest body that is discarded to keep the connection. BOUND: net/http holds 4 KiB of it at a time.
	discardMax = 64 << 10
	// discardTimeout is how long the rest of a refused request is read and discarded, so that its sender gets the answer.
	discardTimeout = 2 * time.Second
)

// needsBody reports whether the answer to a request on /v2 depends on its body, and whose request it is.
func needsBody(core *serving.Core, sc *serving.Scratch, r *http.Request) (marketplace uint16, needs bool) {
	if r.ContentLength == 0 {
		return 0, false
	}
	return core.NeedsBody(sc)
}
