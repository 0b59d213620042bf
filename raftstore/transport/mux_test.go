package transport

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// pipes is a network in memory that works inside a bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return Address("pipe") }

func (p *pipes) dial(context.Context, string) (net.Conn, error) {
	here, there := net.Pipe()
	p.conns <- there
	return here, nil
}

const cluster = 0xFEED

func startMux(p *pipes) (*Mux, *Streams) {
	m := NewMux(Config{Listener: p, Dial: p.dial, Cluster: cluster, Logger: slog.New(slog.DiscardHandler)})
	s := m.Streams(3, "here")
	m.Start()
	return m, s
}

func TestStreamsReachTheirGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := startMux(newPipes())
		out, err := s.Dial("anyone", time.Second)
		if err != nil {
			t.Fatal(err)
		}
		in, err := s.Accept()
		if err != nil {
			t.Fatal(err)
		}
		go out.Write([]byte("hello"))
		b := make([]byte, 5)
		if _, err := io.ReadFull(in, b); err != nil || string(b) != "hello" {
			t.Errorf("%q, %v", b, err)
		}
		if m.Conns() != 1 {
			t.Errorf("%d connections", m.Conns())
		}
		s.Close()
		if _, err := s.Accept(); err == nil {
			t.Error("closed streams accept")
		}
		m.Close()
		if _, err := out.Read(b); err == nil {
			t.Error("the connection outlives the mux")
		}
		if m.Conns() != 0 {
			t.Errorf("%d connections left", m.Conns())
		}
	})
}

// A connection that does not begin with a valid header is closed and counted, and holds nothing afterwards.
func TestInvalidHeadersAreRefused(t *testing.T) {
	good := header{kind: Raft, group: 3, cluster: cluster}.append(nil)
	edit := func(i int, b byte) []byte {
		h := append([]byte(nil), good...)
		h[i] = b
		return h
	}
	random := make([]byte, 1024)
	rand.Read(random)
	random[0] = 'X'
	cases := []struct {
		name   string
		send   []byte
		reason func(*Rejects) uint64
	}{
		{"random bytes", random, func(r *Rejects) uint64 { return r.Header.Load() }},
		{"an HTTP request", []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), func(r *Rejects) uint64 { return r.Header.Load() }},
		{"half a header, then silence", good[:9], func(r *Rejects) uint64 { return r.Header.Load() }},
		{"nothing", nil, func(r *Rejects) uint64 { return r.Header.Load() }},
		{"a later version", edit(2, 2), func(r *Rejects) uint64 { return r.Header.Load() }},
		{"unknown flags", edit(6, 1), func(r *Rejects) uint64 { return r.Header.Load() }},
		{"a target that does not come", edit(7, 1), func(r *Rejects) uint64 { return r.Header.Load() }},
		{"another cluster", edit(15, 0), func(r *Rejects) uint64 { return r.Cluster.Load() }},
		{"unknown group", edit(5, 4), func(r *Rejects) uint64 { return r.Stream.Load() }},
		{"unknown kind", edit(3, 9), func(r *Rejects) uint64 { return r.Stream.Load() }},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				m, _ := startMux(p)
				c, _ := p.dial(t.Context(), "")
				go c.Write(tc.send)
				began := time.Now()
				if _, err := c.Read(make([]byte, 1)); err == nil {
					t.Error("got an answer")
				}
				if waited := time.Since(began); waited > openingTimeout {
					t.Errorf("closed after %s", waited)
				}
				synctest.Wait()
				if got := tc.reason(m.Rejects()); got != 1 || m.Conns() != 0 {
					t.Errorf("counted %d, %d connections left", got, m.Conns())
				}
				m.Close()
			})
		})
	}
}

func TestOpeningConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		m, _ := startMux(p)
		for range silentMax + 10 {
			p.dial(t.Context(), "")
			synctest.Wait()
		}
		if m.Conns() != silentMax || m.Rejects().Displaced.Load() != 10 {
			t.Errorf("%d open, %d displaced", m.Conns(), m.Rejects().Displaced.Load())
		}
		time.Sleep(openingTimeout + time.Second)
		if m.Conns() != 0 || m.Rejects().Header.Load() != silentMax {
			t.Errorf("%d left after the deadline, %d refused", m.Conns(), m.Rejects().Header.Load())
		}
		m.Close()
	})
}

// A group that does not accept its connections loses further ones; the other groups and the mux go on.
func TestBacklogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := startMux(newPipes())
		for range backlogMax + 5 {
			s.Dial("", time.Second) // The dialling side may notice a refusal at once, or later.
			synctest.Wait()
		}
		if got := m.Rejects().Stream.Load(); got != 5 {
			t.Errorf("%d refused, want 5", got)
		}
		m.Close()
	})
}

func TestGoldenHeader(t *testing.T) {
	got := hex.EncodeToString(header{kind: Raft, group: 0x0102, cluster: 0x0304, target: "n1"}.append(nil))
	if got != "4756"+"01"+"01"+"0102"+"0002"+"0000000000000304"+"6e31" {
		t.Error(got)
	}
}

func TestNoPeerPort(t *testing.T) {
	m := NewMux(Config{Logger: slog.New(slog.DiscardHandler)})
	s := m.Streams(1, "unreachable:n1")
	m.Start()
	if _, err := s.Dial(raft.ServerAddress("a"), time.Second); err == nil {
		t.Error("dialled")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
