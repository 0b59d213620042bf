package hotpath_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/hotpath"
)

// TestFastPathAnswersAsFasthttp checks that the fast path and fasthttp give the same answer to a request: the same status,
// header fields and body.
func TestFastPathAnswersAsFasthttp(t *testing.T) {
	date := func(o *hotpath.Options) { o.NoDate = false }
	with, without := open(t, date), open(t, func(o *hotpath.Options) { o.NoDate, o.WithoutFastPath = false, true })
	for name, send := range map[string]func(d *testServer) string{
		"no such key": func(d *testServer) string { return d.post("nonsense", "/v2/auctions", auctionBody) },
		"forbidden":   func(d *testServer) string { return d.post(d.ManagementKey, "/v2/auctions", auctionBody) },
		"no JSON":     func(d *testServer) string { return d.post(d.AuctionKey, "/v2/auctions", `{"auctions"`) },
		"nothing":     func(d *testServer) string { return d.post(d.AuctionKey, "/v2/auctions/travel", "") },
		"no winners": func(d *testServer) string {
			return d.post(d.AuctionKey, "/v2/auctions", `{"auctions":[{"type":"listings","slots":2,"products":{"ids":["nobody"]}}]}`)
		},
		"an event": func(d *testServer) string {
			return d.post(d.AuctionKey, "/v2/events", `{"pageviews":[{"id":"1","occurredAt":"2020-01-01T00:00:00Z","opaqueUserId":"u","page":{"type":"home"}}]}`)
		},
	} {
		var got [2]*http.Response
		var bodies [2]string
		for i, d := range []*testServer{with, without} {
			c := d.dial(t)
			_, _ = io.WriteString(c, strings.Replace(send(d), "Host:", "X-Request-Id: r-1\r\nHost:", 1))
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(answer.Body)
			if _, err = http.ParseTime(answer.Header.Get("Date")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			answer.Header.Del("Date")
			got[i], bodies[i] = answer, string(body)
		}
		if got[0].Status != got[1].Status || bodies[0] != bodies[1] || !maps.EqualFunc(got[0].Header, got[1].Header, slices.Equal[[]string]) {
			t.Errorf("%s: %s %v %s\nwant %s %v %s", name, got[0].Status, got[0].Header, bodies[0], got[1].Status, got[1].Header, bodies[1])
		}
	}
}

// TestFastPathReadsRequestsInPieces sends requests in pieces of several sizes, and several requests at a time. All are answered
// in order, whether the fast path or fasthttp reads them.
func TestFastPathReadsRequestsInPieces(t *testing.T) {
	d := open(t, nil)
	ids := strings.Repeat(`"a-long-id-of-nobody",`, 1500)
	large := d.post(d.AuctionKey, "/v2/auctions", `{"auctions":[{"type":"listings","slots":2,"products":{"ids":[`+ids+`"p-0000001"]}}]}`)
	small := d.post(d.AuctionKey, "/v2/auctions", auctionBody)
	other := "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
	bad := d.post(d.AuctionKey, "/v2/auctions", `{"auctions":[]}`)
	for name, tc := range map[string]struct {
		text   string
		status []int
	}{
		"small":               {small, []int{201}},
		"large":               {large, []int{201}},
		"larger than it fits": {d.post(d.AuctionKey, "/v2/auctions", strings.Repeat(" ", 100_000)+auctionBody), []int{201}},
		"pipelined":           {small + large + bad + small, []int{201, 201, 400, 201}},
		"others among them":   {small + small + other + small + large, []int{201, 201, 200, 201, 201}},
		"many":                {strings.Repeat(small, 200), []int{201, 201, 201}},
	} {
		for _, piece := range []int{1 << 20, 1 << 14, 1000, 97} {
			t.Run(fmt.Sprintf("%s by %d", name, piece), func(t *testing.T) {
				t.Parallel()
				c := d.dial(t)
				go func() {
					for rest := tc.text; rest != ""; rest = rest[min(piece, len(rest)):] {
						_, _ = io.WriteString(c, rest[:min(piece, len(rest))])
					}
				}()
				r := bufio.NewReader(c)
				for i, want := range tc.status {
					answer, err := http.ReadResponse(r, nil)
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(answer.Body)
					if err != nil || answer.StatusCode != want {
						t.Fatalf("answer %d: %d, want %d: %s", i, answer.StatusCode, want, body)
					}
				}
			})
		}
	}
}

// TestFastPathClosesIdleConnections checks that an idle connection is closed when the server stops and after the idle timeout,
// both without an answer.
func TestFastPathClosesIdleConnections(t *testing.T) {
	for name, idle := range map[string]time.Duration{"stop": time.Hour, "idle": 100 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			d := open(t, func(o *hotpath.Options) { o.IdleTimeout = idle })
			c := d.dial(t)
			r := bufio.NewReader(c)
			_, _ = io.WriteString(c, d.post(d.AuctionKey, "/v2/auctions", auctionBody))
			answer, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			if idle == time.Hour {
				if err := d.server.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
				t.Errorf("%q, %v", rest, err)
			}
		})
	}
}

// TestFastPathReadTimeout checks that a request that is sent slowly does not extend its read timeout, on the fast path and in
// fasthttp.
func TestFastPathReadTimeout(t *testing.T) {
	d := open(t, func(o *hotpath.Options) { o.ReadTimeout = 200 * time.Millisecond })
	for _, beginning := range []string{"POST /v2/auctions HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n", "POST /v2/auctions HTTP/1.1\r\nX: "} {
		c := d.dial(t)
		_, _ = io.WriteString(c, d.post(d.AuctionKey, "/v2/auctions", auctionBody))
		r := bufio.NewReader(c)
		if _, err := http.ReadResponse(r, nil); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, beginning)
		go func() {
			for {
				if _, err := io.WriteString(c, "x"); err != nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		if _, err := io.Copy(io.Discard, r); err != nil {
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // Connections return it as it is.
				t.Error("the connection stays open as long as bytes are sent slowly")
			}
		}
	}
}
