package transport

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"runtime"
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

// A member speaks to a member over TLS 1.3; a node that shows another id than its address should have is not spoken to;
// a certificate file that changes is taken up.
func TestMembersSpeak(t *testing.T) {
	a := certs.New(t)
	_, in, address := secured(t, files(a, "n1", time.Hour), "")
	_, out, _ := secured(t, files(a, "n2", time.Hour), "n1")
	speak := func(out *Streams) error {
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
	if err := speak(dialTo(out)); err != nil {
		t.Fatal(err)
	}
	_, wrong, _ := secured(t, files(a, "n2", time.Hour), "n3")
	if err := speak(dialTo(wrong)); err == nil {
		t.Error("spoke to n1 at the address of n3")
	}
	before, _ := in.mux.c.Credentials.current()
	files(a, "n1", 2*time.Hour)
	in.mux.c.Credentials.looked = time.Time{}
	if after, _ := in.mux.c.Credentials.current(); string(after.Certificate[0]) == string(before.Certificate[0]) {
		t.Error("the changed certificate is not taken up")
	}
	if err := speak(out); err != nil {
		t.Error(err)
	}
}

// Strangers are refused for the right reason, many times, and leave nothing behind.
func TestPeerCertificates(t *testing.T) {
	ours, theirs := certs.New(t), certs.New(t)
	m, _, address := secured(t, files(ours, "n1", time.Hour), "")
	r := m.Rejects()
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
			config.VerifyConnection = nil // A stranger does not care who we are.
			secure := tls.Client(raw, config)
			secure.Write(send)
			io.Copy(io.Discard, secure)
		}
	}
	none := &Credentials{roots: x509.NewCertPool()}
	random := make([]byte, 4096)
	rand.Read(random)
	cases := []struct {
		name  string
		act   func(net.Conn)
		count func() uint64
	}{
		{"another authority", over(credentials(files(theirs, "n2", time.Hour)), good), r.Authority.Load},
		{"no certificate", func(raw net.Conn) {
			secure := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, RootCAs: none.roots})
			secure.Write(good)
			io.Copy(io.Discard, secure)
		}, r.NoCertificate.Load},
		{"expired", over(credentials(files(ours, "n2", -time.Minute)), good), r.Expired.Load},
		{"no member", over(credentials(files(ours, "n9", time.Hour)), good), r.Name.Load},
		{"another cluster", over(credentials(files(ours, "n2", time.Hour)), foreign), r.Cluster.Load},
		{"old TLS", func(raw net.Conn) {
			secure := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
			secure.Handshake()
		}, r.Handshake.Load},
		{"plain header", func(raw net.Conn) { raw.Write(good); io.Copy(io.Discard, raw) }, func() uint64 { return r.Handshake.Load() - 1 }},
		{"random bytes", func(raw net.Conn) { raw.Write(random); io.Copy(io.Discard, raw) }, func() uint64 { return r.Handshake.Load() - 2 }},
	}
	for _, tc := range cases {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		tc.act(c)
		c.Close()
		for tc.count() != 1 && tc.count() < 100 {
			time.Sleep(time.Millisecond)
		}
	}
	for m.Conns() > 0 {
		time.Sleep(time.Millisecond)
	}
	before := heap()
	for range 300 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		c.Write(random)
		io.Copy(io.Discard, c)
		c.Close()
	}
	for m.Conns() > 0 {
		time.Sleep(time.Millisecond)
	}
	if grown := int64(heap()) - int64(before); grown > 1<<20 {
		t.Errorf("300 strangers left %d bytes", grown)
	}
}

func heap() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
