package raftstoretest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Network is a network in memory, made for synctest bubbles. Nodes are known by their addresses. Connections are like
// TCP: bytes arrive in order, after a random delay; a cut holds them back until it heals, a killed node resets them.
type Network struct {
	mu    sync.Mutex
	moved sync.Cond // Anything changed that a blocked Dial or Accept may wait for.
	rng   *rand.Rand
	slow  time.Duration
	lag   time.Duration
	cuts  map[[2]string]bool
	hosts map[string]*Host
	conns map[*memConn]struct{}
}

// NewNetwork returns a network whose delays come from seed.
func NewNetwork(seed uint64) *Network {
	n := &Network{
		rng: rand.New(rand.NewPCG(seed, 1)), cuts: map[[2]string]bool{}, hosts: map[string]*Host{}, conns: map[*memConn]struct{}{},
	}
	n.moved.L = &n.mu
	return n
}

// Cut holds back, or lets through again, what goes from one node to another; the other direction is not touched.
func (n *Network) Cut(from, to string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts[[2]string{from, to}] = cut
	n.wakeAll()
}

// Slow adds up to d to the delay of what is sent from now on.
func (n *Network) Slow(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slow = d
}

// Jitter gives every connection a delay of its own, up to d, in each direction: what is sent on one overtakes what was
// sent on another.
func (n *Network) Jitter(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lag = d
	for c := range n.conns {
		c.out.lag = n.draw(d)
	}
}

// draw returns a delay below d.
func (n *Network) draw(d time.Duration) time.Duration {
	return time.Duration(n.rng.Int64N(int64(d) + 1))
}

// Heal ends all cuts and delays.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cuts)
	n.slow = 0
	n.lag = 0
	for c := range n.conns {
		c.out.lag = 0
	}
	n.wakeAll()
}

// Host is one life of a node on the network.
type Host struct {
	net     *Network
	address string
	dead    bool
	backlog []*memConn
	open    bool
}

// Host begins a new life of the node at address. REQUIRES: the one before was killed.
func (n *Network) Host(address string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := &Host{net: n, address: address}
	n.hosts[address] = h
	return h
}

// Kill resets all connections of the node; what it sends afterwards reaches nobody.
func (h *Host) Kill() {
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	h.dead = true
	for c := range n.conns {
		if c.in.from == h || c.out.from == h {
			c.in.reset, c.out.reset = true, true
			c.in.moved.Broadcast()
			c.out.moved.Broadcast()
			delete(n.conns, c)
		}
	}
	n.moved.Broadcast()
}

// Vanish ends the node without a word, as a power failure does: its connections stay open at the other ends, and lead
// nowhere for ever.
func (h *Host) Vanish() {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.dead = true
	for c := range h.net.conns {
		c.in.moved.Broadcast()
		c.out.moved.Broadcast()
	}
	h.net.moved.Broadcast()
}

// Listen has the form of raftstore.Config.Listen.
func (h *Host) Listen(string) (net.Listener, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.open = true
	return memListener{h}, nil
}

// Dial has the form of raftstore.Config.Dial. Over a cut it waits like TCP does.
func (h *Host) Dial(ctx context.Context, address string) (net.Conn, error) {
	n := h.net
	stop := context.AfterFunc(ctx, n.wake)
	defer stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	for !h.dead && (n.cuts[[2]string{h.address, address}] || n.cuts[[2]string{address, h.address}]) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		n.moved.Wait()
	}
	peer := n.hosts[address]
	if h.dead || peer == nil || peer.dead || !peer.open {
		return nil, fmt.Errorf("dial %s: %w", address, syscall.ECONNREFUSED)
	}
	there, back := n.flow(h, peer), n.flow(peer, h)
	mine, theirs := &memConn{net: n, in: back, out: there}, &memConn{net: n, in: there, out: back}
	n.conns[mine], n.conns[theirs] = struct{}{}, struct{}{}
	peer.backlog = append(peer.backlog, theirs)
	n.moved.Broadcast()
	return mine, nil
}

func (n *Network) wake() {
	n.mu.Lock()
	n.moved.Broadcast()
	n.mu.Unlock()
}

// wakeAll wakes every blocked call. REQUIRES: the lock is held.
func (n *Network) wakeAll() {
	n.moved.Broadcast()
	for c := range n.conns {
		c.in.moved.Broadcast()
	}
}

func (n *Network) flow(from, to *Host) *flow {
	f := &flow{from: from, to: to, lag: n.draw(n.lag)}
	f.moved.L = &n.mu
	f.timer = time.AfterFunc(time.Hour, f.wake)
	f.timer.Stop()
	return f
}

type memListener struct{ host *Host }

func (l memListener) Accept() (net.Conn, error) {
	h := l.host
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	for len(h.backlog) == 0 && h.open {
		h.net.moved.Wait()
	}
	if !h.open {
		return nil, net.ErrClosed
	}
	c := h.backlog[0]
	h.backlog = h.backlog[1:]
	return c, nil
}

func (l memListener) Close() error {
	l.host.net.mu.Lock()
	l.host.open = false
	l.host.net.moved.Broadcast()
	l.host.net.mu.Unlock()
	return nil
}

func (l memListener) Addr() net.Addr { return memAddr(l.host.address) }

type memAddr string

func (memAddr) Network() string  { return "tcp" }
func (a memAddr) String() string { return string(a) }

// flowBytesMax bounds what one direction of a connection holds. BOUND: like the buffers of a socket.
const flowBytesMax = 1 << 20

// flow is one direction of a connection. All members are under the network's lock.
type flow struct {
	from, to *Host
	moved    sync.Cond     // Anything changed that a blocked Read or Write of this flow may wait for.
	timer    *time.Timer   // Wakes the reader when the oldest chunk arrives.
	lag      time.Duration // Of this connection, beside the delay of each write.
	chunks   []chunk
	bytes    int
	last     time.Time // When the newest chunk arrives.
	ended    bool      // By its sender, or nobody reads any more.
	reset    bool
}

func (f *flow) wake() {
	f.moved.L.Lock()
	f.moved.Broadcast()
	f.moved.L.Unlock()
}

type chunk struct {
	at   time.Time
	data []byte
}

type memConn struct {
	net       *Network
	in, out   *flow
	readUntil time.Time
	sendUntil time.Time
}

func (c *memConn) Read(b []byte) (int, error) {
	n, f := c.net, c.in
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		now := time.Now()
		switch {
		case f.reset || f.to.dead:
			return 0, syscall.ECONNRESET
		case !c.readUntil.IsZero() && !now.Before(c.readUntil):
			return 0, os.ErrDeadlineExceeded
		case n.cuts[[2]string{f.from.address, f.to.address}]:
		case len(f.chunks) > 0 && !f.chunks[0].at.After(now):
			head := &f.chunks[0]
			k := copy(b, head.data)
			head.data = head.data[k:]
			if len(head.data) == 0 {
				f.chunks = f.chunks[1:]
			}
			if f.bytes -= k; f.bytes+k > flowBytesMax {
				f.moved.Broadcast()
			}
			return k, nil
		case len(f.chunks) == 0 && f.ended:
			return 0, io.EOF
		case len(f.chunks) > 0:
			f.timer.Reset(f.chunks[0].at.Sub(now))
		}
		f.moved.Wait()
	}
}

func (c *memConn) Write(b []byte) (int, error) {
	n, f := c.net, c.out
	n.mu.Lock()
	defer n.mu.Unlock()
	for f.bytes > flowBytesMax && !f.reset && !f.ended && !f.from.dead && !f.to.dead && (c.sendUntil.IsZero() || time.Now().Before(c.sendUntil)) {
		f.moved.Wait()
	}
	now := time.Now()
	switch {
	case f.reset || f.ended || f.from.dead:
		return 0, syscall.EPIPE
	case !c.sendUntil.IsZero() && !now.Before(c.sendUntil):
		return 0, os.ErrDeadlineExceeded
	}
	if f.to.dead { // It vanished; nobody says so.
		return len(b), nil
	}
	at := now.Add(100*time.Microsecond + f.lag + time.Duration(n.rng.Int64N(int64(time.Millisecond+n.slow))))
	if at.Before(f.last) {
		at = f.last
	}
	f.last = at
	f.chunks = append(f.chunks, chunk{at, append([]byte(nil), b...)})
	f.bytes += len(b)
	if len(f.chunks) == 1 {
		f.timer.Reset(at.Sub(now))
	}
	return len(b), nil
}

func (c *memConn) Close() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	delete(c.net.conns, c)
	c.in.reset = true
	if !c.out.from.dead { // Else it vanished, and its end is not told.
		c.out.ended = true
	}
	c.in.moved.Broadcast()
	c.out.moved.Broadcast()
	return nil
}

func (c *memConn) LocalAddr() net.Addr  { return memAddr(c.in.to.address) }
func (c *memConn) RemoteAddr() net.Addr { return memAddr(c.in.from.address) }

func (c *memConn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t) // Fails as the other does.
	return c.SetWriteDeadline(t)
}

func (c *memConn) SetReadDeadline(t time.Time) error  { return c.until(c.in, &c.readUntil, t) }
func (c *memConn) SetWriteDeadline(t time.Time) error { return c.until(c.out, &c.sendUntil, t) }

func (c *memConn) until(f *flow, which *time.Time, t time.Time) error {
	c.net.mu.Lock()
	*which = t
	c.net.mu.Unlock()
	if !t.IsZero() {
		time.AfterFunc(time.Until(t), f.wake)
	}
	return nil
}
