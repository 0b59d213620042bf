package ingress

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// handshakeTimeout bounds a TLS handshake. BOUND: four round trips of a bad mobile network.
const handshakeTimeout = 5 * time.Second

// plainAnswer is sent to a client that speaks plain HTTP to a listener with TLS.
const plainAnswer = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 45\r\n\r\n" +
	"this listener speaks TLS: use https:// here.\n"

// TLSListener makes the TLS handshakes of the connections that a Listener accepts. Accept returns *tls.Conn whose
// handshake is complete, so a slow client delays nobody.
//
// BOUND: connections in a handshake count towards the Listener's bound, as connections without a key.
type TLSListener struct {
	*Listener
	config *tls.Config
	ready  chan net.Conn
	done   chan struct{} // Closed by Close.
	ended  chan struct{} // Closed when no more connections are accepted; err is set before.
	err    error
	closed sync.Once
}

// NewTLSListener begins to accept connections. REQUIRES: Close is called.
func NewTLSListener(l *Listener, config *tls.Config) *TLSListener {
	t := &TLSListener{Listener: l, config: config, ready: make(chan net.Conn), done: make(chan struct{}), ended: make(chan struct{})}
	go t.acceptAll()
	return t
}

// acceptAll accepts connections until the Listener cannot continue.
func (t *TLSListener) acceptAll() {
	for {
		c, err := t.Listener.Accept()
		if err != nil {
			t.err = err
			close(t.ended)
			return
		}
		go t.handshake(c)
	}
}

// handshake makes the handshake of a connection and hands it to Accept, or closes it.
func (t *TLSListener) handshake(c net.Conn) {
	secure := tls.Server(c, t.config)
	err := c.SetDeadline(time.Now().Add(handshakeTimeout))
	if err == nil {
		err = secure.Handshake()
	}
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		t.handshakeFailures.Add(1)
		if wrong, ok := errors.AsType[tls.RecordHeaderError](err); ok && wrong.Conn != nil && isHTTP(wrong.RecordHeader) {
			_, _ = wrong.Conn.Write([]byte(plainAnswer)) // The client may have disconnected.
		}
		_ = c.Close()
		return
	}
	select {
	case t.ready <- secure:
	case <-t.done:
		_ = c.Close()
	}
}

// isHTTP reports whether the first bytes of a connection are the begin of an HTTP request.
func isHTTP(head [5]byte) bool {
	switch string(head[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO":
		return true
	}
	return false
}

// Accept returns the next connection whose handshake is complete.
func (t *TLSListener) Accept() (net.Conn, error) {
	select {
	case c := <-t.ready:
		return c, nil
	case <-t.done:
		return nil, net.ErrClosed
	case <-t.ended:
		return nil, t.err
	}
}

// Close stops listening and closes the connections whose handshake is not complete. When it returns, no connection is
// accepted any more, so another server can use the port.
func (t *TLSListener) Close() error {
	t.closed.Do(func() { close(t.done) })
	err := t.Listener.Close()
	<-t.ended
	return err
}

// ConnOf returns the connection that a Listener accepted below c, or nil if there is none.
func ConnOf(c net.Conn) *Conn {
	for {
		switch of := c.(type) {
		case *Conn:
			return of
		case interface{ NetConn() net.Conn }: // *tls.Conn is one.
			c = of.NetConn()
		default:
			return nil
		}
	}
}
