package hotpath_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/hotpath"
	"github.com/gavel-ads/gavel/node/limits"
)

// TestRefusalsDoNotWaitForTheBody checks that a request that is refused by its head is answered before its body is sent.
func TestRefusalsDoNotWaitForTheBody(t *testing.T) {
	for _, without := range []bool{false, true} {
		d := open(t, func(o *hotpath.Options) { o.ReadTimeout, o.WithoutFastPath = time.Hour, without })
		for name, tc := range map[string]struct {
			head   string
			status int
		}{
			"without a key":       {"POST /v2/auctions HTTP/1.1\r\nHost: x\r\nContent-Length: 4194304", 401},
			"below 64 KiB":        {"POST /v2/auctions HTTP/1.1\r\nHost: x\r\nContent-Length: 40000", 401},
			"in chunks":           {"POST /v2/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked", 401},
			"expects 100":         {"POST /v2/events HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10", 401},
			"a key of other kind": {"POST /v2/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + d.ManagementKey + "\r\nContent-Length: 1000000", 403},
			"no such path":        {"POST /v2/nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000", 404},
			"another method":      {"PUT /v2/events HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000", 405},
			"health":              {"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000", 200},
			"too large":           {"POST /v2/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + d.AuctionKey + "\r\nContent-Length: 4194305", 400},
			"ambiguous":           {"POST /v2/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 1000000", 400},
		} {
			t.Run(fmt.Sprintf("%s/without fast path=%v", name, without), func(t *testing.T) {
				c := d.dial(t)
				if name == "too large" {
					tc.head += "\r\n\r\n" + strings.Repeat(" ", 8<<10) // The server reads the first 8 KiB in any case.
				} else {
					tc.head += "\r\n\r\n"
				}
				_, _ = io.WriteString(c, tc.head)
				answer, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					t.Fatalf("no answer before the body: %v", err)
				}
				if answer.StatusCode != tc.status || !answer.Close {
					t.Errorf("%d, the connection is closed: %v, want %d and true", answer.StatusCode, answer.Close, tc.status)
				}
			})
		}
	}
}

// TestUnreadBodiesAreNoRequests checks that the body of a request that was answered without it is not read as a request.
func TestUnreadBodiesAreNoRequests(t *testing.T) {
	d := open(t, nil)
	for _, head := range []string{
		"POST /v2/auctions HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n",
		"POST /v2/auctions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"POST /v2/auctions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n",
		"POST /v2/auctions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + d.AuctionKey + "\r\nContent-Length: 5000000\r\n\r\n" + strings.Repeat(" ", 8<<10),
	} {
		answer := d.exchange(t, head+smuggled)
		if strings.Contains(answer, "X-Request-Id: smuggled") || strings.Count(answer, "HTTP/1.1 ") != 1 {
			t.Errorf("%.60q: %.200q", head, answer)
		}
	}
}

// TestAnnouncedBodiesTakeNoMemory checks that 300 heads that announce bodies of 4 MiB each, with a key and without, make the
// server allocate little.
func TestAnnouncedBodiesTakeNoMemory(t *testing.T) {
	for name, key := range map[string]bool{"with a key": true, "without a key": false} {
		t.Run(name, func(t *testing.T) {
			d := open(t, func(o *hotpath.Options) { o.ReadTimeout = time.Hour })
			head := "POST /v2/auctions HTTP/1.1\r\nHost: x\r\nContent-Length: 4194304\r\n"
			if key {
				head += "Authorization: Bearer " + d.AuctionKey + "\r\n"
			}
			before := allocated()
			const n = 300
			var all []net.Conn
			for range n {
				c := d.dial(t)
				_, _ = io.WriteString(c, head+"\r\n"+strings.Repeat(" ", 8<<10))
				all = append(all, c)
			}
			if !key { // When all of them are answered, the server has read all of them.
				for _, c := range all {
					if answer, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || answer.StatusCode != 401 {
						t.Fatal(answer, err)
					}
				}
			} else { // Connections are accepted in order, and each has a goroutine, which needs some time to read the head.
				for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline) && allocated()-before < n<<20; {
					time.Sleep(10 * time.Millisecond)
				}
			}
			if took := allocated() - before; took > n<<20 {
				t.Errorf("%d heads made the server allocate %d MiB", n, took>>20)
			}
		})
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestBudgetOfBodies checks that a body that does not fit the budget is refused with 503, that the connection is closed, and
// that its bytes are returned to the budget.
func TestBudgetOfBodies(t *testing.T) {
	bodies := limits.NewBytes(300<<10, 300<<10)
	d := open(t, func(o *hotpath.Options) { o.Bodies = bodies })
	large := d.post(d.AuctionKey, "/v2/auctions", strings.Repeat(" ", 200<<10)+auctionBody)
	for range 3 {
		c := d.dial(t)
		go func() { _, _ = io.WriteString(c, large) }()
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := readRefusal(t, answer.Body); answer.StatusCode != 503 || !answer.Close || answer.Header.Get("Retry-After") == "" || got.ErrCode != "service_unavailable" {
			t.Errorf("%d %v %+v", answer.StatusCode, answer.Close, got)
		}
	}
	c := d.dial(t)
	_, _ = io.WriteString(c, d.post(d.AuctionKey, "/v2/auctions", strings.Repeat(" ", 70<<10)+auctionBody))
	if answer, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || answer.StatusCode != 201 {
		t.Errorf("a body that fits: %v, %v", answer, err)
	}
	for deadline := time.Now().Add(5 * time.Second); bodies.Stats().Used > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%+v: not all bytes were returned", bodies.Stats())
		}
	}
	if s := bodies.Stats(); s.Refusals != 3 {
		t.Errorf("%+v", s)
	}
}

// TestSilentConnectionsAreReplaced opens more silent connections than the listener serves. A new connection with a key is
// still served, and an older one that had a valid key is not closed.
func TestSilentConnectionsAreReplaced(t *testing.T) {
	d := open(t, func(o *hotpath.Options) { o.Connections, o.ReadTimeout, o.IdleTimeout = 16, time.Hour, time.Hour })
	kept := d.dial(t)
	r := bufio.NewReader(kept)
	ask := func() {
		t.Helper()
		_, _ = io.WriteString(kept, d.post(d.AuctionKey, "/v2/auctions", auctionBody))
		answer, err := http.ReadResponse(r, nil)
		if err != nil || answer.StatusCode != 201 {
			t.Fatalf("%v, %v", answer, err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
	}
	ask()
	for i := range 200 {
		c := d.dial(t)
		switch i % 3 {
		case 1:
			_, _ = io.WriteString(c, "POST /v2/auctions HTTP/1.1\r\nHo")
		case 2:
			_, _ = io.WriteString(c, "GET /v2/auctions HTTP/1.1\r\nHo")
		}
	}
	ask()
	other := d.dial(t)
	_, _ = io.WriteString(other, d.post(d.AuctionKey, "/v2/auctions", auctionBody))
	if answer, err := http.ReadResponse(bufio.NewReader(other), nil); err != nil || answer.StatusCode != 201 {
		t.Errorf("a new connection: %v, %v", answer, err)
	}
	if s := d.server.Connections(); s.ClosedKeyless < 180 || s.ClosedKeyed != 0 || s.Open > 16 {
		t.Errorf("%+v", s)
	}
}
