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

// laneConn is a connection that answers plain requests (readPlain) by itself and leaves everything else to fasthttp, whose
// connection it is: fasthttp asks it for bytes, and it serves requests until some come that are not plain. From these bytes on
// the connection is fasthttp's to its end.
//
// So the usual request costs one pass over its head, and one buffer that is taken when bytes are there and given back when
// they are answered: it stays in the cache, however many connections there are. What is rare or doubtful is read by a
// complete HTTP server. Both ask the same core.
//
// INVARIANT: to fasthttp this is a connection whose first request is being read, until Read returns its first bytes. It does nothing
// to such a connection, so what an idle one needs (its deadline, its end when the server stops) is seen to here.
// OWNERSHIP: everything but state belongs to the goroutine that reads.
type laneConn struct {
	net.Conn
	s     *Server
	slot  *connections.Conn  // Its place among the connections of the listener; nil without one.
	raw   syscall.RawConn    // Nil where the connection has no descriptor.
	try   func(uintptr) bool // tryRead, bound once, because a method value allocates.
	state atomic.Uint32
	// unread is set when the connection is to be closed before its other side has sent all of a request.
	unread atomic.Bool

	keyed    bool             // A request on it had a valid key.
	foreign  bool             // The rest of the connection is fasthttp's.
	framing  httphead.Checker // Of the requests that fasthttp reads.
	l        *lane            // What the requests under way need; nil while there are none.
	got      int              // What tryRead read,
	failed   error            // or why it could not.
	readable time.Time        // The deadlines of reads
	writable time.Time        // and of writes as they are set.
	last     time.Time        // When the last request was complete; zero before the first.
}

// What a laneConn does. Only one that waits is closed when the server stops; one that has not sent anything yet has little time
// for that anyway.
const (
	laneFresh uint32 = iota // Nothing has come yet.
	laneBusy                // A request is being read or answered.
	laneWaits               // For the next one.
	laneEnds
	laneForeign // fasthttp closes it.
)

// lane is the memory of the requests that a connection has sent and that are not answered yet. It is pooled.
type lane struct {
	in       []byte
	from, to int // What was read and is not served yet.
	out      []byte
	date     []byte // Of the second below.
	second   int64
}

const (
	laneBuffer = 64 << 10 // BOUND: a request that does not fit is fasthttp's.
	laneFlush  = 32 << 10 // BOUND: answers gathered for one write while further requests are here already.
	// laneSlack is how much later than asked for a deadline may be, so that it is moved once in a second and not for each request.
	laneSlack = time.Second
)

func newLane() any { return &lane{in: make([]byte, laneBuffer), out: make([]byte, 0, 8<<10)} }

// lane makes a connection answer plain requests.
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

// Read answers plain requests and returns bytes from the first on that is not.
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

// serve answers plain requests. It returns nil when the next bytes are not one, and an error when the connection should be closed
// without a word: its other side has gone, or was silent for too long, or the server stops.
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
			goesOn := c.answer(&r)
			if c.l.from += r.size; !goesOn || len(c.l.out) > laneFlush {
				if c.flush() != nil || !goesOn {
					return io.EOF
				}
			}
		}
		if c.flush() != nil || !c.pause() {
			return io.EOF
		}
	}
}

// begin and pause move between waiting and working. They report whether the connection goes on.
func (c *laneConn) begin() bool {
	c.slot.Receive()
	return c.state.CompareAndSwap(laneWaits, laneBusy) || c.state.CompareAndSwap(laneFresh, laneBusy)
}

func (c *laneConn) pause() bool {
	c.l.from, c.l.to = 0, 0
	c.state.Store(laneWaits)
	c.slot.End()
	return !c.s.lanes.stopping.Load() // Whoever stops the server closes those that wait after he has said so.
}

// await waits for the first bytes of a request, as long as a connection may be idle.
func (c *laneConn) await() error {
	if !c.last.IsZero() && c.readable.Sub(c.last) < c.s.http.IdleTimeout {
		if err := c.SetReadDeadline(c.last.Add(c.s.http.IdleTimeout + laneSlack)); err != nil {
			return err
		}
	}
	return c.read()
}

// complete reads on until the request that the buffer begins with is whole, or cannot be a plain one. It may take as long as any
// request, from its first byte. begun is what is known of the request. One that is refused whatever its body says is fasthttp's as
// soon as its head is there, and so is every one while too many buffers are held by requests that are not complete.
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
			return r, foreign, nil // What came is fasthttp's, and so is the error when it reads on.
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

// wants reports whether the body of a request, whose head is complete, decides how it is answered. A connection on which a key was
// valid before is not asked for it twice: its next body is at most laneBuffer, and then the request is refused all the same.
func (c *laneConn) wants(r *plain) bool {
	if c.keyed {
		return true
	}
	core := c.s.core
	sc := core.Acquire()
	defer sc.Discard()
	sc.Request = serving.Request{Now: time.Now(), Method: methodPost, Target: r.target, Authorization: r.authorization}
	_, wants := core.NeedsBody(sc)
	return wants
}

// read adds at least one byte to what the lane holds. While there is none it holds no memory, where the system allows.
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

// tryRead reads what is there and reports whether there was anything. It is called again when there is.
func (c *laneConn) tryRead(fd uintptr) bool {
	c.acquire()
	c.got, c.failed = readNow(fd, c.l.in[c.l.to:])
	if c.failed == errNothing { //nolint:errorlint // It is made in readNow.
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

// SetReadDeadline is used by fasthttp too.
func (c *laneConn) SetReadDeadline(t time.Time) error {
	c.readable = t
	return c.Conn.SetReadDeadline(t)
}

// flush sends the answers.
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

// Close ends the connection. fasthttp calls it when it is done with it.
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

// outMax is the memory above which the room for answers is not kept. BOUND: one request of many winners must not pin it.
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
