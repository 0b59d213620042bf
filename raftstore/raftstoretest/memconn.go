package raftstoretest

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

type memListener struct{ host *Host }

func (l memListener) Accept() (net.Conn, error) {
	h := l.host
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	for len(h.backlog) == 0 && h.open {
		h.net.changed.Wait()
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
	l.host.net.changed.Broadcast()
	l.host.net.mu.Unlock()
	return nil
}

func (l memListener) Addr() net.Addr { return memAddr(l.host.address) }

type memAddr string

func (memAddr) Network() string { return "tcp" }

func (a memAddr) String() string { return string(a) }

// flowBytesMax bounds what one direction of a connection holds. BOUND: like the buffers of a socket.
const flowBytesMax = 1 << 20

// flow is one direction of a connection. LOCKS: all fields are under the network's lock.
type flow struct {
	from, to *Host
	changed  sync.Cond     // Signalled when anything changed that a blocked Read or Write of this flow may wait for.
	timer    *time.Timer   // Signals moved when the oldest chunk arrives.
	lag      time.Duration // Delay of this connection, in addition to that of each write.
	chunks   []chunk
	bytes    int
	last     time.Time // When the newest chunk arrives.
	ended    bool      // The sender closed it, or nobody reads any more.
	reset    bool
}

func (f *flow) wake() {
	f.changed.L.Lock()
	f.changed.Broadcast()
	f.changed.L.Unlock()
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
				f.changed.Broadcast()
			}
			return k, nil
		case len(f.chunks) == 0 && f.ended:
			return 0, io.EOF
		case len(f.chunks) > 0:
			f.timer.Reset(f.chunks[0].at.Sub(now))
		}
		f.changed.Wait()
	}
}

func (c *memConn) Write(b []byte) (int, error) {
	n, f := c.net, c.out
	n.mu.Lock()
	defer n.mu.Unlock()
	for f.bytes > flowBytesMax && !f.reset && !f.ended && !f.from.dead && !f.to.dead && (c.sendUntil.IsZero() || time.Now().Before(c.sendUntil)) {
		f.changed.Wait()
	}
	now := time.Now()
	switch {
	case f.reset || f.ended || f.from.dead:
		return 0, syscall.EPIPE
	case !c.sendUntil.IsZero() && !now.Before(c.sendUntil):
		return 0, os.ErrDeadlineExceeded
	}
	if f.to.dead { // Its power failed; the sender does not notice.
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
	if !c.out.from.dead { // After a power failure the other side does not notice the end.
		c.out.ended = true
	}
	c.in.changed.Broadcast()
	c.out.changed.Broadcast()
	return nil
}

func (c *memConn) LocalAddr() net.Addr { return memAddr(c.in.to.address) }

func (c *memConn) RemoteAddr() net.Addr { return memAddr(c.in.from.address) }

func (c *memConn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t) // Fails as the other does.
	return c.SetWriteDeadline(t)
}

func (c *memConn) SetReadDeadline(t time.Time) error { return c.setDeadline(c.in, &c.readUntil, t) }

func (c *memConn) SetWriteDeadline(t time.Time) error { return c.setDeadline(c.out, &c.sendUntil, t) }

func (c *memConn) setDeadline(f *flow, which *time.Time, t time.Time) error {
	c.net.mu.Lock()
	*which = t
	c.net.mu.Unlock()
	if !t.IsZero() {
		time.AfterFunc(time.Until(t), f.wake)
	}
	return nil
}
