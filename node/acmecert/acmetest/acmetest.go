// Package acmetest is a certificate authority that speaks the part of ACME (RFC 8555) that Gavel uses, for tests. It
// verifies names as RFC 8737 says (tls-alpn-01), by real handshakes. It does not check signatures of requests.
package acmetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/acme"
)

// Authority is a certificate authority. It ends with its test.
type Authority struct {
	server *httptest.Server
	key    *ecdsa.PrivateKey
	root   *x509.Certificate
	ended  context.Context //nolint:containedctx // That of the test, for handlers that wait.

	mu         sync.Mutex
	due        int // How many certificates are due for renewal when they are issued.
	issued     int
	nonces     int
	thumbprint string // Of the key of the account.
	orders     []*order

	address   string // Where the names lead, from when reachable is closed.
	reachable chan struct{}
}

// order is an order of a certificate for one name.
type order struct {
	host      string
	token     string
	validated chan struct{} // Closed when the name was verified.
	invalid   error         // Why it is not valid. Read after validated.
	asked     bool          // The verification has begun.
	chain     []byte        // PEM, when the certificate was issued.
}

// New starts an authority. The first certificates, as many as due says, are due for renewal when they are issued.
func New(t *testing.T, due int) *Authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	a := &Authority{key: key, root: root, due: due, ended: t.Context(), reachable: make(chan struct{})}
	a.server = httptest.NewServer(a)
	t.Cleanup(a.server.Close)
	return a
}

// Directory returns the URL of the directory.
func (a *Authority) Directory() string { return a.server.URL + "/directory" }

// Roots returns what clients trust that trust the authority.
func (a *Authority) Roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.root)
	return pool
}

// Resolve says where all names lead. Verifications wait for it.
func (a *Authority) Resolve(address string) {
	a.address = address
	close(a.reachable)
}

// Issued returns the number of certificates that were issued. Their serial numbers count from 1.
func (a *Authority) Issued() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.issued
}

// request is what of a signed request counts here.
type request struct {
	JWK struct{ X, Y string }
	// The payload of a new order and of a CSR.
	Identifiers []struct{ Value string }
	CSR         string
}

func read(r *http.Request) (q request, err error) {
	var signed struct{ Protected, Payload string }
	if err := json.NewDecoder(r.Body).Decode(&signed); err != nil {
		return q, err
	}
	for _, part := range []string{signed.Protected, signed.Payload} {
		text, err := base64.RawURLEncoding.DecodeString(part)
		if err == nil && len(text) > 0 { // A request that only reads has no payload.
			err = json.Unmarshal(text, &q)
		}
		if err != nil {
			return q, err
		}
	}
	return q, nil
}

// ServeHTTP answers one request.
func (a *Authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.nonces++
	w.Header().Set("Replay-Nonce", strconv.Itoa(a.nonces))
	a.mu.Unlock()
	what, number, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch what {
	case "directory":
		url := a.server.URL
		answer(w, http.StatusOK, map[string]any{"newNonce": url + "/nonce", "newAccount": url + "/account", "newOrder": url + "/order"})
		return
	case "nonce":
		return
	}
	q, err := read(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch {
	case what == "account":
		a.account(w, q)
	case what == "order" && number == "":
		a.newOrder(w, q)
	default:
		n, err := strconv.Atoi(number)
		a.mu.Lock()
		known := err == nil && n >= 0 && n < len(a.orders)
		var o *order
		if known {
			o = a.orders[n]
		}
		a.mu.Unlock()
		if !known {
			http.NotFound(w, r)
			return
		}
		a.serveOrder(w, what, n, o, q)
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // The client notices what is missing.
}

// account makes an account, of which only the key counts.
func (a *Authority) account(w http.ResponseWriter, q request) {
	var point []byte
	for _, part := range []string{q.JWK.X, q.JWK.Y} {
		b, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		point = append(point, b...)
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append([]byte{4}, point...))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	thumbprint, err := acme.JWKThumbprint(key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	a.thumbprint = thumbprint
	a.mu.Unlock()
	w.Header().Set("Location", a.server.URL+"/account/0")
	answer(w, http.StatusCreated, map[string]any{"status": "valid"})
}

func (a *Authority) newOrder(w http.ResponseWriter, q request) {
	if len(q.Identifiers) != 1 {
		http.Error(w, "one name is expected", http.StatusBadRequest)
		return
	}
	o := &order{host: q.Identifiers[0].Value, token: rand.Text(), validated: make(chan struct{})}
	a.awaitNoAnswer(o.host)
	a.mu.Lock()
	a.orders = append(a.orders, o)
	n := len(a.orders) - 1
	a.mu.Unlock()
	a.describe(w, http.StatusCreated, n, o)
}

// awaitNoAnswer waits until a name that was verified before has no answer any more. The client removes its answer in the
// background, by name alone; if that came late, it would remove the answer to the next order. A real authority gets that
// order months later.
func (a *Authority) awaitNoAnswer(host string) {
	a.mu.Lock()
	known := slices.ContainsFunc(a.orders, func(o *order) bool { return o.host == host && o.asked })
	a.mu.Unlock()
	for known && a.ended.Err() == nil {
		conn, err := a.ask(host)
		if err != nil {
			return
		}
		_ = conn.Close() // Nothing was sent.
		time.Sleep(time.Millisecond)
	}
}

// ask makes the handshake of RFC 8737 with a name.
func (a *Authority) ask(host string) (net.Conn, error) {
	d := tls.Dialer{Config: &tls.Config{
		ServerName: host, NextProtos: []string{acme.ALPNProto}, InsecureSkipVerify: true, //nolint:gosec // It is a question, not a certificate.
	}}
	return d.DialContext(a.ended, "tcp", a.address)
}

// status returns the status of an order or of its authorization; done is that of one whose name was verified.
func (o *order) status(done string) string {
	select {
	case <-o.validated:
	default:
		return "pending"
	}
	if o.invalid != nil {
		return "invalid"
	}
	return done
}

// describe answers with the order.
func (a *Authority) describe(w http.ResponseWriter, status, n int, o *order) {
	url := a.server.URL
	body := map[string]any{
		"authorizations": []string{fmt.Sprintf("%s/authorization/%d", url, n)}, "finalize": fmt.Sprintf("%s/finalize/%d", url, n),
		"status": o.status("ready"),
	}
	a.mu.Lock()
	if o.chain != nil {
		body["status"], body["certificate"] = "valid", fmt.Sprintf("%s/certificate/%d", url, n)
	}
	a.mu.Unlock()
	w.Header().Set("Location", fmt.Sprintf("%s/order/%d", url, n))
	answer(w, status, body)
}

// serveOrder answers a request about one order.
func (a *Authority) serveOrder(w http.ResponseWriter, what string, n int, o *order, q request) {
	challenge := map[string]any{
		"type": "tls-alpn-01", "url": fmt.Sprintf("%s/challenge/%d", a.server.URL, n), "token": o.token, "status": "pending",
	}
	a.mu.Lock()
	asked := o.asked
	o.asked = asked || what == "challenge"
	a.mu.Unlock()
	switch what {
	case "challenge":
		if !asked {
			go func() {
				o.invalid = a.verify(o)
				close(o.validated)
			}()
		}
		answer(w, http.StatusOK, challenge)
	case "authorization":
		if asked { // The answer comes with the result, so that nobody has to ask again.
			select {
			case <-o.validated:
			case <-a.ended.Done():
			}
		}
		answer(w, http.StatusOK, map[string]any{
			"status": o.status("valid"), "identifier": map[string]any{"type": "dns", "value": o.host}, "challenges": []any{challenge},
		})
	case "order":
		a.describe(w, http.StatusOK, n, o)
	case "finalize":
		if err := a.issue(o, q.CSR); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		a.describe(w, http.StatusOK, n, o)
	case "certificate":
		a.mu.Lock()
		chain := o.chain
		a.mu.Unlock()
		_, _ = w.Write(chain) // The client notices what is missing.
	default:
		http.Error(w, "no such resource", http.StatusNotFound)
	}
}

// verify checks the answer of the name of an order.
func (a *Authority) verify(o *order) error {
	select {
	case <-a.reachable:
	case <-a.ended.Done():
		return a.ended.Err()
	}
	conn, err := a.ask(o.host)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()         // Nothing was sent.
	state := conn.(*tls.Conn).ConnectionState() //nolint:forcetypeassert // What a tls.Dialer gives.
	if state.NegotiatedProtocol != acme.ALPNProto {
		return fmt.Errorf("the protocol is %q", state.NegotiatedProtocol)
	}
	a.mu.Lock()
	sum := sha256.Sum256([]byte(o.token + "." + a.thumbprint))
	a.mu.Unlock()
	want, err := asn1.Marshal(sum[:])
	if err != nil {
		return err
	}
	leaf := state.PeerCertificates[0]
	if len(leaf.DNSNames) != 1 || leaf.DNSNames[0] != o.host {
		return fmt.Errorf("the answer is for %q", leaf.DNSNames)
	}
	for _, e := range leaf.Extensions {
		if e.Id.Equal(asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 31}) && e.Critical && string(e.Value) == string(want) {
			return nil
		}
	}
	return fmt.Errorf("the answer for %s is not that of the account", o.host)
}

// issue makes the certificate of an order.
func (a *Authority) issue(o *order, encoded string) error {
	if o.status("ready") != "ready" {
		return fmt.Errorf("the name %s was not verified", o.host)
	}
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return err
	}
	csr, err := x509.ParseCertificateRequest(raw)
	if err != nil {
		return err
	}
	if err := csr.CheckSignature(); err != nil {
		return err
	}
	if len(csr.DNSNames) != 1 || csr.DNSNames[0] != o.host {
		return fmt.Errorf("the request is for %q, the order for %q", csr.DNSNames, o.host)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.issued++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(a.issued)), Subject: pkix.Name{CommonName: o.host}, DNSNames: csr.DNSNames,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 0, 90),
	}
	if a.issued <= a.due { // Ten days are left of ninety.
		template.NotBefore, template.NotAfter = time.Now().AddDate(0, 0, -80), time.Now().AddDate(0, 0, 10)
	}
	leaf, err := x509.CreateCertificate(rand.Reader, template, a.root, csr.PublicKey, a.key)
	if err != nil {
		return err
	}
	for _, raw := range [][]byte{leaf, a.root.Raw} {
		o.chain = append(o.chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})...)
	}
	return nil
}
