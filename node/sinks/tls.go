package sinks

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// TLS says how a connection to a broker is encrypted. Files are read once.
type TLS struct {
	Enabled          bool
	Authority        string // File with the certificates of the broker's authorities, PEM; empty: those of the system.
	Certificate, Key string // Files of this client's certificate, PEM; empty: none.
}

// config returns nil when the connection is not encrypted.
func (t TLS) config() (*tls.Config, error) {
	if !t.Enabled {
		return nil, nil //nolint:nilnil // No configuration is none.
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.Authority != "" {
		text, err := os.ReadFile(t.Authority)
		if err != nil {
			return nil, fmt.Errorf("authority: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("authority: %s has no certificate in PEM form", t.Authority)
		}
	}
	if t.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(t.Certificate, t.Key)
		if err != nil {
			return nil, fmt.Errorf("certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
