// Package tlsfiles loads the certificate of a listener from PEM files and replaces it while the node runs.
//
// A changed file is used by the next handshake, at most a second later; Reload does the same at once. Open connections
// keep the session that they have, so no request fails. Files that cannot be used are logged and change nothing.
package tlsfiles

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// checkPause is the least time between two checks, at handshakes, whether the files have changed.
const checkPause = time.Second

// ErrExpired is the error of a Reload whose new certificate is not valid now, while the present one is.
var ErrExpired = errors.New("the certificate is not valid now")

// Certificate is the certificate of a listener. It is safe for concurrent use.
type Certificate struct {
	setting   string // Begin of the two settings' names, such as "auction".
	file, key string
	log       *slog.Logger
	now       func() time.Time

	mu        sync.Mutex
	checkedAt time.Time
	modified  [2]time.Time
	pair      *tls.Certificate
}

// Load reads the certificate chain and its private key. setting is the section of the settings that name the files. The
// error says which setting is wrong. An expired certificate is loaded and logged: a node that refused to start with it
// would also be missing for its peers.
func Load(setting, file, key string, now func() time.Time, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{setting: setting, file: file, key: key, log: log, now: now, checkedAt: now()}
	c.modified = c.times()
	pair, err := c.read()
	if err != nil {
		return nil, err
	}
	if problem := invalidNow(pair, now()); problem != nil {
		log.Error("certificate_not_valid", slog.String("file", file), slog.Any("err", problem),
			slog.String("action", "clients refuse it; put a valid one into the file"))
	}
	c.pair = pair
	return c, nil
}

// read returns what the files hold now.
func (c *Certificate) read() (*tls.Certificate, error) {
	chain, err := os.ReadFile(c.file)
	if err != nil {
		return nil, fmt.Errorf("%s.tls_certificate: %w", c.setting, err)
	}
	key, err := os.ReadFile(c.key)
	if err != nil {
		return nil, fmt.Errorf("%s.tls_key: %w", c.setting, err)
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, fmt.Errorf("%s.tls_certificate %s and %s.tls_key %s: %w", c.setting, c.file, c.setting, c.key, err)
	}
	return &pair, nil
}

// invalidNow returns why a certificate is not valid at a time, or nil.
func invalidNow(pair *tls.Certificate, now time.Time) error {
	switch leaf := pair.Leaf; {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("%w: it expired at %s", ErrExpired, leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("%w: it begins at %s", ErrExpired, leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

func (c *Certificate) times() (t [2]time.Time) {
	for i, name := range []string{c.file, c.key} {
		if info, err := os.Stat(name); err == nil {
			t[i] = info.ModTime()
		}
	}
	return t
}

// Reload reads the files again and uses them from the next handshake on. After an error the present certificate stays
// in use. A valid certificate is not replaced by one that is not valid now.
func (c *Certificate) Reload() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reload(c.times())
}

// reload does the work of Reload. LOCKS: mu is held.
func (c *Certificate) reload(times [2]time.Time) error {
	pair, err := c.read()
	if err == nil && invalidNow(c.pair, c.now()) == nil {
		err = invalidNow(pair, c.now())
	}
	if err != nil {
		c.log.Error("certificate_reload_failed", slog.Any("err", err),
			slog.String("action", "the present certificate stays in use; repair the files"))
		return err
	}
	c.pair, c.modified = pair, times
	c.log.Info("certificate_reloaded", slog.String("file", c.file), slog.Time("not_after", pair.Leaf.NotAfter))
	return nil
}

// current returns the certificate of the next handshake, and reloads the files when they have changed.
func (c *Certificate) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.checkedAt) >= checkPause {
		c.checkedAt = now
		if times := c.times(); times != c.modified {
			_ = c.reload(times) // It is logged, and tried again after the next checkPause.
		}
	}
	return c.pair
}

// NotAfter returns when the certificate expires.
func (c *Certificate) NotAfter() time.Time { return c.current().Leaf.NotAfter }

// Config returns the TLS settings of a listener that offers the given protocols, as NewConfig does.
func (c *Certificate) Config(protocols ...string) *tls.Config {
	return NewConfig(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil }, protocols...)
}

// NewConfig returns the TLS settings of a listener that has the certificates of get and offers the given protocols, the
// preferred one first: TLS 1.2 with forward secrecy and authenticated encryption, or TLS 1.3.
func NewConfig(get func(*tls.ClientHelloInfo) (*tls.Certificate, error), protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		CipherSuites: []uint16{ // Of TLS 1.2. Those of TLS 1.3 are fixed and all modern.
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		NextProtos:     protocols,
		GetCertificate: get,
	}
}
