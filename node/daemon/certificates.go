package daemon

import (
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/node/acmecert"
	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/node/tlsfiles"
)

// certificates are the certificates of the listeners for clients; nil: the listener speaks plain HTTP. That of the
// management listener comes from files or by ACME.
type certificates struct {
	auction, management *tlsfiles.Certificate
	managementACME      *acmecert.Manager
}

// loadCertificates reads the certificates before a port is bound, so that a wrong file stops the start at once.
func (n *node) loadCertificates(context.Context) (err error) {
	if a := n.cfg.Auction; a.TLS() {
		if n.certificates.auction, err = tlsfiles.Load("auction", a.TLSCertificate, a.TLSKey, time.Now, n.log); err != nil {
			return err
		}
	}
	switch m := n.cfg.Management; {
	case len(m.ACME.Hosts) > 0:
		n.certificates.managementACME, err = acmecert.New(acmecert.Options{
			Hosts: m.ACME.Hosts, Email: m.ACME.Email, Directory: m.ACME.Directory, Dir: n.cfg.ACMEDir(), Log: n.log,
		})
	case m.TLS():
		n.certificates.management, err = tlsfiles.Load("management", m.TLSCertificate, m.TLSKey, time.Now, n.log)
	}
	if err != nil {
		return err
	}
	if plain := n.cfg.PlainBeyondLoopback(); len(plain) > 0 {
		n.log.Warn("plain_http_accepted", slog.String("addresses", strings.Join(plain, ", ")),
			slog.String("hint", "server.plain_http is set: API keys arrive unencrypted unless a TLS proxy or a private network is in front"))
	}
	return nil
}

// auctionTLS returns the TLS settings of the auction listener, or nil for plain HTTP.
func (c *certificates) auctionTLS() *tls.Config {
	if c.auction == nil {
		return nil
	}
	return c.auction.Config("http/1.1")
}

// managementTLS returns the TLS settings of the management listener, or nil for plain HTTP.
func (c *certificates) managementTLS() *tls.Config { return c.managementConfig(manage.Protocols...) }

// startupManagementTLS is managementTLS for the server that answers during the start, which speaks HTTP/1.1 only.
func (c *certificates) startupManagementTLS() *tls.Config { return c.managementConfig("http/1.1") }

func (c *certificates) managementConfig(protocols ...string) *tls.Config {
	switch {
	case c.managementACME != nil:
		return tlsfiles.NewConfig(c.managementACME.Certificate, append(slices.Clone(protocols), acmecert.Protocol)...)
	case c.management != nil:
		return c.management.Config(protocols...)
	}
	return nil
}

// orderCertificates begins to get and to renew certificates by ACME. REQUIRES: the management listener is open, because
// the authority connects to it.
func (n *node) orderCertificates(ctx context.Context) {
	if n.certificates.managementACME == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	go n.certificates.managementACME.Run(ctx)
	n.push("certificate orders", func(context.Context) error { cancel(); return nil })
}

// reload reads the files of all certificates again, those of the peers included. What cannot be used is logged.
func (n *node) reload() {
	for _, c := range []*tlsfiles.Certificate{n.certificates.auction, n.certificates.management} {
		if c != nil {
			_ = c.Reload() // It is logged.
		}
	}
	n.raft.ReloadCertificates()
}

// reloadOnSignal calls reload for every value of signals, until ctx ends.
func (n *node) reloadOnSignal(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			n.reload()
		}
	}
}

// scrapeCertificates reads when the certificates expire.
func (n *node) scrapeCertificates(out *metrics.Node) {
	add := func(listener string, at time.Time) {
		out.Certificates = append(out.Certificates, metrics.Certificate{Listener: listener, NotAfter: at})
	}
	if c := n.certificates.auction; c != nil {
		add("auction", c.NotAfter())
	}
	if c := n.certificates.management; c != nil {
		add("management", c.NotAfter())
	}
	if c := n.certificates.managementACME; c != nil {
		add("management", c.NotAfter())
	}
	if at, ok := n.raft.CertificateNotAfter(); ok {
		add("peer", at)
	}
}
