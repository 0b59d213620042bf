package acmecert_test

import (
	"crypto/tls"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/acmecert"
	"github.com/gavel-ads/gavel/node/acmecert/acmetest"
)

const host, other = "ads.example.com", "console.example.com"

// listen serves handshakes with the certificates of a manager and returns the address.
func listen(t *testing.T, m *acmecert.Manager) string {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1", acmecert.Protocol}, GetCertificate: m.Certificate,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = conn.(*tls.Conn).Handshake() // The client notices.
				_, _ = conn.Read(make([]byte, 1))
				_ = conn.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func newManager(t *testing.T, a *acmetest.Authority, dir string) *acmecert.Manager {
	t.Helper()
	m, err := acmecert.New(acmecert.Options{
		Hosts: []string{host, other}, Email: "ada@example.com", Directory: a.Directory(), Dir: dir, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// serial makes a handshake in which the client trusts the authority, and returns the certificate's serial number.
func serial(a *acmetest.Authority, address, name string) (int64, error) {
	conn, err := tls.Dial("tcp", address, &tls.Config{ServerName: name, RootCAs: a.Roots(), MinVersion: tls.VersionTLS12})
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), nil
}

// Every host gets a certificate that clients trust, which is kept: a later run makes no order. Handshakes never wait.
func TestCertificatesAreObtainedAndKept(t *testing.T) {
	a, dir := acmetest.New(t, 0), filepath.Join(t.TempDir(), "acme")
	m := newManager(t, a, dir)
	address := listen(t, m)
	if got, err := serial(a, address, host); err == nil {
		t.Errorf("before an order a client trusts the certificate %d", got)
	}
	if left := time.Until(m.NotAfter()); left > 24*time.Hour {
		t.Errorf("without a certificate %v are left, so no alert is raised", left)
	}
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) // As a health check does.
	if err != nil {
		t.Errorf("a client that does not verify is refused: %v", err)
	} else if err := conn.Close(); err != nil {
		t.Error(err)
	}
	a.Resolve(address)
	m.Run(t.Context())
	for name, want := range map[string]int64{host: 1, other: 2, "Ads.Example.Com": 1} {
		if got, err := serial(a, address, name); got != want || err != nil {
			t.Errorf("%s has the certificate %d, %v; want %d", name, got, err, want)
		}
	}
	for _, name := range []string{"", "another.example.com"} { // Such as a client that connects to an IP address.
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, ServerName: name}) // Only the name counts.
		if err != nil {
			t.Fatal(err)
		}
		if got := conn.ConnectionState().PeerCertificates[0].DNSNames; len(got) != 1 || got[0] != host {
			t.Errorf("the name %q gets the certificate of %q, want %s", name, got, host)
		}
		_ = conn.Close()
	}
	if left := time.Until(m.NotAfter()); left < 89*24*time.Hour {
		t.Errorf("%v are left", left)
	}
	checkModes(t, dir)

	again := newManager(t, a, dir)
	again.Run(t.Context())
	address = listen(t, again)
	if got, err := serial(a, address, other); got != 2 || err != nil || a.Issued() != 2 {
		t.Errorf("a later run has the certificate %d, %v; %d were issued, want 2", got, err, a.Issued())
	}
}

// checkModes: keys are readable by the user of the process only.
func checkModes(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if os.IsNotExist(err) {
			return nil // An answer to the authority, which was not needed any more.
		}
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		if err == nil && !e.IsDir() {
			files++
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files, %v; want the key of the account and two certificates", files, err)
	}
}

// A certificate that is due is renewed, and the next handshakes have the new one.
func TestCertificatesAreRenewed(t *testing.T) {
	a := acmetest.New(t, 2)
	m := newManager(t, a, t.TempDir())
	address := listen(t, m)
	a.Resolve(address)
	m.Run(t.Context())
	for _, name := range []string{host, other} {
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			got, err := serial(a, address, name)
			if err != nil {
				t.Fatalf("a handshake failed meanwhile: %v", err)
			}
			if got > 2 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s still has the certificate %d", name, got)
			}
		}
	}
	if left := time.Until(m.NotAfter()); left < 89*24*time.Hour {
		t.Errorf("%v are left", left)
	}
}

// A listener that nobody can reach has no certificate, and says so.
func TestAnOrderFails(t *testing.T) {
	a := acmetest.New(t, 0)
	m := newManager(t, a, t.TempDir())
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a.Resolve(closed.Addr().String())
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if failed := m.Order(t.Context()); len(failed) != 2 {
		t.Errorf("failed: %q, want both hosts", failed)
	}
	if got, err := serial(a, listen(t, m), host); err == nil || a.Issued() > 0 {
		t.Errorf("the certificate is %d, %d were issued", got, a.Issued())
	}
}
