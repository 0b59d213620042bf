package delivery

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// spellings are notations of this machine, of private networks and of the metadata services of clouds.
var spellings = []string{
	"127.0.0.1", "127.1", "127.0.1", "127.127.127.127", "2130706433", "017700000001", "0177.0.0.1", "0177.1", "0x7f.0.0.1", "0x7f000001",
	"0x7F.1", "0X7f.0x0.0x0.0x1", "00000177.0.0.1", "127.0.0.1.", "0", "0.0.0.0", "localhost", "LOCALHOST", "localhost.", "a.localhost",
	"[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
	"[::ffff:0:127.0.0.1]", "[fe80::1]", "[fe80::1%25eth0]", "[fc00::1]", "[fd00:ec2::254]", "[fec0::1]", "[2001:db8::1]", "[ff02::1]",
	"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.100.100.200", "169.254.169.254", "[::ffff:169.254.169.254]",
	"2852039166", "0xa9fea9fe", "169.254.43518", "192.0.0.192", "198.18.0.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
}

// TestSpellings: whatever way a private address is written, it is refused when it is registered and when it is sent to.
func TestSpellings(t *testing.T) {
	c := NewClient(false)
	for _, host := range spellings {
		target := "https://" + host + "/hook"
		if err := Check(target, false); err == nil {
			t.Errorf("%s can be registered", target)
		}
		if err := c.Post(t.Context(), target, "s", nil); !errors.Is(err, ErrForbidden) || !Permanent(err) {
			t.Errorf("%s: %v", target, err)
		}
	}
	for _, bad := range []string{
		"", "x", "/hook", "https://", "http://example.com/", "ftp://example.com/", "https://user@example.com/", "https://user:pass@example.com/",
		"https:example.com", "https://example.com/#x", "https://ex ample.com/", "https://example.com/" + strings.Repeat("x", 2083), "//example.com/",
		"javascript:alert(1)", "https://[::1", "https://example.com:99999999999999/\x00",
	} {
		if err := Check(bad, false); err == nil {
			t.Errorf("%q can be registered", bad)
		}
	}
	for _, good := range []string{"https://example.com/hook", "https://example.com:8443/?a=b", "https://8.8.8.8/", "https://[2606:4700::1111]/", "https://1and1.example/"} {
		if err := Check(good, false); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, local := range []string{"http://127.0.0.1:1/", "http://localhost:1/", "http://[::1]:1/", "https://localhost/"} {
		if Check(local, true) != nil || Check(local, false) == nil {
			t.Errorf("%s is for development only", local)
		}
	}
	if Check("http://10.0.0.1/", true) == nil || Check("http://example.com/", true) == nil {
		t.Error("development opens more than this machine")
	}
}

// TestDialer: the address that a name resolves to is checked when the socket connects, so a name that first was public and then
// is not (DNS rebinding) reaches nothing.
func TestDialer(t *testing.T) {
	for _, address := range []string{"127.0.0.1:443", "[::1]:443", "[::ffff:127.0.0.1]:443", "10.1.2.3:443", "169.254.169.254:80", "[fd00:ec2::254]:80", "100.64.1.1:1", "0.0.0.0:1", "x"} {
		if checkDial(address, false) == nil {
			t.Errorf("a socket may connect to %s", address)
		}
	}
	if checkDial("127.0.0.1:1", true) != nil || checkDial("10.0.0.1:1", true) == nil || checkDial("93.184.216.34:443", false) != nil ||
		checkDial("[::ffff:93.184.216.34]:443", false) != nil {
		t.Error("the rules of the dialer are wrong")
	}
}

// TestRebinding gives a client the name of a server on this machine, as an attacker's name server would after the check of
// the address: the connection is refused before it is made.
func TestRebinding(t *testing.T) {
	var reached atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	c := NewClient(false)
	dial := c.http.Transport.(*http.Transport).DialContext
	c.http.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dial(ctx, network, server.Listener.Addr().String()) // What rebind.example.com resolves to now.
	}
	if err := c.Post(t.Context(), "https://rebind.example.com/", "s", nil); !errors.Is(err, ErrForbidden) {
		t.Errorf("a name that points here now: %v", err)
	}
	if reached.Load() > 0 {
		t.Error("the server was reached")
	}
}

// TestPost checks what is sent and how answers are classified.
func TestPost(t *testing.T) {
	var status atomic.Int32
	var got atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.Store(r.Method + " " + r.URL.Path + " " + r.Header.Get(SignatureHeader) + " " + string(body))
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(int(status.Load()))
	}))
	defer server.Close()
	c := NewClient(true)
	defer c.Close()
	for code, want := range map[int]struct{ failed, permanent bool }{
		200: {}, 204: {}, 299: {}, 302: {true, true}, 307: {true, true}, 400: {true, true}, 404: {true, true},
		429: {true, false}, 500: {true, false}, 503: {true, false},
	} {
		status.Store(int32(code))
		err := c.Post(t.Context(), server.URL+"/hook", "key", []byte("The quick brown fox jumps over the lazy dog"))
		if (err != nil) != want.failed || Permanent(err) != want.permanent {
			t.Errorf("%d: %v", code, err)
		}
	}
	// A well-known test vector: HMAC-SHA-256 of this sentence with the key "key".
	const want = "POST /hook sha256=f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8 The quick brown fox jumps over the lazy dog"
	if got.Load() != want {
		t.Errorf("sent %q", got.Load())
	}
	server.Close()
	if err := c.Post(t.Context(), server.URL, "key", nil); err == nil || Permanent(err) {
		t.Errorf("nobody there: %v", err)
	}
}
