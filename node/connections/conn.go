package connections

import (
	"container/list"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
)

// Conn is an accepted connection. Its server reports what it does: Receive when bytes of a request came, Begin before the request
// is served, Authenticated when it has a valid key, and End when it is answered. They take an atomic operation each and allocate
// nothing. A nil Conn takes every call and does nothing, for connections that no Listener accepted.
type Conn struct {
	net.Conn
	l        *Listener
	source   netip.Prefix
	state    atomic.Uint32
	keyed    atomic.Bool   // Written under Listener.mu.
	place    *list.Element // In keyless or keyed; nil once it is in neither. LOCKS: Listener.mu.
	bySource *list.Element // In sources, while it has no key. LOCKS: Listener.mu.
}

// The states of a connection, in the order in which they are worth keeping.
const (
	waiting   uint32 = iota // For the first bytes of a request.
	receiving               // A request that is not complete.
	serving
	gone // Closed for another connection, or by its server.
)

// Receive reports that bytes of a request came.
func (c *Conn) Receive() {
	if c != nil {
		c.state.CompareAndSwap(waiting, receiving)
	}
}

// Begin reports that a request is about to be served. It returns false when the connection was closed for another one.
func (c *Conn) Begin() bool {
	if c == nil {
		return true
	}
	for {
		switch s := c.state.Load(); {
		case s == gone:
			return false
		case s == serving || c.state.CompareAndSwap(s, serving):
			return true
		}
	}
}

// End reports that what was served is answered, and that the connection waits for its next request.
func (c *Conn) End() {
	if c == nil {
		return
	}
	for _, s := range [...]uint32{serving, receiving} {
		if c.state.CompareAndSwap(s, waiting) {
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
	if c.place == nil || c.keyed.Load() {
		return
	}
	c.l.keyless.Remove(c.place)
	c.l.removeSource(c)
	c.keyed.Store(true)
	c.place = c.l.keyed.PushBack(c)
}

// Close closes the connection and frees its place.
func (c *Conn) Close() error {
	c.state.Store(gone)
	c.l.mu.Lock()
	c.l.remove(c)
	c.l.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends the sending side, as net/http does before it stops reading.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// SyscallConn gives access to the descriptor, where there is one.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if source, ok := c.Conn.(syscall.Conn); ok {
		return source.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
