package operator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// Files of a directory of certificates. A node has NAME.crt and NAME.key.
const (
	AuthorityCertificate = "ca.crt"
	AuthorityKey         = "ca.key"
)

// Lifetimes of what WriteCertificates makes.
const (
	authorityYears = 10
	nodeYears      = 2
)

// WriteCertificates creates a certificate for each node, with the node id as its DNS name, signed by the authority in
// the directory, which is created when there is none. A later call with more nodes adds them. It never overwrites a
// file: an existing certificate or key of a node is an error.
func WriteCertificates(dir string, now time.Time, nodes ...string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	authority, key, err := loadAuthority(dir)
	if errors.Is(err, os.ErrNotExist) {
		authority, key, err = makeAuthority(dir, now)
	}
	if err != nil {
		return fmt.Errorf("the authority in %s: %w", dir, err)
	}
	for _, node := range nodes {
		if err := makeNode(dir, node, now, authority, key); err != nil {
			return fmt.Errorf("the certificate of %s: %w", node, err)
		}
	}
	return nil
}

// MissingCertificates returns the nodes without a certificate in dir. A key is written before its certificate, so a node
// with a certificate has both.
func MissingCertificates(dir string, nodes []string) []string {
	var missing []string
	for _, node := range nodes {
		if _, err := os.Stat(filepath.Join(dir, node+".crt")); err != nil {
			missing = append(missing, node)
		}
	}
	return missing
}

func loadAuthority(dir string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	certificate, err := readPEM(filepath.Join(dir, AuthorityCertificate), "CERTIFICATE")
	if err != nil {
		return nil, nil, err
	}
	authority, err := x509.ParseCertificate(certificate)
	if err != nil {
		return nil, nil, err
	}
	secret, err := readPEM(filepath.Join(dir, AuthorityKey), "PRIVATE KEY")
	if err != nil {
		return nil, nil, fmt.Errorf("its certificate exists, but its key cannot be read: %v", err) //nolint:errorlint // os.ErrNotExist would mean that there is no authority.
	}
	parsed, err := x509.ParsePKCS8PrivateKey(secret)
	key, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok || !key.PublicKey.Equal(authority.PublicKey) {
		return nil, nil, errors.Join(errors.New("its key does not belong to its certificate"), err)
	}
	return authority, key, nil
}

func readPEM(path, kind string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("%s contains no PEM block of type %s", path, kind)
	}
	return block.Bytes, nil
}

func makeAuthority(dir string, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "gavel cluster authority"}, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(authorityYears, 0, 0),
	}
	key, err := sign(dir, AuthorityCertificate, AuthorityKey, template, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	authority, _, err := loadAuthority(dir)
	return authority, key, err
}

func makeNode(dir, node string, now time.Time, authority *x509.Certificate, by *ecdsa.PrivateKey) error {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: node}, DNSNames: []string{node}, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore:   now.Add(-time.Hour), NotAfter: now.AddDate(nodeYears, 0, 0),
	}
	_, err := sign(dir, node+".crt", node+".key", template, authority, by)
	return err
}

// sign creates a key and a certificate for it and writes both. Without an authority the certificate is self-signed.
func sign(dir, certificate, secret string, template, authority *x509.Certificate, by *ecdsa.PrivateKey) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if authority == nil {
		authority, by = template, key
	}
	const serialBits = 127
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits)); err != nil {
		return nil, err
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, authority, &key.PublicKey, by)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := writePEM(filepath.Join(dir, secret), "PRIVATE KEY", private, 0o600); err != nil {
		return nil, err
	}
	return key, writePEM(filepath.Join(dir, certificate), "CERTIFICATE", signed, 0o644)
}

// writePEM writes a new file. An existing file is an error, because there may be no other copy of the key in it.
func writePEM(path, kind string, content []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	return errors.Join(pem.Encode(f, &pem.Block{Type: kind, Bytes: content}), f.Sync(), f.Close())
}
