//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// writeCertificates makes an authority and a certificate for every node, whose DNS name is the node id as the peer port requires, and
// writes dir/authority.pem, dir/n1.pem, dir/n1.key and so on.
func writeCertificates(dir string, nodes []string) error {
	const valid = 30 * 24 * time.Hour
	root, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nemesis peers"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(valid), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, &root.PublicKey, root)
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(dir, "authority.pem"), "CERTIFICATE", der); err != nil {
		return err
	}
	for i, id := range nodes {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 2)), Subject: pkix.Name{CommonName: id}, DNSNames: []string{id},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(valid), KeyUsage: x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		}, authority, &key.PublicKey, root)
		if err != nil {
			return err
		}
		secret, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return err
		}
		if err := errors.Join(
			writePEM(filepath.Join(dir, id+".pem"), "CERTIFICATE", der),
			writePEM(filepath.Join(dir, id+".key"), "EC PRIVATE KEY", secret),
		); err != nil {
			return err
		}
	}
	return nil
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
