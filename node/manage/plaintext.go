package manage

import (
	"bytes"
	"net"
	"net/http"
	"strconv"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/ingress"
)

// notHTTP is the same message as on the auction listener.
const notHTTP = "the request is not well-formed HTTP"

// Listener returns a listener for the HTTP server. Some requests are refused by net/http itself, before any handler, with plain text
// or an empty body. On connections of this listener such an answer becomes the usual error object, with a status that clients do
// not retry.
func (s *Server) Listener(l net.Listener) net.Listener { return jsonListener{l, s} }

type jsonListener struct {
	net.Listener
	server *Server
}

// Accept returns the next connection.
func (l jsonListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &jsonConn{Conn: c, server: l.server}, nil
}

// jsonConn replaces the answers that net/http makes by itself. INVARIANT: it never mistakes an answer of a handler for one of those,
// because handlers set Cache-Control and never answer 417, and net/http writes the fields in alphabetical order.
type jsonConn struct {
	net.Conn
	server  *Server
	framing ingress.Checker
}

// Read reads requests whose framing is unambiguous, see httphead; net/http sees no others.
func (c *jsonConn) Read(p []byte) (int, error) { return c.framing.Read(c.Conn, p) }

// CloseWrite is called by net/http to end its side of a connection before it stops reading.
func (c *jsonConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// The bytes by which net/http's own answers are recognized. Each such answer is one Write, and the last on its connection.
var (
	plainFields = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
	plain431    = []byte("HTTP/1.1 431 ")
	plain417    = []byte("HTTP/1.1 417 ") // The answer to an Expect header other than 100-continue.
)

// Write writes p, or the error object that replaces it.
func (c *jsonConn) Write(p []byte) (int, error) {
	end := bytes.IndexByte(p, '\r')
	if end < 0 || !bytes.HasPrefix(p[end:], plainFields) && !bytes.HasPrefix(p, plain417) {
		return c.Conn.Write(p)
	}
	code, message := apierr.BadRequest, notHTTP
	if bytes.HasPrefix(p, plain431) {
		code, message = apierr.HeadTooLarge, ""
	}
	if _, err := c.Conn.Write(c.refusal(code, message)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c *jsonConn) refusal(code apierr.Code, message string) []byte {
	core := c.server.deps.Core
	sc := core.Acquire()
	defer sc.Release(0)
	sc.Request.Now = c.server.deps.Now()
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
