package driver

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// BareServer is a server that does nothing. Requests to it, sent in the same seconds as those that are measured, show which part of a
// latency is the machine's: a shared machine pauses by itself.
type BareServer struct{ listener net.Listener }

// StartBareServer starts one on loopback. The error is that of the listener.
func StartBareServer() (*BareServer, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // It was closed.
			}
			go answerBarely(c)
		}
	}()
	return &BareServer{l}, nil
}

// URL is the base URL of the server.
func (b *BareServer) URL() string { return "http://" + b.listener.Addr().String() }

// Close stops accepting connections. Each connection ends when its client closes it.
func (b *BareServer) Close() { _ = b.listener.Close() } // Nothing is lost: it keeps nothing.

// answerBarely answers every request on a connection with 201 and {}.
func answerBarely(c net.Conn) {
	defer func() { _ = c.Close() }() // The client has closed it.
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		if _, err := c.Write([]byte("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}")); err != nil {
			return
		}
	}
}
