package transport

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"maps"
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/raftstore/raftstoretest/certs"
)

func files(a *certs.Authority, id string, valid time.Duration) Files {
	certificate, key, authority := a.Node(id, valid)
	return Files{Certificate: certificate, Key: key, Authority: authority}
}

// secured starts a mux of node n1 with the group 3; n1 and n2 are members.
func secured(t *testing.T, f Files, name string) (*Mux, *Streams, string) {
	t.Helper()
	credentials, err := NewCredentials(f, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var d net.Dialer
	m := NewMux(Config{
		Listener: l, Cluster: cluster, Logger: slog.New(slog.DiscardHandler), Credentials: credentials,
		Dial:   func(ctx context.Context, a string) (net.Conn, error) { return d.DialContext(ctx, "tcp", a) },
		Member: func(id string) bool { return id == "n1" || id == "n2" }, Name: func(string) string { return name },
	})
	s := m.Streams(3, Address(l.Addr().String()))
	m.Start()
	t.Cleanup(func() {
		s.Close()
		m.Close()
	})
	return m, s, l.Addr().String()
}

// Members connect to each other over TLS 1.3. A connection to a node with another id than its address should have is
// closed, and a changed certificate file is used.
func TestMembersConnect(t *testing.T) {
	a := certs.New(t)
	_, in, address := secured(t, files(a, "n1", time.Hour), "")
	_, out, _ := secured(t, files(a, "n2", time.Hour), "n1")
	connect := func(out *Streams) error {
		c, err := out.Dial("", 5*time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		if v := c.(*tls.Conn).ConnectionState().Version; v != tls.VersionTLS13 {
			t.Errorf("TLS version %x", v)
		}
		got, err := in.Accept()
		if err != nil {
			return err
		}
		if names, secured := Names(got); !secured || names[0] != "n2" {
			t.Errorf("the peer is %v", names)
		}
		if _, err := c.Write([]byte("hello")); err != nil {
			return err
		}
		_, err = io.ReadFull(got, make([]byte, 5))
		return err
	}
	dialTo := func(s *Streams) *Streams {
		s.mux.c.Dial = func(ctx context.Context, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", address)
		}
		return s
	}
	if err := connect(dialTo(out)); err != nil {
		t.Fatal(err)
	}
	_, wrong, _ := secured(t, files(a, "n2", time.Hour), "n3")
	if err := connect(dialTo(wrong)); err == nil {
		t.Error("connected to n1 at the address of n3")
	}
	before, _ := in.mux.c.Credentials.current()
	files(a, "n1", 2*time.Hour)
	in.mux.c.Credentials.checkedAt = time.Time{}
	if after, _ := in.mux.c.Credentials.current(); string(after.Certificate[0]) == string(before.Certificate[0]) {
		t.Error("the changed certificate is not taken up")
	}
	if err := connect(out); err != nil {
		t.Error(err)
	}
}

// unauthorizedPeer is a peer that must not get a connection to the peer port.
type unauthorizedPeer struct {
	name  string
	act   func(net.Conn)
	count string // The counter of Rejects that the refusal increments.
}

// unauthorizedPeers returns one peer of each kind, for a node of the authority ours.
func unauthorizedPeers(t *testing.T, ours *certs.Authority) []unauthorizedPeer {
	theirs := certs.New(t)
	credentials := func(f Files) *Credentials {
		c, err := NewCredentials(f, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	good := header{kind: Raft, group: 3, cluster: cluster}.append(nil)
	foreign := header{kind: Raft, group: 3, cluster: cluster + 1}.append(nil)
	over := func(c *Credentials, send []byte) func(net.Conn) {
		return func(raw net.Conn) {
			config := c.config("", x509.ExtKeyUsageServerAuth)
			config.VerifyConnection = nil // Such a peer does not verify the node.
			secure := tls.Client(raw, config)
			secure.Write(send)
			io.Copy(io.Discard, secure)
		}
	}
	none := &Credentials{roots: x509.NewCertPool()}
	random := make([]byte, 4096)
	rand.Read(random)
	return []unauthorizedPeer{
		{"another authority", over(credentials(files(theirs, "n2", time.Hour)), good), "authority"},
		{"no certificate", func(raw net.Conn) {
			secure := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, RootCAs: none.roots})
			secure.Write(good)
			io.Copy(io.Discard, secure)
		}, "no certificate"},
		{"expired", over(credentials(files(ours, "n2", -time.Minute)), good), "expired"},
		{"no member", over(credentials(files(ours, "n9", time.Hour)), good), "name"},
		{"another cluster", over(credentials(files(ours, "n2", time.Hour)), foreign), "cluster"},
		{"old TLS", func(raw net.Conn) {
			secure := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
			secure.Handshake()
		}, "handshake"},
		{"plain header", func(raw net.Conn) { raw.Write(good); io.Copy(io.Discard, raw) }, "handshake"},
		{"random bytes", func(raw net.Conn) { raw.Write(random); io.Copy(io.Discard, raw) }, "handshake"},
	}
}

// counted returns the refusals of a mux by reason, without those that are zero.
func counted(m *Mux) map[string]uint64 {
	all := map[string]uint64{}
	for name, c := range map[string]*atomic.Uint64{
		"full": &m.rejects.Full, "header": &m.rejects.Header, "cluster": &m.rejects.Cluster, "stream": &m.rejects.Stream, "handshake": &m.rejects.Handshake,
		"no certificate": &m.rejects.NoCertificate, "authority": &m.rejects.Authority, "expired": &m.rejects.Expired, "name": &m.rejects.Name,
		"displaced": &m.rejects.Displaced, "accept": &m.rejects.Accept,
	} {
		if n := c.Load(); n > 0 {
			all[name] = n
		}
	}
	return all
}

// turnedAway connects a peer and waits until the mux has counted its refusal, which may be after the connection ended.
func waitRefused(t *testing.T, m *Mux, address string, who unauthorizedPeer, want map[string]uint64) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(refusalWaitMax))
	who.act(c)
	c.Close()
	want[who.count]++
	for began := time.Now(); !maps.Equal(counted(m), want) || m.Conns() > 0; time.Sleep(100 * time.Microsecond) {
		if time.Since(began) > refusalWaitMax {
			t.Fatalf("%s: refusals are %v, want %v; %d connections are open", who.name, counted(m), want, m.Conns())
		}
	}
}

// refusalWaitMax is how long a test waits for a refusal.
const refusalWaitMax = 30 * time.Second

// Peers without access are refused for the right reason, and for no other.
func TestPeerCertificates(t *testing.T) {
	ours := certs.New(t)
	m, _, address := secured(t, files(ours, "n1", time.Hour), "")
	want := map[string]uint64{}
	for _, who := range unauthorizedPeers(t, ours) {
		waitRefused(t, m, address, who, want)
	}
}

// Hundreds of such peers of a kind are counted one by one, and hold nothing afterwards.
func TestRefusedConnectionsHoldNothing(t *testing.T) {
	ours := certs.New(t)
	m, _, address := secured(t, files(ours, "n1", time.Hour), "")
	want := map[string]uint64{}
	for _, who := range unauthorizedPeers(t, ours) {
		if !slices.Contains([]string{"another authority", "no certificate", "another cluster", "random bytes"}, who.name) {
			continue
		}
		if !t.Run(who.name, func(t *testing.T) {
			waitRefused(t, m, address, who, want) // Certificates are made once.
			before, first := heap(), want[who.count]
			for range 300 {
				waitRefused(t, m, address, who, want)
			}
			if got := counted(m)[who.count] - first; got != 300 {
				t.Errorf("300 refusals are counted as %d", got)
			}
			if grown := int64(heap()) - int64(before); grown > 1<<20 {
				t.Errorf("300 refused connections left %d bytes", grown)
			}
		}) {
			return // The counts of the other kinds would be wrong, too.
		}
	}
}

func heap() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
