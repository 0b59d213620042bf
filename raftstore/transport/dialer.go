package transport

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// dialer is the half of a stream layer that dials; inbound is the half that accepts.
//
// INVARIANT: every connection it opened is in conns until it is closed, and after Disconnect there are none.
type dialer struct {
	*Streams
	closed chan struct{}
	once   sync.Once
	ctx    context.Context // Ends with Disconnect.
	cancel context.CancelFunc

	mu    sync.Mutex
	conns map[*dialed]struct{}
}

func newDialer(streams *Streams) *dialer {
	d := &dialer{Streams: streams, closed: make(chan struct{}), conns: map[*dialed]struct{}{}}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// dialed is a connection to a peer; it leaves its dialer when it is closed.
type dialed struct {
	net.Conn
	dialer *dialer
}

// Close closes the connection.
func (c *dialed) Close() error {
	c.dialer.mu.Lock()
	delete(c.dialer.conns, c)
	c.dialer.mu.Unlock()
	return c.Conn.Close()
}

// Dial opens a connection to a peer's same group.
func (d *dialer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(d.ctx, timeout)
	defer cancel()
	raw, err := d.dialServer(ctx, address)
	if err != nil {
		return nil, err
	}
	c := &dialed{raw, d}
	d.mu.Lock()
	d.conns[c] = struct{}{}
	d.mu.Unlock()
	if d.ctx.Err() != nil { // Disconnect may have missed this connection.
		_ = c.Close() // Nobody has used it.
		return nil, net.ErrClosed
	}
	return c, nil
}

// Accept waits until Close.
func (d *dialer) Accept() (net.Conn, error) {
	<-d.closed
	return nil, net.ErrClosed
}

// Close ends Accept of the dialer and of its streams.
func (d *dialer) Close() error {
	d.once.Do(func() { close(d.closed) })
	return d.Streams.Close()
}

// Disconnect ends all calls to peers, those on their way and all later ones. Raft's shutdown waits for them, for as
// long as ioTimeout when a peer hangs.
func (s Safe) Disconnect() {
	d := s.dial
	d.cancel()
	d.mu.Lock()
	open := d.conns
	d.conns = map[*dialed]struct{}{}
	d.mu.Unlock()
	for c := range open {
		_ = c.Conn.Close() // Raft closes it once more.
	}
}
