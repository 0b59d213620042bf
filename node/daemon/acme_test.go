package daemon

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/acmecert/acmetest"
	"github.com/gavel-ads/gavel/node/config"
)

// A node with names gets a certificate for its management listener by itself, keeps it in its data directory, and
// serves a renewed one without a restart. Before there is a certificate, health checks that do not verify it are
// answered.
func TestACMEOfTheManagementListener(t *testing.T) {
	const host = "ads.example.com"
	authority := acmetest.New(t, 1)
	cfg := testConfig(t.TempDir(), 1)
	cfg.Management.ACME = config.ACME{Hosts: []string{host}, Directory: authority.Directory()}
	n := run(t, cfg, Options{})
	address := strings.TrimPrefix(n.manage, "https://")
	// client returns a client for which every name leads to the node.
	client := func(c *tls.Config) *http.Client {
		dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		transport := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true, DialContext: dial}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport, Timeout: 10 * time.Second}
	}
	get := func(c *http.Client, path string) (status int, protocol, body string) {
		t.Helper()
		answer, err := c.Get("https://" + host + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, answer.Proto, string(text)
	}
	if status, _, _ := get(client(&tls.Config{InsecureSkipVerify: true}), "/healthz"); status != http.StatusOK { // As gavel health does.
		t.Errorf("a health check before there is a certificate: status %d", status)
	}
	trusting := &tls.Config{RootCAs: authority.Roots(), ServerName: host, MinVersion: tls.VersionTLS12}
	// trusted waits until clients trust the certificate and its serial number is least or more.
	trusted := func(least int64) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			serial, err := serialOf(n.manage, trusting)
			if err == nil && serial >= least {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the certificate is %d, %v; want %d", serial, err, least)
			}
		}
	}
	if serial, err := serialOf(n.manage, trusting); err == nil {
		t.Errorf("a client trusts the certificate %d before the authority could verify the name", serial)
	}
	authority.Resolve(address)
	trusted(2) // The first one is due for renewal when it is issued.
	if status, protocol, _ := get(client(trusting.Clone()), "/healthz"); status != http.StatusOK || protocol != "HTTP/2.0" {
		t.Errorf("status %d over %s", status, protocol)
	}
	if _, _, text := get(client(trusting.Clone()), "/metrics"); !strings.Contains(text, `gavel_certificate_not_after_seconds{listener="management"} `) {
		t.Error("the metrics do not say when the certificate expires")
	}
	n.stop()
	kept, err := os.ReadDir(cfg.ACMEDir())
	if err != nil || len(kept) < 2 {
		t.Errorf("kept: %v, %v", kept, err)
	}
	for _, f := range kept {
		if info, err := os.Stat(filepath.Join(cfg.ACMEDir(), f.Name())); err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", f.Name(), info.Mode())
		}
	}
}
