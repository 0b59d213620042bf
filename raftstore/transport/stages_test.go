package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/raftstore/raftstoretest/certs"
)

// sourced is the accepted end of a pipe whose other end has an IP address.
type sourced struct {
	net.Conn
	from net.IP
}

func (c sourced) RemoteAddr() net.Addr { return &net.TCPAddr{IP: c.from, Port: 1} }

// from opens a connection from an address.
func (p *pipes) from(ip net.IP) net.Conn {
	here, there := net.Pipe()
	p.conns <- sourced{there, ip}
	return here
}

// However many connections that send nothing are open, and even if more of them arrive all the time, a member's
// connection is accepted at once: from an address of its own, from one of theirs, and from one that was not seen
// before.
func TestMembersConnectBesideSilentConnections(t *testing.T) {
	member := net.IPv4(10, 0, 0, 1)
	for _, tc := range []struct {
		name   string
		silent func(i int) net.IP
	}{
		{"from another address", func(int) net.IP { return net.IPv4(10, 9, 9, 9) }},
		{"from the member's address", func(int) net.IP { return member }},
		{"from eight addresses", func(i int) net.IP { return net.IPv4(10, 0, 0, byte(1+i%8)) }},
		{"from an address each", func(i int) net.IP { return net.IPv4(11, byte(i>>16), byte(i>>8), byte(i)) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				m, s := startMux(p)
				m.c.Dial = func(context.Context, string) (net.Conn, error) { return p.from(member), nil }
				silent, accepted := 0, 0
				for range 20 {
					for range 400 {
						p.from(tc.silent(silent))
						silent++
					}
					synctest.Wait()
					if _, err := s.Dial("", time.Second); err != nil {
						continue
					}
					synctest.Wait()
					select {
					case <-s.accepted:
						accepted++
					default:
					}
				}
				if accepted != 20 {
					t.Errorf("%d of 20 connections of a member were accepted beside %d silent ones: refused are %v", accepted, silent, counted(m))
				}
				m.Close()
			})
		})
	}
}

// The same over TLS on real sockets, where connections also stop in the middle of a handshake.
func TestMembersConnectBesideUnfinishedHandshakes(t *testing.T) {
	a := certs.New(t)
	m, in, address := secured(t, files(a, "n1", time.Hour), "")
	_, out, _ := secured(t, files(a, "n2", time.Hour), "n1")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out.mux.c.Dial = func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	var all sync.WaitGroup
	for i := range 300 {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+i%4))}}
		all.Go(func() {
			for ctx.Err() == nil {
				c, err := d.DialContext(ctx, "tcp", address)
				if err != nil {
					continue
				}
				end := context.AfterFunc(ctx, func() { c.Close() })
				if i%2 == 0 {
					c.Write([]byte{22, 3, 1, 2}) // The beginning of a ClientHello.
				}
				io.Copy(io.Discard, c)
				end()
				c.Close()
			}
		})
	}
	for m.Conns() < 64 {
		time.Sleep(time.Millisecond)
	}
	for i := range 20 {
		c, err := out.Dial("", 5*time.Second)
		if err != nil {
			t.Fatalf("connection %d of a member: %v; refused are %v", i, err, counted(m))
		}
		c.Write([]byte{byte(i)})
		got := make(chan error, 1)
		go func() {
			peer, err := in.Accept()
			if err == nil {
				_, err = io.ReadFull(peer, make([]byte, 1))
			}
			got <- err
		}()
		select {
		case err := <-got:
			if err != nil {
				t.Fatalf("connection %d of a member: %v", i, err)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("connection %d of a member was not accepted; refused are %v", i, counted(m))
		}
		c.Close()
	}
	stop()
	all.Wait()
}

// Connections that prove nothing cannot take the share of members, and questions of unknown nodes cannot either.
func TestMembersHaveAShareOfTheConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		m := NewMux(Config{
			Listener: p, Dial: p.dial, Cluster: cluster, Logger: slog.New(slog.DiscardHandler), ConnectionsMax: ConnectionsMin,
		})
		m.Handle(Control, func(c net.Conn) { io.Copy(io.Discard, c) })
		m.Handle(Forward, func(c net.Conn) { io.Copy(io.Discard, c) })
		m.Start()
		limits := shares(ConnectionsMin)
		unproven := limits[stageSilent] + limits[stageOpening] + limits[stageAsking]
		good := header{kind: Forward, cluster: cluster}.append(nil)
		for _, send := range [][]byte{header{kind: Control}.append(nil), good[:1], nil} {
			for range ConnectionsMin {
				c, _ := p.dial(t.Context(), "")
				if len(send) > 0 {
					c.Write(send) // It may be closed already.
				}
				synctest.Wait()
			}
		}
		if m.Conns() != unproven {
			t.Errorf("%d connections prove nothing, at most %d may", m.Conns(), unproven)
		}
		for range limits[stageMember] + 3 {
			m.Dial(t.Context(), Forward, "")
			synctest.Wait()
		}
		if n := m.byStage[stageMember].count; n != limits[stageMember] || m.Rejects().Full.Load() != 3 {
			t.Errorf("%d connections of members and %d refused, want %d and 3", n, m.Rejects().Full.Load(), limits[stageMember])
		}
		if m.Conns() > ConnectionsMin {
			t.Errorf("%d connections, at most %d", m.Conns(), ConnectionsMin)
		}
		m.Close()
		for at := range m.byStage {
			if n, of := m.byStage[at].count, len(m.byStage[at].byAddress); n != 0 || of != 0 {
				t.Errorf("%d connections of %d addresses are left in stage %d", n, of, at)
			}
		}
	})
}

// failing is a listener whose first calls fail.
type failing struct {
	*pipes
	errs []error
}

func (f *failing) Accept() (net.Conn, error) {
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return nil, &net.OpError{Op: "accept", Err: err}
	}
	return f.pipes.Accept()
}

// Whatever error accept fails with, the next connection is accepted: without a pause after a connection that was reset,
// else soon.
func TestAcceptGoesOn(t *testing.T) {
	for _, tc := range []struct {
		err   error
		times int
		max   time.Duration // In the bubble's time, which passes only during pauses.
	}{
		{syscall.ECONNABORTED, 1000, 0},
		{syscall.EMFILE, 20, 20 * acceptPauseMax},
		{syscall.ENFILE, 20, 20 * acceptPauseMax},
		{errors.New("something else"), 20, 20 * acceptPauseMax},
	} {
		t.Run(tc.err.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &failing{pipes: newPipes()}
				for range tc.times {
					l.errs = append(l.errs, tc.err)
				}
				m := NewMux(Config{Listener: l, Dial: l.dial, Cluster: cluster, Logger: slog.New(slog.DiscardHandler)})
				s := m.Streams(3, "here")
				m.Start()
				began := time.Now()
				if _, err := s.Dial("", time.Minute); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Accept(); err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(began); waited > tc.max {
					t.Errorf("accepted after %s of pauses, want at most %s", waited, tc.max)
				}
				if n := m.Rejects().Accept.Load(); n != uint64(tc.times) {
					t.Errorf("%d failures are counted, want %d", n, tc.times)
				}
				m.Close()
			})
		})
	}
}

// Without file descriptors a connection that has proved nothing is closed, one for each failure, and a member's is not.
func TestConnectionsThatProvedNothingGiveUpTheirDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &failing{pipes: newPipes()}
		m := NewMux(Config{Listener: l, Dial: l.dial, Cluster: cluster, Logger: slog.New(slog.DiscardHandler)})
		s := m.Streams(3, "here")
		m.Start()
		if _, err := s.Dial("", time.Minute); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			l.dial(t.Context(), "")
		}
		synctest.Wait()
		l.errs = []error{syscall.EMFILE, syscall.EMFILE, syscall.EMFILE}
		l.dial(t.Context(), "") // Accept returns only after a dial, and fails then.
		synctest.Wait()
		time.Sleep(time.Second)
		if members, all := m.byStage[stageMember].count, m.Conns(); members != 1 || all != 1+11-3 {
			t.Errorf("%d connections, %d of members, are left of 12", all, members)
		}
		m.Close()
	})
}

// What is read before a header is complete is bounded, also within TLS.
func TestOpeningBytesAreBounded(t *testing.T) {
	credentials, err := NewCredentials(files(certs.New(t), "n1", time.Hour), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p := newPipes()
	m := NewMux(Config{Listener: p, Credentials: credentials, Cluster: cluster, Logger: slog.New(slog.DiscardHandler)})
	m.Start()
	defer m.Close()
	c, _ := p.dial(t.Context(), "")
	record := append([]byte{22, 3, 1, 0x40, 0}, make([]byte, 0x4000)...)
	copy(record[5:], []byte{1, 0, 0xff, 0xff}) // A ClientHello of 65,535 bytes.
	sent := 0
	for {
		n, err := c.Write(record)
		sent += n
		if err != nil {
			break
		}
		record = append(record[:5], make([]byte, 0x4000)...)
	}
	if sent > openingBytesMax+1 {
		t.Errorf("%d bytes of a ClientHello were read, at most %d are", sent, openingBytesMax+1)
	}
}

func TestOldestOfTheAddressWithMostIsDisplaced(t *testing.T) {
	a, b, known := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")
	members := &memberAddresses{}
	members.add(known)
	for _, tc := range []struct {
		held   []netip.Addr // The sources, in the order of accepting.
		source netip.Addr
		want   int // The index of the displaced one.
	}{
		{[]netip.Addr{b, a, a}, b, 0}, // With the new one b has as many, and its first is the oldest.
		{[]netip.Addr{b, a, a}, known, 1},
		{[]netip.Addr{a, b, b, b}, a, 1},
		{[]netip.Addr{known, known, a}, a, 2},     // The connections of members' addresses are no more than the reserve.
		{[]netip.Addr{known, known, a}, known, 2}, // The source of the new one does not matter.
		{[]netip.Addr{a, known, known, known}, a, 1},
	} {
		h := &stageConns{}
		for i, source := range tc.held {
			h.add(&conn{source: source, accepted: uint64(i)})
		}
		if got := h.pickVictim(tc.source, members, 2); got == nil || got.accepted != uint64(tc.want) {
			t.Errorf("%v, then %s: %+v is displaced, want number %d", tc.held, tc.source, got, tc.want)
		}
	}
}

func TestMemberAddressesAreBounded(t *testing.T) {
	m := &memberAddresses{}
	address := func(i int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("10.0.%d.%d", i/256, i%256)) }
	for i := range 3 * memberAddressesMax {
		m.add(address(i))
		m.add(address(0))
	}
	if len(m.seen) != memberAddressesMax || !m.contain(address(0)) || m.contain(address(1)) || !m.contain(address(3*memberAddressesMax-1)) {
		t.Errorf("%d addresses are remembered, or not the latest", len(m.seen))
	}
}

func TestAddressOf(t *testing.T) {
	for in, want := range map[string]string{
		"10.1.2.3": "10.1.2.3", "::ffff:10.1.2.3": "10.1.2.3", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::", "fe80::1": "fe80::",
	} {
		if got := addressOf(&net.TCPAddr{IP: net.ParseIP(in), Port: 7}); got.String() != want {
			t.Errorf("%s counts as %s, want %s", in, got, want)
		}
	}
	if addressOf(Address("pipe")).IsValid() {
		t.Error("a name counts as an IP address")
	}
}
