package attack_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/hostile/attack"
)

// fake answers every request with success, as a node without any defence.
type fake struct {
	*httptest.Server
	mu   sync.Mutex
	from map[string]bool // The addresses that connections came from.
	seen []string        // Methods and paths, as they were sent.
	sub  string          // The vendor of the tokens that it returns.
}

func newFake(t *testing.T, sub string) *fake {
	t.Helper()
	f := &fake{from: map[string]bool{}, sub: sub}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	f.mu.Lock()
	f.from[host] = true
	f.seen = append(f.seen, r.Method+" "+r.URL.EscapedPath())
	f.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/forecast") {
		select { // This takes longer than an attacker waits that gives up.
		case <-r.Context().Done():
			return
		case <-time.After(2 * time.Second):
		}
	}
	if r.Header.Get("X-Request-Id") != "" {
		w.Header().Set("X-Request-Id", r.Header.Get("X-Request-Id"))
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		_, _ = io.Copy(io.Discard, r.Body) // It reads until the attacker closes the connection.
		return
	}
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"sub":%q}`, f.sub))
	if !strings.Contains(r.URL.Path, "/auth/vendors/v1") && f.sub == "v1" && strings.Contains(r.URL.Path, "/modal-service/") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	_, _ = fmt.Fprintf(w, `{"id":"i","campaignId":"c","authToken":"h.%s.s"}`, claims)
}

func (f *fake) address() string { return f.Listener.Addr().String() }

// target is three fakes and the marketplaces of all attackers.
func target(t *testing.T, sub string) (*attack.Target, *fake) {
	t.Helper()
	f := newFake(t, sub)
	silent, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	to := &attack.Target{Auction: f.address(), Manage: f.address(), Peer: silent.Addr().String(), Connections: 4, Quick: true, Tenants: map[string]attack.Tenant{}}
	for _, k := range attack.Kinds() {
		to.Tenants[k.Name] = attack.Tenant{MarketplaceID: "m", AuctionKey: "a", ManagementKey: "k"}
	}
	return to, f
}

// windowsMax bounds how many windows a test waits for a counter. The first one takes a second and each further one a second
// longer, because on a busy machine a second is too short for some attacks, however often it is tried.
const windowsMax = 12

// until attacks in windows until the results are as expected.
func until(t *testing.T, s *attack.Set, want func([]attack.Result) string) {
	t.Helper()
	missing := ""
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := range windowsMax {
		s.Attack(t.Context(), time.Duration(1+n)*time.Second)
		if missing = want(s.Results()); missing == "" {
			return
		}
	}
	t.Fatalf("%s after %d windows: %+v", missing, windowsMax, s.Results())
}

func TestEachAttackIsMade(t *testing.T) {
	for _, k := range attack.Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			to, f := target(t, "v1")
			s, err := attack.NewSet(to, []string{k.Name})
			if err != nil {
				t.Fatal(err)
			}
			until(t, s, func(all []attack.Result) string {
				for _, name := range k.Must {
					if len(all) != 1 || all[0].Counts[name] == 0 {
						return "no " + name
					}
				}
				return ""
			})
			f.mu.Lock()
			defer f.mu.Unlock()
			for host := range f.from {
				if !strings.HasPrefix(host, "127.0.1.") {
					t.Errorf("a connection came from %s", host)
				}
			}
		})
	}
}

func TestTokensOfAnotherVendorAreFound(t *testing.T) {
	for sub, breach := range map[string]bool{"v2": true, "v1": false} {
		to, f := target(t, sub)
		s, err := attack.NewSet(to, []string{"tokens"})
		if err != nil {
			t.Fatal(err)
		}
		until(t, s, func(all []attack.Result) string {
			switch found := all[0].Counts["token of another vendor"]; {
			case all[0].Counts["sent"] < 6:
				return "too few requests"
			case breach != (found > 0):
				return fmt.Sprintf("with tokens of %s %d breaches", sub, found)
			}
			return ""
		})
		if !slices.ContainsFunc(f.seen, func(path string) bool { return strings.Contains(path, "%61uth") }) {
			t.Errorf("no encoded path among %v", f.seen)
		}
	}
}

// A server that serves the bytes after an ambiguous request as another request is found.
func TestSmuggledRequestsAreFound(t *testing.T) {
	to, _ := target(t, "v1")
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nX-Request-Id: smuggled\r\nContent-Length: 0\r\n\r\n")
			_ = c.Close()
		}
	}()
	to.Auction = l.Addr().String()
	s, err := attack.NewSet(to, []string{"framing"})
	if err != nil {
		t.Fatal(err)
	}
	until(t, s, func(all []attack.Result) string {
		if all[0].Counts["smuggled request served"] == 0 {
			return "not found"
		}
		return ""
	})
}

// A connection that is closed is replaced, and none is left when the window has ended.
func TestHeldConnectionsAreRefilled(t *testing.T) {
	to, _ := target(t, "v1")
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var kept sync.WaitGroup
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for i := 0; ; i++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if i%2 == 0 {
				_ = c.Close()
				continue
			}
			kept.Go(func() {
				_, _ = io.Copy(io.Discard, c) // Ends when the attacker closes it.
				_ = c.Close()
			})
		}
	}()
	to.Peer = l.Addr().String()
	s, err := attack.NewSet(to, []string{"idle"})
	if err != nil {
		t.Fatal(err)
	}
	until(t, s, func(all []attack.Result) string {
		if c := all[0].Counts; c["closed by the node peer"] == 0 || c["most held peer"] == 0 {
			return "nothing was closed or held"
		}
		return ""
	})
	_ = l.Close()
	<-accepting
	gone := make(chan struct{})
	go func() {
		kept.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Fatal("a connection stayed open after the window")
	}
}

func TestTargetsHaveToBeOnLoopback(t *testing.T) {
	good := attack.Target{Auction: "127.0.0.1:1", Manage: "127.0.0.1:2", Peer: "127.0.0.1:3", Connections: 1}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for _, address := range []string{"192.0.2.1:80", "10.0.0.1:8080", "example.com:80", "127.0.0.1", "[::1]:80", "0.0.0.0:80"} {
		bad := good
		bad.Manage = address
		if _, err := attack.NewSet(&bad, nil); err == nil {
			t.Errorf("%s is taken", address)
		}
	}
	good.Connections = 100_000
	if good.Check() == nil {
		t.Error("any number of connections is taken")
	}
}

func TestNames(t *testing.T) {
	if kinds, err := attack.Named([]string{"idle", "quota"}); err != nil || len(kinds) != 2 || kinds[0].Name != "idle" {
		t.Errorf("%v %v", kinds, err)
	}
	if _, err := attack.Named([]string{"flood"}); err == nil || !strings.Contains(err.Error(), "framing") {
		t.Errorf("%v", err)
	}
}
