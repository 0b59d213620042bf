package ingress_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/hotpath"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/serving"
)

// listener is a listener that the corpus runs against.
type listener struct{ name, addr string }

// listeners starts both listeners of a node, and the auction listener without its fast path, with one core.
func listeners(t *testing.T, w *managetest.Environment) []listener {
	t.Helper()
	var all []listener
	serve := func(name string, serve func(net.Listener) error, shutdown func(context.Context) error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() { defer close(done); _ = serve(l) }() // After Shutdown the error does not matter.
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			if err := shutdown(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			<-done
		})
		all = append(all, listener{name, l.Addr().String()})
	}
	for _, without := range []bool{false, true} {
		auctions := hotpath.New(hotpath.Options{
			Core: w.Core(), Metrics: serving.NewMetrics(), Log: slog.New(slog.DiscardHandler), NoDate: true, WithoutFastPath: without,
		})
		serve(map[bool]string{false: "auction listener", true: "auction listener without fast path"}[without], auctions.Serve, auctions.Shutdown)
	}
	management := w.HTTP()
	serve("management listener", func(l net.Listener) error { return management.Serve(w.Listener(l)) }, management.Shutdown)
	return all
}

// exchange sends raw bytes in pieces on a new connection and returns what is received until it is closed.
func exchange(t *testing.T, l listener, pieces ...string) string {
	t.Helper()
	c, err := net.Dial("tcp", l.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	for _, piece := range pieces {
		if _, err := io.WriteString(c, piece); err != nil {
			break // The connection was closed after a refusal, which the answer shows.
		}
	}
	_ = c.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(c) // A reset after the answer does not matter.
	return string(answer)
}

// statuses returns the statuses of the answers without 100.
func statuses(answer string) string {
	var all []string
	for line := range strings.SplitSeq(answer, "\r\n") {
		// The version of an answer may be 1.0. After a body without a line feed the next status line begins inside a line.
		if i := strings.Index(line, "HTTP/1."); i >= 0 && len(line) >= i+12 && line[i+9:i+12] != "100" {
			all = append(all, line[i+9:i+12])
		}
	}
	return strings.Join(all, " ")
}

const next = "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: next\r\n\r\n"

// TestFramingCorpus checks that both listeners answer every framing with the same status, and agree on where the next
// request begins.
func TestFramingCorpus(t *testing.T) {
	w := managetest.New(t)
	all := listeners(t, w)
	for _, f := range corpus(w.Keys["auction"]) {
		t.Run(f.name, func(t *testing.T) {
			for _, l := range all {
				want := f.want
				if l.name == "management listener" && f.management != "" {
					want = f.management
				}
				answer := exchange(t, l, f.raw+next)
				if got := statuses(answer); got != want {
					t.Errorf("%s: answers %q, want %q:\n%s", l.name, got, want, answer)
				}
				if strings.HasPrefix(want, "400") && len(want) == 3 {
					refusedForGood(t, l, answer)
				}
			}
		})
	}
}

// refusedForGood checks that nothing after a refused request was served. The auction listener refuses with the error object, and
// on the management listener net/http refuses in text when the fault is in the head.
func refusedForGood(t *testing.T, l listener, answer string) {
	t.Helper()
	if strings.Contains(answer, "X-Request-Id: next") {
		t.Errorf("%s: the bytes after the request were served as another one", l.name)
	}
	parts := []string{"Connection: close\r\n", "\r\nContent-Type: application/json\r\n", `{"errCode":"bad_request"`}
	if l.name == "management listener" && strings.Contains(answer, "text/plain") {
		parts = []string{"Connection: close\r\n", "\r\n\r\n400 Bad Request"}
	}
	for _, part := range parts {
		if !strings.Contains(answer, part) {
			t.Errorf("%s: the refusal has no %q:\n%s", l.name, part, answer)
		}
	}
}

// TestFramingOfTheManagementAPI checks that framings that are refused on /v2 are refused for the management API too, also
// after a valid request on the same connection, whose answer comes first and complete.
func TestFramingOfTheManagementAPI(t *testing.T) {
	w := managetest.New(t)
	all := listeners(t, w)
	management := all[len(all)-1]
	head := "PUT /public/v1/catalog-search-service/catalogs/vendors HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.Keys["management"] + "\r\n"
	good := head + "Content-Length: 35\r\n\r\n" + `{"vendors":[{"id":"v","name":"V"}]}`
	for name, bad := range map[string]string{
		"both lengths": "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "equal lengths": "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"a folded line": "X-A: a\r\n b\r\nContent-Length: 2\r\n\r\n{}", "a blank in a name": "X A: a\r\nContent-Length: 2\r\n\r\n{}",
		"a trailer": "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-A: a\r\n\r\n", "a broken chunk": "Transfer-Encoding: chunked\r\n\r\n2\r\n{}x\r\n0\r\n\r\n",
	} {
		answer := exchange(t, management, good, good+head+bad+next)
		if got := statuses(answer); got != "200 200 400" || strings.Contains(answer, "X-Request-Id: next") {
			t.Errorf("%s: %s\n%s", name, got, answer)
		}
	}
	answer := exchange(t, management, "GET /public/v1/catalog-search-service/catalogs/vendors?limit=", "1 HTTP/1.1\r\nHo", "st: x\r",
		"\nAuthorization: Bearer "+w.Keys["management"]+"\r\nTransfer-Encoding: chunk", "ed\r\n\r\n", "1\r", "\nx\r\n0", "\r\n\r", "\n"+next)
	if got := statuses(answer); got != "200 200" {
		t.Errorf("in pieces: %s\n%s", got, answer)
	}
}
