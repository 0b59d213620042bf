package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// reloadPause is the least time between two checks, at handshakes, whether the files have changed.
const reloadPause = time.Second

// Files are the PEM files of a node: its certificate, its key, and the authority that signs peers and nobody else.
type Files struct {
	Certificate string
	Key         string
	Authority   string
}

// Reasons for which a peer's certificate is refused.
var (
	errNoCertificate = errors.New("the peer shows no certificate")
	errExpired       = errors.New("the peer's certificate is not valid now")
	errAuthority     = errors.New("the peer's certificate is not of our authority")
	errName          = errors.New("the peer's certificate names no member")
)

// Credentials are the loaded Files. A changed file is used by the next handshake; files that cannot be loaded are
// logged, and the old ones stay in use. It is safe for concurrent use.
//
// Names in certificates are node ids (DNS names of the subject alternative name). Chains are verified here and not by
// crypto/tls, in both directions the same way: a peer is known by its id, not by the host name it was dialled at.
type Credentials struct {
	files  Files
	logger *slog.Logger

	mu        sync.Mutex
	checkedAt time.Time
	modified  [3]time.Time
	pair      tls.Certificate
	roots     *x509.CertPool
}

// NewCredentials loads the files. It fails when one cannot be read, or when certificate and key do not fit each other.
func NewCredentials(files Files, logger *slog.Logger) (*Credentials, error) {
	c := &Credentials{files: files, logger: logger, checkedAt: time.Now()}
	c.modified = c.times()
	return c, c.load()
}

func (c *Credentials) times() (t [3]time.Time) {
	for i, name := range []string{c.files.Certificate, c.files.Key, c.files.Authority} {
		if info, err := os.Stat(name); err == nil {
			t[i] = info.ModTime()
		}
	}
	return t
}

// load reads the files. REQUIRES: mu is held, or no other goroutine knows c.
func (c *Credentials) load() error {
	pair, err := tls.LoadX509KeyPair(c.files.Certificate, c.files.Key)
	if err != nil {
		return fmt.Errorf("peer certificate: %w", err)
	}
	pem, err := os.ReadFile(c.files.Authority)
	if err != nil {
		return fmt.Errorf("peer authority: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("peer authority: %s holds no certificate", c.files.Authority)
	}
	c.pair, c.roots = pair, roots
	return nil
}

// current returns what the files hold, as of the last reloadPause.
func (c *Credentials) current() (*tls.Certificate, *x509.CertPool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checkedAt) >= reloadPause {
		c.checkedAt = time.Now()
		if times := c.times(); times != c.modified {
			c.reload(times)
		}
	}
	pair := c.pair
	return &pair, c.roots
}

// Reload reads the files again, for the next handshake. After an error, which is logged, the old ones stay in use.
func (c *Credentials) Reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reload(c.times())
}

// reload loads the files, which were modified at times. LOCKS: mu is held.
func (c *Credentials) reload(times [3]time.Time) {
	if err := c.load(); err != nil {
		c.logger.Error("peer_certificates_reload_failed", slog.String("action", "the old ones stay in use; repair the files"), slog.Any("err", err))
		return
	}
	c.modified = times
	c.logger.Info("peer_certificates_reloaded", slog.Time("not_after", c.pair.Leaf.NotAfter))
}

// NotAfter returns when the node's certificate expires.
func (c *Credentials) NotAfter() time.Time {
	pair, _ := c.current()
	return pair.Leaf.NotAfter
}

// config is the TLS configuration of one handshake. want is the node id the peer must have; empty: any.
func (c *Credentials) config(want string, usage x509.ExtKeyUsage) *tls.Config {
	pair, roots := c.current()
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*pair}, SessionTicketsDisabled: true,
		ClientAuth:         tls.RequestClientCert, // verify demands and checks the certificate, and returns the reason of a refusal.
		InsecureSkipVerify: true,                  //nolint:gosec // verify does it, for node ids instead of host names.
		VerifyConnection:   func(s tls.ConnectionState) error { return verify(s.PeerCertificates, roots, want, usage) },
	}
}

func verify(chain []*x509.Certificate, roots *x509.CertPool, want string, usage x509.ExtKeyUsage) error {
	if len(chain) == 0 {
		return errNoCertificate
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{usage}})
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return fmt.Errorf("%w: %w", errExpired, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errAuthority, err)
	}
	if want != "" && !slices.Contains(chain[0].DNSNames, want) {
		return fmt.Errorf("%w: it is %v, not %s", errName, chain[0].DNSNames, want)
	}
	return nil
}
