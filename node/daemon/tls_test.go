package daemon

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// issuer signs certificates for tests and is what clients trust.
type issuer struct {
	*testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	roots       *x509.CertPool
	serial      int64
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{T: t, roots: x509.NewCertPool()}
	i.key = newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, i.key.Public(), i.key)
	if err != nil {
		t.Fatal(err)
	}
	if i.certificate, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	i.roots.AddCert(i.certificate)
	return i
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// write puts a new certificate for localhost, valid until then, and its key into dir, as a certificate manager does: each
// file at once, the certificate first. It returns the serial number.
func (i *issuer) write(dir string, until time.Time) int64 {
	i.Helper()
	i.serial++
	key := newKey(i.T)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(i.serial), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, i.certificate, key.Public(), i.key)
	if err != nil {
		i.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		i.Fatal(err)
	}
	i.replace(dir, "ads.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
	i.replace(dir, "ads.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return i.serial
}

// replace writes a file beside its place and renames it.
func (i *issuer) replace(dir, name string, text []byte) {
	i.Helper()
	if err := os.WriteFile(filepath.Join(dir, name+".new"), text, 0o600); err != nil {
		i.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name)); err != nil {
		i.Fatal(err)
	}
}

// secureNode starts a node whose listeners both use the files of dir.
func secureNode(t *testing.T, dir string, o Options) *runningNode {
	t.Helper()
	cfg := testConfig(t.TempDir(), 1)
	cfg.Auction.TLSCertificate, cfg.Auction.TLSKey = filepath.Join(dir, "ads.crt"), filepath.Join(dir, "ads.key")
	cfg.Management.TLSCertificate, cfg.Management.TLSKey = cfg.Auction.TLSCertificate, cfg.Auction.TLSKey
	return run(t, cfg, o)
}

func clientOf(t *testing.T, c *tls.Config, http2 bool) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: c.Clone(), ForceAttemptHTTP2: http2} // Transports write to it.
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

// serialOf makes a handshake and returns the serial number of the node's certificate.
func serialOf(url string, c *tls.Config) (int64, error) {
	conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), c)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), nil
}

// What a scanner of TLS servers checks: versions, ciphers, protocols, and the two kinds of clients that must fail.
func TestTLSOfBothListeners(t *testing.T) {
	dir, authority := t.TempDir(), newIssuer(t)
	authority.write(dir, time.Now().Add(time.Hour))
	n := secureNode(t, dir, Options{})
	both := []string{n.auction, n.manage}

	for name, row := range map[string]struct {
		versions [2]uint16 // The least and the greatest that the client offers.
		ciphers  []uint16
		roots    *x509.CertPool
		refused  bool
	}{
		"TLS 1.3":                     {versions: [2]uint16{tls.VersionTLS13, tls.VersionTLS13}},
		"TLS 1.2":                     {versions: [2]uint16{tls.VersionTLS12, tls.VersionTLS12}},
		"TLS 1.1":                     {versions: [2]uint16{tls.VersionTLS10, tls.VersionTLS11}, refused: true},
		"an authenticated cipher":     {versions: [2]uint16{tls.VersionTLS12, tls.VersionTLS12}, ciphers: []uint16{tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256}},
		"a cipher in CBC mode":        {versions: [2]uint16{tls.VersionTLS12, tls.VersionTLS12}, ciphers: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}, refused: true},
		"no forward secrecy":          {versions: [2]uint16{tls.VersionTLS12, tls.VersionTLS12}, ciphers: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}, refused: true},
		"a client of other roots":     {roots: x509.NewCertPool(), refused: true},
		"a client of the same issuer": {roots: authority.roots},
	} {
		t.Run(name, func(t *testing.T) {
			roots := row.roots
			if roots == nil {
				roots = authority.roots
			}
			for _, url := range both {
				_, err := serialOf(url, &tls.Config{RootCAs: roots, MinVersion: row.versions[0], MaxVersion: row.versions[1], CipherSuites: row.ciphers})
				if (err != nil) != row.refused {
					t.Errorf("%s: %v, want refused %t", url, err, row.refused)
				}
			}
		})
	}

	for _, row := range []struct {
		what, url string
		http2     bool
		protocol  string
	}{
		{"management over HTTP/2", n.manage + "/healthz", true, "HTTP/2.0"},
		{"management over HTTP/1.1", n.manage + "/healthz", false, "HTTP/1.1"},
		{"auctions speak HTTP/1.1 only", n.auction + "/healthz", true, "HTTP/1.1"},
	} {
		client := clientOf(t, &tls.Config{RootCAs: authority.roots, MinVersion: tls.VersionTLS12}, row.http2)
		answer, err := client.Get(row.url)
		if err != nil {
			t.Errorf("%s: %v", row.what, err)
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK || answer.Proto != row.protocol {
			t.Errorf("%s: status %d over %s, want 200 over %s", row.what, answer.StatusCode, answer.Proto, row.protocol)
		}
	}

	client := clientOf(t, &tls.Config{RootCAs: authority.roots, MinVersion: tls.VersionTLS12}, true)
	metrics := func() string {
		answer, err := client.Get(n.manage + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body) // A part fails below.
		_ = answer.Body.Close()
		return string(text)
	}
	for _, line := range []string{
		`gavel_certificate_not_after_seconds{listener="auction"} `, `gavel_certificate_not_after_seconds{listener="management"} `,
		`gavel_tls_handshake_failures_total{listener="management"} 4`, // The refused clients of the table.
	} {
		// A client knows before the node that it refuses the certificate.
		for deadline := time.Now().Add(time.Minute); !strings.Contains(metrics(), line); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the metrics miss %s", line)
			}
		}
	}

	for _, url := range both {
		answer, err := http.Get(strings.Replace(url, "https://", "http://", 1) + "/healthz")
		if err != nil {
			t.Errorf("plain HTTP to %s: %v", url, err)
			continue
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "https://") {
			t.Errorf("plain HTTP to %s: %d %s", url, answer.StatusCode, text)
		}
	}
}

// Certificates are replaced under load by changed files and by the signal; no request fails, and what cannot be used is
// not used.
func TestCertificatesReloadUnderLoad(t *testing.T) {
	dir, authority := t.TempDir(), newIssuer(t)
	authority.write(dir, time.Now().Add(time.Hour))
	signals := make(chan os.Signal, 1)
	n := secureNode(t, dir, Options{Reload: signals})
	trusting := &tls.Config{RootCAs: authority.roots, MinVersion: tls.VersionTLS12}

	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var answered atomic.Int64
	for worker := range 4 {
		client := clientOf(t, trusting, true)
		load.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				url := []string{n.auction, n.manage}[(worker+i)%2]
				request, _ := http.NewRequest(http.MethodPost, url+"/v2/auctions", strings.NewReader(`{"auctions":[{"type":"listings","slots":1,"products":{"ids":["a"]}}]}`)) // A constant URL.
				request.Header.Set("Authorization", "Bearer "+n.keys.Auction)
				answer, err := client.Do(request)
				if err != nil {
					t.Errorf("a request failed: %v", err)
					return
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusCreated {
					t.Errorf("status %d", answer.StatusCode)
					return
				}
				if answered.Add(1); i%5 == 0 {
					client.CloseIdleConnections() // The next request makes a handshake.
				}
				time.Sleep(2 * time.Millisecond) // Or the test takes both processors for seconds.
			}
		})
	}
	becomes := func(want int64) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			first, err := serialOf(n.auction, trusting)
			second, err2 := serialOf(n.manage, trusting)
			if err != nil || err2 != nil {
				t.Fatalf("a handshake failed: %v, %v", err, err2)
			}
			if first == want && second == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("certificates %d and %d, want %d", first, second, want)
			}
		}
	}
	for range 3 {
		becomes(authority.write(dir, time.Now().Add(time.Hour)))
	}
	good := authority.write(dir, time.Now().Add(time.Hour))
	signals <- os.Interrupt // Its kind does not matter.
	becomes(good)

	// An expired certificate and a key of another certificate do not replace a valid one.
	authority.write(dir, time.Now().Add(-time.Minute))
	time.Sleep(1500 * time.Millisecond)
	becomes(good)
	other := t.TempDir()
	authority.write(other, time.Now().Add(time.Hour))
	text, err := os.ReadFile(filepath.Join(other, "ads.crt"))
	if err != nil {
		t.Fatal(err)
	}
	authority.replace(dir, "ads.crt", text)
	time.Sleep(1500 * time.Millisecond)
	becomes(good)
	becomes(authority.write(dir, time.Now().Add(time.Hour)))

	for answered.Load() < 100 && !t.Failed() {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	load.Wait()
}

// A start with a wrong file fails at once and names the setting.
func TestWrongCertificatesStopTheStart(t *testing.T) {
	dir, other, authority := t.TempDir(), t.TempDir(), newIssuer(t)
	authority.write(dir, time.Now().Add(time.Hour))
	authority.write(other, time.Now().Add(time.Hour))
	for name, row := range map[string]struct{ certificate, key, want string }{
		"no file":      {filepath.Join(dir, "none"), filepath.Join(dir, "ads.key"), "auction.tls_certificate: open"},
		"another key":  {filepath.Join(dir, "ads.crt"), filepath.Join(other, "ads.key"), "auction.tls_key " + other},
		"a key as one": {filepath.Join(dir, "ads.key"), filepath.Join(dir, "ads.key"), "auction.tls_certificate " + dir},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t.TempDir(), 1)
			cfg.Auction.TLSCertificate, cfg.Auction.TLSKey = row.certificate, row.key
			err := Run(t.Context(), cfg, Options{Out: io.Discard, Log: io.Discard})
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("the error is %v, want %q", err, row.want)
			}
		})
	}
}
