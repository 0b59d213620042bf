package ingress

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// queue is a listener whose connections and errors come from the test.
type queue struct {
	net.Listener
	results chan any
	once    sync.Once
}

func newQueue(results ...any) *queue {
	q := &queue{results: make(chan any, 100)}
	for _, r := range results {
		q.results <- r
	}
	return q
}

func (q *queue) Accept() (net.Conn, error) {
	switch r := (<-q.results).(type) {
	case error:
		return nil, r
	case net.Conn:
		return r, nil
	default:
		return nil, net.ErrClosed
	}
}

func (q *queue) Close() error {
	q.once.Do(func() { close(q.results) })
	return nil
}

// from is a connection from an address. It counts how often it was closed.
type from struct {
	net.Conn
	address string
	closes  atomic.Int32
}

func (c *from) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(c.address), Port: 1}
}

func (c *from) closed() int32 { return c.closes.Load() }

func (c *from) Close() error {
	c.closes.Add(1)
	return nil
}

func accept(t *testing.T, l *Listener, q *queue, c *from) *Conn {
	t.Helper()
	q.results <- c
	got, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return got.(*Conn)
}

// TestAcceptGoesOn checks that Accept continues after lack of files or memory and after aborted connections, and returns other
// errors.
func TestAcceptGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		var results []any
		for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
			results = append(results, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", errno)})
		}
		l := NewListener(newQueue(append(results, &from{address: "10.0.0.1"}, broken)...), ListenerOptions{Max: 1})
		if _, err := l.Accept(); err != nil {
			t.Fatal(err)
		}
		if s := l.Stats(); s.AcceptFailures != 5 || s.Open != 1 {
			t.Errorf("%+v", s)
		}
		if _, err := l.Accept(); !errors.Is(err, broken) {
			t.Errorf("%v, want the error of the listener", err)
		}
	})
}

// TestAcceptPauseEnds checks that Accept returns when the listener is closed during the pause after a failure, and that the
// pause is bounded.
func TestAcceptPauseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var results []any
		for range 50 {
			results = append(results, syscall.EMFILE)
		}
		began := time.Now()
		l := NewListener(newQueue(append(results, &from{address: "10.0.0.1"})...), ListenerOptions{Max: 1})
		if _, err := l.Accept(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 50*acceptPauseMax {
			t.Errorf("50 failures took %v", took)
		}
		l.Listener.(*queue).results <- syscall.EMFILE
		done := make(chan error)
		go func() {
			_, err := l.Accept()
			done <- err
		}()
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

// TestExhaustionClosesIdleConnections checks that the oldest connection without a key is closed when there is no file
// descriptor for a new one.
func TestExhaustionClosesIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		l := NewListener(q, ListenerOptions{Max: 10})
		keyed, silent := &from{address: "10.0.0.1"}, &from{address: "10.0.0.2"}
		accept(t, l, q, keyed).Authenticated()
		accept(t, l, q, silent)
		q.results <- syscall.EMFILE
		accept(t, l, q, &from{address: "10.0.0.3"})
		if silent.closed() == 0 || keyed.closed() != 0 {
			t.Errorf("closed: silent %d, with a key %d", silent.closed(), keyed.closed())
		}
	})
}

// TestOrderOfReplacement checks the order in which connections are closed in favour of new ones.
func TestOrderOfReplacement(t *testing.T) {
	q := newQueue()
	var refused int
	l := NewListener(q, ListenerOptions{Max: 4, Refuse: func(net.Conn) { refused++ }})
	raw := map[string]*from{}
	open := func(name string) *Conn {
		raw[name] = &from{address: fmt.Sprintf("10.0.0.%d", len(raw)+1)}
		return accept(t, l, q, raw[name])
	}
	want := func(when string, closed ...string) {
		t.Helper()
		for name, c := range raw {
			is := false
			for _, other := range closed {
				is = is || other == name
			}
			if (c.closed() > 0) != is {
				t.Errorf("%s: %s closed %d times, want %v", when, name, c.closed(), is)
			}
		}
	}
	served, idle, silent, half := open("served"), open("idle"), open("silent"), open("half")
	served.Receive()
	served.Begin()
	idle.Authenticated()
	half.Receive()
	want("at the bound")
	open("fifth")
	want("the oldest without a key", "silent")
	open("sixth")
	want("one whose head is not complete", "silent", "half")
	if half.Begin() || silent.Begin() {
		t.Error("a connection that was closed begins to be served")
	}
	open("seventh").Begin()
	want("the next oldest", "silent", "half", "fifth")
	open("eighth").Begin()
	want("the last without a key", "silent", "half", "fifth", "sixth")
	open("ninth").Begin()
	want("one with a key that waits", "silent", "half", "fifth", "sixth", "idle")

	last := &from{address: "10.0.0.99"}
	q.results <- last
	_ = q.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) || refused != 1 || last.closed() != 1 {
		t.Errorf("all are served: %v, %d refused, %d closed", err, refused, last.closed())
	}
	want("all are served", "silent", "half", "fifth", "sixth", "idle")
	if s := l.Stats(); s.Open != 4 || s.Refused != 1 || s.ClosedKeyless != 4 || s.ClosedKeyed != 1 {
		t.Errorf("%+v", s)
	}
}

// TestKeyedConnectionsKeepTheirRequest checks that a connection with a key whose next request has begun is not closed, while
// an idle one is.
func TestKeyedConnectionsKeepTheirRequest(t *testing.T) {
	q := newQueue()
	l := NewListener(q, ListenerOptions{Max: 2})
	a, b := &from{address: "10.0.0.1"}, &from{address: "10.0.0.2"}
	first, second := accept(t, l, q, a), accept(t, l, q, b)
	for _, c := range []*Conn{first, second} {
		c.Receive()
		c.Begin()
		c.Authenticated()
		c.End()
	}
	first.Receive()
	accept(t, l, q, &from{address: "10.0.0.3"})
	if a.closed() != 0 || b.closed() == 0 {
		t.Errorf("closed: receiving %d, waiting %d", a.closed(), b.closed())
	}
}

// TestShareOfAnAddress checks that a new connection from an address with more than its share of connections without a key
// replaces one of the same address.
func TestShareOfAnAddress(t *testing.T) {
	q := newQueue()
	l := NewListener(q, ListenerOptions{Max: 8})
	other := &from{address: "10.0.0.1"}
	accept(t, l, q, other)
	for range 100 {
		accept(t, l, q, &from{address: "10.0.0.2"})
	}
	if other.closed() != 0 {
		t.Error("connections of one address closed that of another")
	}
	if s := l.Stats(); s.Open != 8 || s.ClosedKeyless != 93 || s.Refused != 0 {
		t.Errorf("%+v", s)
	}
	for range 100 {
		accept(t, l, q, &from{address: "2001:db8::1"})
	}
	if n := len(l.sources); n > 8 {
		t.Errorf("%d sources are stored", n)
	}
}

func TestSources(t *testing.T) {
	for address, want := range map[string]string{
		"10.0.0.1": "10.0.0.1/32", "::ffff:10.0.0.1": "10.0.0.1/32", "2001:db8::1:2:3:4": "2001:db8::/64",
	} {
		if got := sourceOf(&net.TCPAddr{IP: net.ParseIP(address)}).String(); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// TestReportsDoNotAllocate checks that the reports of a server allocate nothing, also on a nil Conn.
func TestReportsDoNotAllocate(t *testing.T) {
	q := newQueue()
	c := accept(t, NewListener(q, ListenerOptions{Max: 1}), q, &from{address: "10.0.0.1"})
	for _, c := range []*Conn{c, nil} {
		if n := testing.AllocsPerRun(100, func() {
			c.Receive()
			c.Begin()
			c.Authenticated()
			c.End()
		}); n > 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// TestConnectionsAreRemovedOnce checks that a connection is removed from its listener exactly once, when the listener and the
// server close it at any time.
func TestConnectionsAreRemovedOnce(t *testing.T) {
	q := newQueue()
	l := NewListener(q, ListenerOptions{Max: 10})
	go func() {
		for range 500 {
			q.results <- &from{address: "10.0.0.2"}
		}
		_ = q.Close()
	}()
	var all sync.WaitGroup
	for {
		accepted, err := l.Accept()
		if err != nil {
			break // The queue is empty.
		}
		c := accepted.(*Conn)
		all.Go(func() {
			c.Receive()
			if c.Begin() {
				c.Authenticated()
				c.End()
			}
			_ = c.Close()
			_ = c.Close()
		})
	}
	all.Wait()
	if s := l.Stats(); s.Open != 0 || l.keyed.Len() != 0 || l.keyless.Len() != 0 || len(l.sources) != 0 {
		t.Errorf("%+v", s)
	}
}
