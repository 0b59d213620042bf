// Package acmecert gets the certificates of a listener from an authority by ACME (RFC 8555), and renews them while the
// node runs. The authority verifies each name by a TLS handshake with the listener itself (tls-alpn-01, RFC 8737), so
// no other port is needed.
//
// Certificates are ordered by Run in the background, and never because a client connects: the time of a handshake does
// not depend on an authority, and nobody can make the node exceed an authority's limits. Until there is a certificate
// the listener has one that it signed itself. Clients that verify certificates refuse it, and health checks, which do
// not, see that the node works.
package acmecert

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// Protocol is the application protocol in whose handshakes the authority verifies a name. The listener must offer it.
const Protocol = acme.ALPNProto

// The waits after a failed order double from the first to the last. BOUND: authorities allow about five failures of a
// name an hour, and these waits make five orders in the first hour and one an hour from then on.
const (
	retryMin = 2 * time.Minute
	retryMax = time.Hour
)

// Options are what a Manager needs.
type Options struct {
	Hosts     []string // DNS names in lower case, at least one. Clients that name no other get the first one's certificate.
	Email     string   // Of somebody whom the authority warns; empty: nobody.
	Directory string   // URL of the authority's directory.
	Dir       string   // Keeps certificates and keys over restarts, in files with mode 0600; created when it is needed.
	Log       *slog.Logger
}

// Manager holds the certificates of a listener. It is safe for concurrent use.
type Manager struct {
	hosts    []string
	log      *slog.Logger
	fallback *tls.Certificate // Of every host that has no other one.
	// get is that of autocert. It answers at once for a host in newest, and makes an order for any other.
	get func(*tls.ClientHelloInfo) (*tls.Certificate, error)

	mu     sync.Mutex
	newest map[string]*tls.Certificate // By host; only of those that have a certificate.
}

// New returns a manager without certificates. It contacts nobody. Its error is that of the random source.
func New(o Options) (*Manager, error) {
	fallback, err := selfSigned(o.Hosts, time.Now())
	if err != nil {
		return nil, fmt.Errorf("a certificate for the time until there is one: %w", err)
	}
	orders := &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(o.Dir), HostPolicy: autocert.HostWhitelist(o.Hosts...), Email: o.Email,
		Client: &acme.Client{DirectoryURL: o.Directory, UserAgent: "gavel"},
	}
	return &Manager{
		hosts: o.Hosts, log: o.Log, fallback: fallback, get: orders.GetCertificate, newest: map[string]*tls.Certificate{},
	}, nil
}

// Run gets a certificate for every host: the one that was kept from an earlier run, or a new one. It returns when all
// have one, or soon after ctx ended; an order that was begun is continued for up to five minutes. From then on each
// certificate is renewed when a third of its time is left.
func (m *Manager) Run(ctx context.Context) {
	missing := m.hosts
	for wait := retryMin; ; wait = min(2*wait, retryMax) {
		if missing = m.order(ctx, missing, wait); len(missing) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// order gets certificates for hosts, and returns those hosts that failed. wait is the time until the next attempt.
func (m *Manager) order(ctx context.Context, hosts []string, wait time.Duration) (failed []string) {
	for _, host := range hosts {
		if ctx.Err() != nil {
			return nil
		}
		pair, err := m.get(helloOf(host))
		if err != nil {
			m.log.Error("certificate_order_failed", slog.String("host", host), slog.Any("err", err), slog.Duration("retry_in", wait),
				slog.String("action", "check that the authority reaches the management listener at port 443 of the host"))
			failed = append(failed, host)
			continue
		}
		m.mu.Lock()
		m.keep(host, pair)
		m.mu.Unlock()
	}
	return failed
}

// helloOf is the handshake of a client that asks for a host and accepts ECDSA, as every client of TLS 1.2 and 1.3 does
// that this node accepts. A certificate for RSA would be a second order for each host.
func helloOf(host string) *tls.ClientHelloInfo {
	return &tls.ClientHelloInfo{ServerName: host, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}}
}

// keep stores the newest certificate of a host and logs a change. LOCKS: mu is held.
func (m *Manager) keep(host string, pair *tls.Certificate) {
	if known := m.newest[host]; known != nil && known.Leaf.Equal(pair.Leaf) {
		return
	}
	m.newest[host] = pair
	m.log.Info("certificate_obtained", slog.String("host", host), slog.Time("not_after", pair.Leaf.NotAfter))
}

// Certificate returns the certificate of a handshake; it is a tls.Config's GetCertificate.
func (m *Manager) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	host := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	known := slices.Contains(m.hosts, host)
	if slices.Equal(hello.SupportedProtos, []string{Protocol}) { // The authority verifies a name.
		if !known {
			return nil, fmt.Errorf("the name %q is none of management.acme.hosts", host)
		}
		return m.get(hello)
	}
	if !known {
		host = m.hosts[0]
	}
	return m.current(host), nil
}

// current returns the newest certificate of a host, or the fallback.
func (m *Manager) current(host string) *tls.Certificate {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.newest[host] == nil {
		return m.fallback
	}
	if pair, err := m.get(helloOf(host)); err == nil {
		m.keep(host, pair)
	}
	return m.newest[host]
}

// NotAfter returns when the first of the certificates expires. Without one that is soon: a day after the start.
func (m *Manager) NotAfter() time.Time {
	first := m.current(m.hosts[0]).Leaf.NotAfter
	for _, host := range m.hosts[1:] {
		if at := m.current(host).Leaf.NotAfter; at.Before(first) {
			first = at
		}
	}
	return first
}
