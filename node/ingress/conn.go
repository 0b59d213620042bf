package ingress

import (
	"container/list"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
)

// Conn is an accepted connection. Its server reports its progress: Receive when bytes of a request have come, Begin before the
// request is served, Authenticated when it has a valid key, and End when it is answered. Each call costs about one atomic
// operation and allocates nothing. On a nil Conn, which stands for a connection that no Listener accepted, these four do
// nothing, and Begin returns true.
type Conn struct {
	net.Conn
	l             *Listener
	source        netip.Prefix
	state         atomic.Uint32
	keyed         atomic.Bool   // A request had a valid key. Written under Listener.mu.
	element       *list.Element // Its element in keyless or keyed; nil when it was removed. LOCKS: Listener.mu.
	sourceElement *list.Element // Its element in sources while it has no key. LOCKS: Listener.mu.
}

// The states of a connection, from the one that is closed first.
const (
	stateIdle      uint32 = iota // No request has begun.
	stateReceiving               // A request has begun and is not complete.
	stateServing                 // A request is being served.
	stateClosed                  // The connection was closed in favour of another one, or by its server.
)

// Receive reports that bytes of a request have come.
func (c *Conn) Receive() {
	if c != nil {
		c.state.CompareAndSwap(stateIdle, stateReceiving)
	}
}

// Begin reports that a request is about to be served. It returns false if the connection was closed in favour of another one.
func (c *Conn) Begin() bool {
	if c == nil {
		return true
	}
	for {
		switch s := c.state.Load(); {
		case s == stateClosed:
			return false
		case s == stateServing || c.state.CompareAndSwap(s, stateServing):
			return true
		}
	}
}

// End reports that the request is answered and the connection waits for its next one.
func (c *Conn) End() {
	if c == nil {
		return
	}
	for _, s := range [...]uint32{stateServing, stateReceiving} {
		if c.state.CompareAndSwap(s, stateIdle) {
			return
		}
	}
}

// Authenticated reports that a request on the connection had a valid key. From then on the connection counts as one with a key.
func (c *Conn) Authenticated() {
	if c == nil || c.keyed.Load() {
		return
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if c.element == nil || c.keyed.Load() {
		return
	}
	c.l.keyless.Remove(c.element)
	c.l.removeSource(c)
	c.keyed.Store(true)
	c.element = c.l.keyed.PushBack(c)
}

// Close closes the connection and removes it from its listener.
func (c *Conn) Close() error {
	c.state.Store(stateClosed)
	c.l.mu.Lock()
	c.l.remove(c)
	c.l.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite closes the sending side, if the connection supports that. net/http calls it before it stops reading.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// SyscallConn returns the connection's file descriptor, or errors.ErrUnsupported if it has none.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if source, ok := c.Conn.(syscall.Conn); ok {
		return source.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
