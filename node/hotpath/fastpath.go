package hotpath

import (
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gavel-ads/gavel/node/ingress"
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
type fastPathConn struct {
	net.Conn
	s     *Server
	slot  *ingress.Conn      // The listener's record of this connection; nil without one.
	raw   syscall.RawConn    // Nil if the connection has no descriptor.
	try   func(uintptr) bool // The method tryRead. It is stored, because a method value allocates.
	state atomic.Uint32
	// unread is set when the connection is to be closed before the client has sent all of a request.
	unread atomic.Bool

	authenticated bool            // A request on this connection had a valid key.
	fallback      bool            // fasthttp reads the rest of the connection.
	framing       ingress.Checker // Checks the requests that fasthttp reads.
	first         [1]byte         // The first byte of a request on a connection without a descriptor.
	buf           *fastPathBuffer // The buffers of the requests that are not answered yet; nil while there are none.
	readCount     int             // The number of bytes that tryRead read.
	readErr       error           // The error of tryRead.
	readDeadline  time.Time       // The read deadline that is set.
	writeDeadline time.Time       // The write deadline that is set.
	last          time.Time       // While a request is answered: when it was complete; else: when the last was answered, or zero.
}

// The states of a fastPathConn. Only an idle one is closed when the server stops; a new one ends soon by its deadline.
const (
	stateNew      uint32 = iota // Nothing has been received yet.
	stateBusy                   // A request is being read or answered.
	stateIdle                   // All requests are answered.
	stateClosing                // The connection was idle and is closed because the server stops.
	stateFallback               // fasthttp reads and closes the connection.
)

// fastPathBuffer is the memory of the requests that a connection has sent and that are not answered yet. It is pooled.
type fastPathBuffer struct {
	in       []byte
	from, to int    // in[from:to] was read and is not served yet.
	out      []byte // Answers that are not written yet.
	date     []byte // The text of second for the Date field.
	second   int64
}

const (
	fastPathBufferSize = 64 << 10 // BOUND: in bytes; fasthttp reads a request that does not fit.
	flushSize          = 32 << 10 // BOUND: in bytes; more answers to pipelined requests are not collected for one write.
	// deadlineSlack is by how much a deadline may be later than asked for, so that it is set about once a second and not for
	// each request.
	deadlineSlack = time.Second
)

func newFastPathBuffer() any {
	return &fastPathBuffer{in: make([]byte, fastPathBufferSize), out: make([]byte, 0, 8<<10)}
}

// wrap returns the connection as a fastPathConn and adds it to the pool.
func (s *Server) wrap(c net.Conn) net.Conn {
	l := &fastPathConn{Conn: c, s: s, fallback: s.withoutFastPath}
	l.slot = ingress.ConnOf(c)
	if source, ok := c.(syscall.Conn); ok && !s.withoutFastPath {
		if raw, err := source.SyscallConn(); err == nil {
			l.raw, l.try = raw, l.tryRead
		}
	}
	if s.withoutFastPath {
		l.state.Store(stateFallback)
	}
	s.pool.add(l)
	return l
}

// Read answers plain requests until bytes come that are not one, and returns these and all later bytes.
func (c *fastPathConn) Read(p []byte) (int, error) {
	if !c.fallback {
		c.fallback = true
		err := c.serve()
		c.state.Store(stateFallback)
		if err == nil {
			err = c.SetReadDeadline(time.Now().Add(c.s.http.ReadTimeout))
		}
		if err != nil {
			c.release()
			return 0, err
		}
	}
	return c.s.readChecked(&c.framing, (*uncheckedReader)(c), p)
}

// serve answers plain requests. It returns nil when the next bytes are not one, and an error when the connection is to be
// closed without an answer: the client has disconnected or was idle for too long, or the server stops.
func (c *fastPathConn) serve() error {
	for {
		if c.await() != nil || !c.becomeBusy() {
			return io.EOF
		}
		for c.buf.from < c.buf.to {
			r, v := parsePlain(c.buf.in[c.buf.from:c.buf.to], c.s.http.ReadBufferSize, c.s.http.MaxRequestBodySize, fastPathBufferSize)
			if v == incomplete {
				var err error
				if r, v, err = c.readRest(&r); err != nil {
					return err
				}
			}
			if v == fallback {
				return c.flush()
			}
			if !c.slot.Begin() {
				return io.EOF
			}
			c.last = time.Now()
			keepOpen := c.answer(&r)
			if c.buf.from += r.size; !keepOpen || len(c.buf.out) > flushSize {
				if c.flush() != nil || !keepOpen {
					return io.EOF
				}
			}
		}
		if c.flush() != nil || !c.becomeIdle() {
			return io.EOF
		}
	}
}

// becomeBusy changes the state when the first bytes of a request have come. It reports whether the connection stays open.
func (c *fastPathConn) becomeBusy() bool {
	c.slot.Receive()
	return c.state.CompareAndSwap(stateIdle, stateBusy) || c.state.CompareAndSwap(stateNew, stateBusy)
}

// becomeIdle changes the state when all requests are answered. It reports whether the connection stays open.
func (c *fastPathConn) becomeIdle() bool {
	c.buf.from, c.buf.to = 0, 0
	c.state.Store(stateIdle)
	c.slot.End()
	return c.s.pool.phase.Load() < phaseStopping // stop sets the phase first and closes idle connections then, so none is missed.
}

// await waits for the first bytes of a request until the idle timeout.
func (c *fastPathConn) await() error {
	if !c.last.IsZero() && c.readDeadline.Sub(c.last) < c.s.http.IdleTimeout {
		if err := c.SetReadDeadline(c.last.Add(c.s.http.IdleTimeout + deadlineSlack)); err != nil {
			return err
		}
	}
	return c.read()
}

// readRest reads until the request at the begin of the buffer is complete, or is known not to be a plain one. It has the read
// timeout, which begins with the first bytes. begun is the part of the request that is already parsed. It returns fallback
// for a request whose answer does not depend on its body, as soon as the head is complete, and for every request while too
// many connections have a buffer for an incomplete one.
func (c *fastPathConn) readRest(begun *plainRequest) (r plainRequest, v parseResult, err error) {
	if err = c.flush(); err != nil {
		return r, fallback, err
	}
	if err = c.SetReadDeadline(time.Now().Add(c.s.http.ReadTimeout)); err != nil {
		return r, fallback, err
	}
	defer c.s.pool.incomplete.Add(-1)
	if c.s.pool.incomplete.Add(1) > c.s.incompleteMax {
		return r, fallback, nil
	}
	checked := c.authenticated || begun.size > smallBody
	if checked && !c.needsBody(begun) {
		return r, fallback, nil
	}
	l := c.buf
	l.to = copy(l.in, l.in[l.from:l.to])
	l.from = 0
	for v = incomplete; v == incomplete; {
		if err = c.read(); err != nil {
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // Connections return it as it is.
				return r, fallback, io.EOF
			}
			return r, fallback, nil // fasthttp reads the bytes that have come, and gets the error when it reads on.
		}
		r, v = parsePlain(l.in[:l.to], c.s.http.ReadBufferSize, c.s.http.MaxRequestBodySize, fastPathBufferSize)
		if v == incomplete && !checked && r.size > smallBody {
			if checked = true; !c.needsBody(&r) {
				return r, fallback, nil
			}
		}
	}
	return r, v, nil
}

// needsBody reports whether the answer to a request whose head is complete depends on its body. It does not check the key
// again on a connection that had a valid one: the next body has at most fastPathBufferSize bytes, and the core checks the
// key of every request anyway.
func (c *fastPathConn) needsBody(r *plainRequest) bool {
	if c.authenticated {
		return true
	}
	core := c.s.core
	sc := core.Acquire()
	defer sc.Discard()
	sc.Request = serving.Request{Now: time.Now(), Method: methodPost, Target: r.target, Authorization: r.authorization}
	_, needs := core.NeedsBody(sc)
	return needs
}

// read reads at least one byte into the buffer. It waits for the first byte of a request without a buffer.
func (c *fastPathConn) read() error {
	if c.raw == nil {
		return c.readWithoutDescriptor()
	}
	if err := c.raw.Read(c.try); err != nil {
		return err
	}
	if c.readErr != nil {
		return c.readErr
	}
	c.buf.to += c.readCount
	return nil
}

// readWithoutDescriptor is read for a connection with TLS. Without a buffer it reads a single byte: idle connections need
// no buffer, and the rest of the request is there when readRest asks for it.
func (c *fastPathConn) readWithoutDescriptor() error {
	if c.buf == nil {
		n, err := c.Conn.Read(c.first[:])
		if n == 0 {
			return err
		}
		c.acquire()
		c.buf.in[0], c.buf.to = c.first[0], 1
		return nil
	}
	n, err := c.Conn.Read(c.buf.in[c.buf.to:])
	c.buf.to += n
	if n > 0 {
		return nil
	}
	return err
}

// tryRead reads what has been received, without blocking, and reports whether the wait is over: something was received, or
// the read failed. Otherwise it is called again when the descriptor is readable.
func (c *fastPathConn) tryRead(fd uintptr) bool {
	c.acquire()
	c.readCount, c.readErr = readNow(fd, c.buf.in[c.buf.to:])
	if c.readErr == errWouldBlock { //nolint:errorlint // It is made in readNow.
		if c.buf.to == 0 {
			c.release()
		}
		return false
	}
	if c.readCount == 0 && c.readErr == nil {
		c.readErr = io.EOF
	}
	return true
}

// SetReadDeadline sets the read deadline. fasthttp calls it too.
func (c *fastPathConn) SetReadDeadline(t time.Time) error {
	c.readDeadline = t
	return c.Conn.SetReadDeadline(t)
}

// flush writes the collected answers.
func (c *fastPathConn) flush() error {
	if len(c.buf.out) == 0 {
		return nil
	}
	if timeout := c.s.http.WriteTimeout; c.writeDeadline.Sub(c.last) < timeout {
		c.writeDeadline = c.last.Add(timeout + deadlineSlack)
		if err := c.SetWriteDeadline(c.writeDeadline); err != nil {
			return err
		}
	}
	_, err := c.Conn.Write(c.buf.out)
	c.buf.out = c.buf.out[:0]
	return err
}

// Close ends the connection. fasthttp calls it when the connection has been served.
func (c *fastPathConn) Close() error {
	if c.unread.Swap(false) {
		c.discardRest()
	}
	c.s.pool.remove(c)
	return c.Conn.Close()
}

func (c *fastPathConn) acquire() {
	if c.buf == nil {
		c.buf = c.s.pool.buffers.Get().(*fastPathBuffer) //nolint:forcetypeassert // The pool's New.
	}
}

// outMax is the size in bytes above which an answer buffer is not pooled. BOUND: one request of many winners must not pin
// memory.
const outMax = 256 << 10

func (c *fastPathConn) release() {
	l := c.buf
	if l == nil {
		return
	}
	c.buf = nil
	if l.from, l.to, l.out = 0, 0, l.out[:0]; cap(l.out) <= outMax {
		c.s.pool.buffers.Put(l)
	}
}
