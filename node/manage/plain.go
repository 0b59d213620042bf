package manage

import (
	"bytes"
	"net"
	"net/http"
	"strconv"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/httphead"
)

// notHTTP is what the other listener says too.
const notHTTP = "the request is not well-formed HTTP"

// Listener returns a listener for the server of HTTP. What net/http refuses by itself, before any handler, it says in
// plain text or in no text at all; on connections of this listener such an answer becomes the error object that everything
// else is refused with, and its status one that clients with a queue take for final.
func (s *Server) Listener(l net.Listener) net.Listener { return jsonListener{l, s} }

type jsonListener struct {
	net.Listener
	door *Server
}

// Accept returns the next connection.
func (l jsonListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &jsonConn{Conn: c, door: l.door}, nil
}

// jsonConn replaces what net/http writes by itself. INVARIANT: it never takes an answer of a handler for one of those,
// because handlers set Cache-Control and never 417, and net/http writes the fields in alphabetical order.
type jsonConn struct {
	net.Conn
	door    *Server
	framing httphead.Checker
}

// Read reads what net/http may see: requests whose framing is plain, see httphead.
func (c *jsonConn) Read(p []byte) (int, error) { return c.framing.Read(c.Conn, p) }

// CloseWrite is looked for by net/http, which ends a connection with it before it stops reading.
func (c *jsonConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// The marks of net/http's own answers: each is written at once, and is all that the connection still has to say.
var (
	plainFields = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
	plain431    = []byte("HTTP/1.1 431 ")
	plain417    = []byte("HTTP/1.1 417 ") // To an Expect other than 100-continue.
)

// Write writes p, or what stands for it.
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
	core := c.door.deps.Core
	sc := core.Acquire()
	defer sc.Release(0)
	sc.Request.Now = c.door.deps.Now()
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
