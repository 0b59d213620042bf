package cells

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// configure writes the configuration of a file of testdata and returns its path. A certificate is replaced by a generated one.
func configure(t *testing.T, program, name string) string {
	t.Helper()
	f := read(t, name)
	dir := t.TempDir()
	if f.Certificate != "" {
		f.Certificate = filepath.Join(dir, "balancer.pem")
		writeCertificate(t, f.Certificate)
	}
	text, err := Render(program, f)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, program+".conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// HAProxy accepts what is rendered for it.
func TestHAProxyAccepts(t *testing.T) {
	haproxy := program(t, "haproxy")
	for _, name := range []string{"two", "default"} {
		out, err := exec.CommandContext(t.Context(), haproxy, "-c", "-f", configure(t, "haproxy", name)).CombinedOutput()
		if err != nil || strings.Contains(string(out), "[WARNING]") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// nginx accepts what is rendered for it.
func TestNginxAccepts(t *testing.T) {
	nginx := program(t, "nginx")
	for _, name := range []string{"two", "default"} {
		dir := t.TempDir()
		out, err := exec.CommandContext(t.Context(), nginx, "-t", "-p", dir, "-c", nginxMain(t, dir, configure(t, "nginx", name))).CombinedOutput()
		if err != nil || strings.Contains(string(out), "[warn]") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// nginxMain writes a configuration that includes another one, as that of a distribution does, and returns its path. nginx keeps
// its files in dir, so it needs no rights.
func nginxMain(t *testing.T, dir, included string) string {
	t.Helper()
	var paths strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&paths, "%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	path := filepath.Join(dir, "main.conf")
	text := fmt.Sprintf("pid %s/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n%sinclude %s;\n}\n", dir, &paths, included)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// program returns the path of an installed program. Debian has nginx where only root finds it.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	if err != nil {
		t.Skipf("%s is not installed; on Debian: apt-get install %s", name, name)
	}
	return path
}

// writeCertificate writes a certificate and its key into one file, as the file of cells names it.
func writeCertificate(t *testing.T, path string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	of := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"ads.example.com"}, NotBefore: now, NotAfter: now.Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
