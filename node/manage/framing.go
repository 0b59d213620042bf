package manage

import (
	"bytes"
	"crypto/tls"
	"net"
	"net/http"
	"strconv"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/ingress"
)

// notHTTP is the same message as on the auction listener.
const notHTTP = "the request is not well-formed HTTP"

// Listener returns a listener for the HTTP server. net/http sees only requests whose framing is unambiguous, see package ingress. It
// refuses the others by itself, before any handler, as it refuses heads that are too large.
func (s *Server) Listener(l net.Listener) net.Listener { return framingListener{l} }

type framingListener struct{ net.Listener }

// Accept returns the next connection.
func (l framingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if secure, ok := c.(*tls.Conn); ok && secure.ConnectionState().NegotiatedProtocol == protocolHTTP2 {
		return c, nil // HTTP/2 has no ambiguous lengths, and net/http serves it on a *tls.Conn only.
	}
	return &framingConn{Conn: c}, nil
}

// framingConn checks the framing of what it reads.
type framingConn struct {
	net.Conn
	framing ingress.Checker
}

// Read reads and checks bytes.
func (c *framingConn) Read(p []byte) (int, error) { return c.framing.Read(c.Conn, p) }

// tlsState returns the state of the TLS connection below, which net/http finds only on a *tls.Conn; nil in plain text.
func (c *framingConn) tlsState() *tls.ConnectionState {
	secure, ok := c.Conn.(*tls.Conn)
	if !ok {
		return nil
	}
	state := secure.ConnectionState()
	return &state
}

// NetConn returns the connection below, for ingress.ConnOf.
func (c *framingConn) NetConn() net.Conn { return c.Conn }

// CloseWrite is called by net/http to end its side of a connection before it stops reading.
func (c *framingConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// refusal is the whole answer to a connection that no HTTP server serves.
func (s *Server) refusal(code apierr.Code, message string) []byte {
	core := s.deps.Core
	sc := core.Acquire()
	defer sc.Release(0)
	sc.Request.Now = s.deps.Now()
	core.Refuse(sc, code, message)
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 " + strconv.Itoa(sc.Status) + " " + http.StatusText(sc.Status) + "\r\n")
	for _, f := range sc.Fields {
		b.Write(f.Name)
		b.WriteString(": ")
		b.Write(f.Value)
		b.WriteString("\r\n")
	}
	b.WriteString("Connection: close\r\nContent-Length: " + strconv.Itoa(len(sc.Body)) + "\r\n\r\n")
	b.Write(sc.Body)
	return b.Bytes()
}
