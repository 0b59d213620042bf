package hotpath_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/hotpath"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
)

// testServer is a server on loopback with a small market.
type testServer struct {
	*servingtest.Node
	server *hotpath.Server
	addr   string
}

func open(t *testing.T, change func(*hotpath.Options)) *testServer {
	t.Helper()
	d := &testServer{Node: servingtest.New(servingtest.Spec{Bids: 100})}
	o := hotpath.Options{
		Core: d.Core, Metrics: d.Metrics, Log: d.Deps.Log, NoDate: true, ManagementAddr: "127.0.0.1:8081",
	}
	if change != nil {
		change(&o)
	}
	d.server = hotpath.New(o)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.addr = l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- d.server.Serve(l) }()
	t.Cleanup(func() {
		if err := d.server.Shutdown(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
		<-done
	})
	return d
}

func (d *testServer) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return c
}

// exchange sends raw bytes on a new connection and returns everything that is received until it is closed.
func (d *testServer) exchange(t *testing.T, raw string) string {
	t.Helper()
	c := d.dial(t)
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	_ = c.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(c)
	return string(answer)
}

func (d *testServer) post(key, path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", path, key, len(body), body)
}

const auctionBody = `{"auctions":[{"type":"listings","slots":2,"products":{"ids":["p-0000001","p-0000002","nobody"]}}]}`

// refusal is the error object of /v2.
type refusal struct{ ErrCode, DocURL, Message, Error string }

func readRefusal(t *testing.T, r io.Reader) refusal {
	t.Helper()
	var members map[string]string
	if err := json.NewDecoder(r).Decode(&members); err != nil || len(members) != 4 {
		t.Fatalf("the body is not an error object of four members: %v, %v", members, err)
	}
	return refusal{members["errCode"], members["docUrl"], members["message"], members["error"]}
}

func TestAuctionOverTheWire(t *testing.T) {
	d := open(t, nil)
	c := d.dial(t)
	r := bufio.NewReader(c)
	for range 3 { // The connection is kept.
		_, _ = io.WriteString(c, d.post(d.AuctionKey, "/v2/auctions", auctionBody))
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != 201 || strings.Count(string(body), `"resolvedBidId"`) != 2 {
			t.Fatalf("%d %s", answer.StatusCode, body)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
			"Access-Control-Allow-Origin": "*", "Server": "",
		} {
			if answer.Header.Get(name) != value {
				t.Errorf("%s: %q, want %q", name, answer.Header.Get(name), value)
			}
		}
	}
}

func TestChunkedAndExpect(t *testing.T) {
	d := open(t, nil)
	head := "POST /v2/auctions HTTP/1.1\r\nHost: x\r\nAuthorization: bearer   " + d.AuctionKey + "\r\nConnection: close\r\n"
	chunked := head + "Transfer-Encoding: chunked\r\n\r\n" +
		fmt.Sprintf("a\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", auctionBody[:10], len(auctionBody)-10, auctionBody[10:])
	if answer := d.exchange(t, chunked); !strings.HasPrefix(answer, "HTTP/1.1 201 ") {
		t.Errorf("chunked: %s", answer)
	}
	for _, value := range []string{"100-continue", "100-Continue"} { // RFC 9110, section 10.1.1: in whatever case.
		expect := head + fmt.Sprintf("Expect: %s\r\nContent-Length: %d\r\n\r\n%s", value, len(auctionBody), auctionBody)
		if answer := d.exchange(t, expect); !strings.HasPrefix(answer, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 ") {
			t.Errorf("Expect: %s: %s", value, answer)
		}
	}
}

func TestErrorsKeepTheConnection(t *testing.T) {
	d := open(t, nil)
	c := d.dial(t)
	r := bufio.NewReader(c)
	for _, step := range []struct {
		request string
		status  int
		errCode string
	}{
		{d.post("nonsense", "/v2/auctions", auctionBody), 401, "invalid_api_key"},
		{d.post(d.ManagementKey, "/v2/auctions", auctionBody), 403, "invalid_api_key"},
		{d.post(d.AuctionKey, "/v2/auctions", `{"auctions"`), 400, "invalid_json"},
		{d.post(d.AuctionKey, "/v2/auctions", ""), 400, "empty_request"},
		{d.post(d.AuctionKey, "/v2/events", strings.Repeat(" ", 1<<20+1)), 400, "bad_request"},
		{"GET /v2/auctions HTTP/1.1\r\nHost: x\r\n\r\n", 405, "method_not_allowed"},
		{"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", 404, "resource_not_found"},
	} {
		_, _ = io.WriteString(c, step.request)
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := readRefusal(t, answer.Body)
		_, _ = io.Copy(io.Discard, answer.Body)
		if answer.StatusCode != step.status || got.ErrCode != step.errCode || got.Error != http.StatusText(step.status) {
			t.Errorf("%.60q: %d %+v, want %d %s", step.request, answer.StatusCode, got, step.status, step.errCode)
		}
	}
	_, _ = io.WriteString(c, d.post(d.AuctionKey, "/v2/auctions", auctionBody))
	if answer, err := http.ReadResponse(r, nil); err != nil || answer.StatusCode != 201 {
		t.Errorf("a good request after the bad ones: %v, %v", answer, err)
	}
}

func TestUnknownPathNamesTheOtherListener(t *testing.T) {
	d := open(t, nil)
	answer := d.exchange(t, "GET /public/v1/keys HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 404 ") || !strings.Contains(answer, "127.0.0.1:8081") {
		t.Error(answer)
	}
}

func TestOversizeBodyIsAnsweredAndNotReset(t *testing.T) {
	d := open(t, nil)
	for _, tc := range []struct{ name, key, errCode string }{
		{"with a key", d.AuctionKey, "bad_request"},
		{"without a key", "none", "invalid_api_key"}, // The key is checked before the body size.
	} {
		c := d.dial(t)
		sent := make(chan error, 1)
		go func() {
			_, err := io.WriteString(c, d.post(tc.key, "/v2/auctions", strings.Repeat("x", 10<<20)))
			sent <- err
		}()
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if got := readRefusal(t, answer.Body); got.ErrCode != tc.errCode || answer.StatusCode == 413 || !answer.Close {
			t.Errorf("%s: %d %+v", tc.name, answer.StatusCode, got)
		}
		if err = <-sent; err != nil {
			t.Errorf("%s: the body could not be sent to its end: %v", tc.name, err)
		}
	}
}

func TestOversizeChunkedBody(t *testing.T) {
	d := open(t, nil)
	chunk := "100000\r\n" + strings.Repeat("x", 1<<20) + "\r\n"
	c := d.dial(t)
	go func() {
		_, _ = io.WriteString(c, "POST /v2/auctions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+d.AuctionKey+
			"\r\nTransfer-Encoding: chunked\r\n\r\n"+strings.Repeat(chunk, 6)+"0\r\n\r\n")
	}()
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := readRefusal(t, answer.Body); answer.StatusCode != 400 || got.ErrCode != "bad_request" {
		t.Errorf("%d %+v", answer.StatusCode, got)
	}
}

func TestOversizeHeadIs431InJSON(t *testing.T) {
	d := open(t, nil)
	answer := d.exchange(t, "POST /v2/auctions HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("x", 17<<10)+"\r\n\r\n")
	r, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), nil)
	if err != nil {
		t.Fatalf("%v: %.300q", err, answer)
	}
	if got := readRefusal(t, r.Body); r.StatusCode != 431 || got.ErrCode != "bad_request" || got.Error != "Request Header Fields Too Large" {
		t.Errorf("%d %+v", r.StatusCode, got)
	}
	long := "POST /v2/auctions HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", 15<<10) + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
	if answer = d.exchange(t, long); !strings.HasPrefix(answer, "HTTP/1.1 401 ") {
		t.Errorf("a head below the limit: %.100q", answer)
	}
}

// TestSlowClients checks that the connection of a slow client is closed after the read timeout without an answer, because the
// client has not sent a complete request.
func TestSlowClients(t *testing.T) {
	d := open(t, func(o *hotpath.Options) { o.ReadTimeout = 300 * time.Millisecond })
	for name, sent := range map[string]string{
		"nothing sent":    "",
		"half a head":     "POST /v2/auctions HTTP/1.1\r\nHost: x\r\n",
		"bare line feeds": "POST /v2/auctions HTTP/1.1\nHost: x\n",
		"half a body":     "POST /v2/auctions HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{",
		"half a chunk":    "POST /v2/auctions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + d.AuctionKey + "\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := d.dial(t)
			_, _ = io.WriteString(c, sent)
			answer, err := io.ReadAll(c)
			if err != nil || len(answer) > 0 {
				t.Errorf("answered %q, %v; want a closed connection", answer, err)
			}
		})
	}
}

// TestDrippingBody checks that a body that is sent slowly does not extend its read timeout.
func TestDrippingBody(t *testing.T) {
	d := open(t, func(o *hotpath.Options) { o.ReadTimeout = 200 * time.Millisecond })
	c := d.dial(t)
	_, _ = io.WriteString(c, "POST /v2/auctions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
	go func() {
		for {
			if _, err := io.WriteString(c, " "); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection stays open as long as bytes are sent slowly")
	}
}

func TestSurplusConnectionsAreToldInJSON(t *testing.T) {
	// Both allowed connections are busy when the third comes.
	d := open(t, func(o *hotpath.Options) { o.Connections = 2 })
	d.Proposer.Block = make(chan struct{})
	defer close(d.Proposer.Block)
	for range 2 {
		_, _ = io.WriteString(d.dial(t), d.post(d.AuctionKey, "/v2/events", pageviewBody))
	}
	d.Proposer.WaitBlocked(2)
	c := d.dial(t)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := readRefusal(t, answer.Body); answer.StatusCode != 503 || got.ErrCode != "service_unavailable" ||
		answer.Header.Get("Retry-After") == "" || answer.Header.Get("X-Request-Id") == "" {
		t.Errorf("%d %+v", answer.StatusCode, got)
	}
}

const pageviewBody = `{"pageviews":[{"id":"1","occurredAt":"2020-01-01T00:00:00Z","opaqueUserId":"u","page":{"type":"home"}}]}`

// A draining server answers, accepts, and ends each connection with its next answer; it closes none that is idle.
func TestDrainEndsConnectionsAfterTheirAnswers(t *testing.T) {
	for name, change := range map[string]func(*hotpath.Options){"fast path": nil, "fasthttp": func(o *hotpath.Options) { o.WithoutFastPath = true }} {
		t.Run(name, func(t *testing.T) {
			d := open(t, change)
			request := d.post(d.AuctionKey, "/v2/auctions", `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p1"]}}]}`)
			ask := func(c net.Conn, want bool) {
				t.Helper()
				_, _ = io.WriteString(c, request)
				answer, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil || answer.StatusCode != http.StatusCreated || answer.Close != want {
					t.Fatalf("%+v, %v", answer, err)
				}
			}
			kept, idle := d.dial(t), d.dial(t)
			ask(kept, false)
			ask(idle, false)
			d.server.Drain()
			time.Sleep(20 * time.Millisecond) // An idle connection would be closed by now.
			ask(kept, true)
			ask(d.dial(t), true) // Connections are still accepted.
			ask(idle, true)
			if n, err := idle.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("the connection stays open after its answer: %d, %v", n, err)
			}
		})
	}
}

// An answer has its time to be written from when it is there: one that was waited for longer than that is sent.
func TestLateAnswersAreSent(t *testing.T) {
	const timeout = time.Second
	for name, without := range map[string]bool{"fast path": false, "fasthttp": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, func(o *hotpath.Options) { o.WriteTimeout, o.WithoutFastPath = timeout, without })
			d.Proposer.Block = make(chan struct{})
			c := d.dial(t)
			_, _ = io.WriteString(c, d.post(d.AuctionKey, "/v2/events", pageviewBody))
			d.Proposer.WaitBlocked(1)
			time.Sleep(timeout + hotpath.DeadlineSlack + 100*time.Millisecond)
			close(d.Proposer.Block)
			if answer, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("%+v, %v", answer, err)
			}
		})
	}
}

// TestShutdownLosesNothing checks that Shutdown waits for the answer of an events request that waits for its commit, and that
// no new connection is accepted meanwhile.
func TestShutdownLosesNothing(t *testing.T) {
	d := open(t, nil)
	d.Proposer.Block = make(chan struct{})
	c := d.dial(t)
	body := `{"pageviews":[{"id":"1","occurredAt":"2020-01-01T00:00:00Z","opaqueUserId":"u","page":{"type":"home"}}]}`
	_, _ = io.WriteString(c, d.post(d.AuctionKey, "/v2/events", body))
	d.Proposer.WaitBlocked(1)

	stopped := make(chan error, 1)
	go func() { stopped <- d.server.Shutdown(t.Context()) }()
	for {
		late, err := net.Dial("tcp", d.addr)
		if err != nil {
			break
		}
		_ = late.Close()
	}
	close(d.Proposer.Block)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || answer.StatusCode != 200 || !answer.Close {
		t.Errorf("%v, %v", answer, err)
	}
	if err = <-stopped; err != nil {
		t.Error(err)
	}
	if n := len(d.Proposer.Records()); n != 1 {
		t.Errorf("%d records committed", n)
	}
}
