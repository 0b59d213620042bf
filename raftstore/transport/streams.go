package transport

import (
	"net"
	"sync"

	"github.com/hashicorp/raft"
)

// Streams are the connections of one group: a raft.StreamLayer.
type Streams struct {
	mux      *Mux
	group    uint16
	address  Address
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

var _ raft.StreamLayer = (*Streams)(nil)

// Address is the address at which peers reach a node: host and port, or a name that cannot be dialled.
type Address string

// Network is part of net.Addr.
func (Address) Network() string { return "tcp" }

func (a Address) String() string { return string(a) }

// Streams returns the connections of a group; address is the address by which Raft knows this node. It is called once
// per group.
func (m *Mux) Streams(group uint16, address Address) *Streams {
	s := &Streams{mux: m, group: group, address: address, accepted: make(chan net.Conn, backlogMax), closed: make(chan struct{})}
	m.mu.Lock()
	m.streams[group] = s
	m.mu.Unlock()
	return s
}

// deliver hands an accepted connection to the group. It returns false when the streams are closed or the backlog is
// full.
func (s *Streams) deliver(c net.Conn) bool {
	select {
	case <-s.closed:
		return false
	default:
	}
	select {
	case s.accepted <- c:
		return true
	default:
		return false
	}
}

// Accept returns the next connection a peer opened to this group.
func (s *Streams) Accept() (net.Conn, error) {
	select {
	case c := <-s.accepted:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. OWNERSHIP: connections belong to the mux.
func (s *Streams) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// Addr is this node's address.
func (s *Streams) Addr() net.Addr { return s.address }
