package operator

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCertificatesAreSignedForTheirNodeOnly(t *testing.T) {
	dir, now := filepath.Join(t.TempDir(), "certificates"), time.Now()
	if err := WriteCertificates(dir, now, "n1", "n2"); err != nil {
		t.Fatal(err)
	}
	if err := WriteCertificates(dir, now, "n3"); err != nil {
		t.Fatalf("a third node later: %v", err)
	}
	authority, err := os.ReadFile(filepath.Join(dir, AuthorityCertificate))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	for _, node := range []string{"n1", "n2", "n3"} {
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, node+".crt"), filepath.Join(dir, node+".key"))
		if err != nil {
			t.Fatal(err)
		}
		for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth} {
			if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: node, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
				t.Errorf("%s: %v", node, err)
			}
		}
		if err := pair.Leaf.VerifyHostname("n9"); err == nil {
			t.Errorf("%s passes for n9", node)
		}
		if info, err := os.Stat(filepath.Join(dir, node+".key")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", node, info.Mode(), err)
		}
	}
}

func TestCertificatesAreNeverOverwritten(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	if err := WriteCertificates(dir, now, "n1"); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "n1.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteCertificates(dir, now, "n1"); err == nil {
		t.Error("n1 was made again")
	}
	if after, err := os.ReadFile(filepath.Join(dir, "n1.key")); err != nil || string(after) != string(before) {
		t.Errorf("the key changed: %v", err)
	}
	if got := MissingCertificates(dir, []string{"n1", "n2"}); len(got) != 1 || got[0] != "n2" {
		t.Errorf("missing are %q, want n2", got)
	}
	if err := os.Remove(filepath.Join(dir, AuthorityKey)); err != nil {
		t.Fatal(err)
	}
	if err := WriteCertificates(dir, now, "n2"); err == nil {
		t.Error("an authority without its key signed, or a second one was made")
	}
}
