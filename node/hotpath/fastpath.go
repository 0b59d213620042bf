package hotpath

import (
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gavel-ads/gavel/node/connections"
	"github.com/gavel-ads/gavel/node/httphead"
	"github.com/gavel-ads/gavel/node/serving"
)

// fastPathConn is a connection that answers plain requests (parsePlain) itself and leaves everything else to fasthttp, which
// owns it. When fasthttp reads from the connection, Read first serves plain requests until bytes come that are not one. From
// these bytes on fasthttp reads the connection until it ends.
//
// The usual request therefore costs one pass over its head, and a buffer that the connection takes from a pool when bytes
// have arrived and returns when they are answered. The same few buffers serve all connections and stay in the cache.
// Requests of any other form are read by a complete HTTP server. Both use the same core.
//
// INVARIANT: until Read returns its first bytes, fasthttp regards the connection as one whose first request is being read
// and does nothing with it. So fastPathConn itself sets the deadline of an idle connection and closes it when the server
// stops.
// OWNERSHIP: everything but state and unread belongs to the goroutine that reads.
type laneConn struct {
	net.Conn
	s     *Server
	slot  *connections.Conn  // The listener's record of this connection; nil without one.
	raw   syscall.RawConn    // Nil if the connection has no descriptor.
	try   func(uintptr) bool // The method tryRead. It is stored, because a method value allocates.
	state atomic.Uint32
	// unread is set when the connection is to be closed before the client has sent all of a request.
	unread atomic.Bool

	keyed    bool             // A request on this connection had a valid key.
	foreign  bool             // fasthttp reads the rest of the connection.
	framing  httphead.Checker // Checks the requests that fasthttp reads.
	l        *lane            // The buffers of the requests that are not answered yet; nil while there are none.
	got      int              // The number of bytes that tryRead read.
	failed   error            // The error of tryRead.
	readable time.Time        // The read deadline that is set.
	writable time.Time        // The write deadline that is set.
	last     time.Time        // The time at which the last request was complete; zero before the first.
}

// The states of a fastPathConn. Only an idle one is closed when the server stops; a new one ends soon by its deadline.
const (
	laneFresh   uint32 = iota // Nothing has been received yet.
	laneBusy                  // A request is being read or answered.
	laneWaits                 // All requests are answered.
	laneEnds                  // The connection was idle and is closed because the server stops.
	laneForeign               // fasthttp reads and closes the connection.
)

// fastPathBuffer is the memory of the requests that a connection has sent and that are not answered yet. It is pooled.
type lane struct {
	in       []byte
	from, to int    // in[from:to] was read and is not served yet.
	out      []byte // Answers that are not written yet.
	date     []byte // The text of second for the Date field.
	second   int64
}

const (
	laneBuffer = 64 << 10 // BOUND: in bytes; fasthttp reads a request that does not fit.
	laneFlush  = 32 << 10 // BOUND: in bytes; more answers to pipelined requests are not collected for one write.
	// deadlineSlack is by how much a deadline may be later than asked for, so that it is set about once a second and not for
	// each request.
	laneSlack = time.Second
)

func newLane() any { return &lane{in: make([]byte, laneBuffer), out: make([]byte, 0, 8<<10)} }

// wrap returns the connection as a fastPathConn and adds it to the pool.
func (s *Server) lane(c net.Conn) net.Conn {
	l := &laneConn{Conn: c, s: s, foreign: s.withoutLane}
	l.slot, _ = c.(*connections.Conn)
	if source, ok := c.(syscall.Conn); ok && !s.withoutLane {
		if raw, err := source.SyscallConn(); err == nil {
			l.raw, l.try = raw, l.tryRead
		}
	}
	if s.withoutLane {
		l.state.Store(laneForeign)
	}
	s.lanes.enter(l)
	return l
}

// Read answers plain requests until bytes come that are not one, and returns these and all later bytes.
func (c *laneConn) Read(p []byte) (int, error) {
	if !c.foreign {
		c.foreign = true
		err := c.serve()
		c.state.Store(laneForeign)
		if err == nil {
			err = c.SetReadDeadline(time.Now().Add(c.s.http.ReadTimeout))
		}
		if err != nil {
			c.release()
			return 0, err
		}
	}
	return c.s.readChecked(&c.framing, (*unchecked)(c), p)
}

// serve answers plain requests. It returns nil when the next bytes are not one, and an error when the connection is to be
// closed without an answer: the client has disconnected or was idle for too long, or the server stops.
func (c *laneConn) serve() error {
	for {
		if c.await() != nil || !c.begin() {
			return io.EOF
		}
		for c.l.from < c.l.to {
			r, v := readPlain(c.l.in[c.l.from:c.l.to], c.s.http.ReadBufferSize, c.s.http.MaxRequestBodySize, laneBuffer)
			if v == partial {
				var err error
				if r, v, err = c.complete(&r); err != nil {
					return err
				}
			}
			if v == foreign {
				return c.flush()
			}
			if !c.slot.Begin() {
				return io.EOF
			}
			c.last = time.Now()
			keepOpen := c.answer(&r)
			if c.l.from += r.size; !keepOpen || len(c.l.out) > laneFlush {
				if c.flush() != nil || !keepOpen {
					return io.EOF
				}
			}
		}
		if c.flush() != nil || !c.pause() {
			return io.EOF
		}
	}
}

// becomeBusy changes the state when the first bytes of a request have come. It reports whether the connection stays open.
func (c *laneConn) begin() bool {
	c.slot.Receive()
	return c.state.CompareAndSwap(laneWaits, laneBusy) || c.state.CompareAndSwap(laneFresh, laneBusy)
}

// becomeIdle changes the state when all requests are answered. It reports whether the connection stays open.
func (c *laneConn) pause() bool {
	c.l.from, c.l.to = 0, 0
	c.state.Store(laneWaits)
	c.slot.End()
	return !c.s.lanes.stopping.Load() // stop sets stopping first and closes idle connections then, so none is missed.
}

// await waits for the first bytes of a request until the idle timeout.
func (c *laneConn) await() error {
	if !c.last.IsZero() && c.readable.Sub(c.last) < c.s.http.IdleTimeout {
		if err := c.SetReadDeadline(c.last.Add(c.s.http.IdleTimeout + laneSlack)); err != nil {
			return err
		}
	}
	return c.read()
}

// readRest reads until the request at the begin of the buffer is complete, or is known not to be a plain one. It has the read
// timeout, which begins with the first bytes. begun is the part of the request that is already parsed. It returns fallback
// for a request whose answer does not depend on its body, as soon as the head is complete, and for every request while too
// many connections have a buffer for an incomplete one.
func (c *laneConn) complete(begun *plain) (r plain, v verdict, err error) {
	if err = c.flush(); err != nil {
		return r, foreign, err
	}
	if err = c.SetReadDeadline(time.Now().Add(c.s.http.ReadTimeout)); err != nil {
		return r, foreign, err
	}
	defer c.s.lanes.partial.Add(-1)
	if c.s.lanes.partial.Add(1) > c.s.partialMax {
		return r, foreign, nil
	}
	checked := c.keyed || begun.size > smallBody
	if checked && !c.wants(begun) {
		return r, foreign, nil
	}
	l := c.l
	l.to = copy(l.in, l.in[l.from:l.to])
	l.from = 0
	for v = partial; v == partial; {
		if err = c.read(); err != nil {
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // Connections return it as it is.
				return r, foreign, io.EOF
			}
			return r, foreign, nil // fasthttp reads the bytes that have come, and gets the error when it reads on.
		}
		r, v = readPlain(l.in[:l.to], c.s.http.ReadBufferSize, c.s.http.MaxRequestBodySize, laneBuffer)
		if v == partial && !checked && r.size > smallBody {
			if checked = true; !c.wants(&r) {
				return r, foreign, nil
			}
		}
	}
	return r, v, nil
}

// needsBody reports whether the answer to a request whose head is complete depends on its body. It does not check the key
// again on a connection that had a valid one: the next body has at most fastPathBufferSize bytes, and the core checks the
// key of every request anyway.
func (c *laneConn) wants(r *plain) bool {
	if c.keyed {
		return true
	}
	core := c.s.core
	sc := core.Acquire()
	defer sc.Discard()
	sc.Request = serving.Request{Now: time.Now(), Method: methodPost, Target: r.target, Authorization: r.authorization}
	_, needs := core.NeedsBody(sc)
	return needs
}

// read reads at least one byte into the buffer. If the connection has a descriptor, it waits for the byte without a buffer.
func (c *laneConn) read() error {
	if c.raw == nil {
		c.acquire()
		n, err := c.Conn.Read(c.l.in[c.l.to:])
		c.l.to += n
		if n > 0 {
			return nil
		}
		return err
	}
	if err := c.raw.Read(c.try); err != nil {
		return err
	}
	if c.failed != nil {
		return c.failed
	}
	c.l.to += c.got
	return nil
}

// tryRead reads what has been received, without blocking, and reports whether the wait is over: something was received, or
// the read failed. Otherwise it is called again when the descriptor is readable.
func (c *laneConn) tryRead(fd uintptr) bool {
	c.acquire()
	c.got, c.failed = readNow(fd, c.l.in[c.l.to:])
	if c.failed == errWouldBlock { //nolint:errorlint // It is made in readNow.
		if c.l.to == 0 {
			c.release()
		}
		return false
	}
	if c.got == 0 && c.failed == nil {
		c.failed = io.EOF
	}
	return true
}

// SetReadDeadline sets the read deadline. fasthttp calls it too.
func (c *laneConn) SetReadDeadline(t time.Time) error {
	c.readable = t
	return c.Conn.SetReadDeadline(t)
}

// flush writes the collected answers.
func (c *laneConn) flush() error {
	if len(c.l.out) == 0 {
		return nil
	}
	if timeout := c.s.http.WriteTimeout; c.writable.Sub(c.last) < timeout {
		c.writable = c.last.Add(timeout + laneSlack)
		if err := c.SetWriteDeadline(c.writable); err != nil {
			return err
		}
	}
	_, err := c.Conn.Write(c.l.out)
	c.l.out = c.l.out[:0]
	return err
}

// Close ends the connection. fasthttp calls it when the connection has been served.
func (c *laneConn) Close() error {
	if c.unread.Swap(false) {
		c.discardRest()
	}
	c.s.lanes.leave(c)
	return c.Conn.Close()
}

func (c *laneConn) acquire() {
	if c.l == nil {
		c.l = c.s.lanes.pool.Get().(*lane) //nolint:forcetypeassert // The pool's New.
	}
}

// outMax is the size in bytes above which an answer buffer is not pooled. BOUND: one request of many winners must not pin
// memory.
const outMax = 256 << 10

func (c *laneConn) release() {
	l := c.l
	if l == nil {
		return
	}
	c.l = nil
	if l.from, l.to, l.out = 0, 0, l.out[:0]; cap(l.out) <= outMax {
		c.s.lanes.pool.Put(l)
	}
}
