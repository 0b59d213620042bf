package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const goodAuction = `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p1"]}}]}`

// wire is a TCP connection to a listener.
type wire struct {
	*testClient
	conn net.Conn
	r    *bufio.Reader
}

func (s *testClient) dial(url string) *wire {
	s.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second)) // Only a test that hangs reaches it.
	return &wire{s, conn, bufio.NewReader(conn)}
}

// send writes bytes unchanged. The listener may answer and close before it has read all of them.
func (l *wire) send(parts ...string) {
	for _, p := range parts {
		_, _ = io.WriteString(l.conn, p)
	}
}

// reply reads the next answer that is not 100 Continue.
func (l *wire) reply(method string) reply {
	l.Helper()
	for {
		resp, err := http.ReadResponse(l.r, &http.Request{Method: method})
		if err != nil {
			l.Fatalf("no answer: %v", err)
		}
		if resp.StatusCode == http.StatusContinue {
			continue
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			l.Fatal(err)
		}
		return reply{resp.StatusCode, resp.Header, body}
	}
}

// request returns the head of a request with a valid auction key; more are header lines.
func (s *testClient) request(method, target string, more ...string) string {
	return method + " " + target + " HTTP/1.1\r\nHost: gavel.example\r\nAuthorization: Bearer " + s.node.Keys.AuctionKey + "\r\n" +
		strings.Join(append(more, "\r\n"), "\r\n")
}

// libraryAnswer checks that net/http answered a request by itself: a status, and a line of text that is not the request's.
func (l *wire) libraryAnswer(r reply, status int) {
	l.Helper()
	text := strconv.Itoa(status) + " " + http.StatusText(status)
	if r.status != status || !strings.HasPrefix(string(r.body), text) || len(r.body) > 100 || len(r.header.Get("X-Request-Id")) > 0 {
		l.Errorf("%d %v %q, want net/http's answer %q", r.status, r.header, r.body, text)
	}
}

func length(body string) string { return fmt.Sprintf("Content-Length: %d", len(body)) }

// The path rule, on the wire, because clients and libraries clean paths before they send them.
func TestConformancePaths(t *testing.T) {
	s := startNode(t)
	text, err := os.ReadFile("testdata/conformance/paths.txt")
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(text)) {
		row = strings.TrimSuffix(row, "\n")
		if strings.HasPrefix(row, "#") {
			continue
		}
		status, code, method, target := "", "", "", ""
		if _, err := fmt.Sscan(row, &status, &code, &method, &target); err != nil {
			t.Fatalf("%s: %v", row, err)
		}
		for listener, url := range s.listeners() {
			t.Run(listener+" "+method+" "+target, func(t *testing.T) {
				l := s.inSubtest(t).dial(url)
				if method == "GET" || method == "HEAD" || method == "OPTIONS" {
					l.send(s.request(method, target))
				} else {
					l.send(s.request(method, target, length(goodAuction)) + goodAuction) // In one piece; the answer may be early.
				}
				r := l.reply(method)
				if listener == "management" && status == "400" { // The target is malformed.
					l.libraryAnswer(r, 400)
					return
				}
				got := r.errCode()
				if got == "" && method == "HEAD" {
					got = code // A HEAD has no body to read it from.
				}
				if got == "" {
					got = "-"
				}
				if fmt.Sprint(r.status) != status || got != code {
					t.Errorf("answered %d %s, want %s: %s", r.status, got, row, r.body)
				}
				if allow := r.header.Get("Allow"); (r.status == 405) != (allow != "") && r.status != 204 {
					t.Errorf("%d with Allow: %q", r.status, allow)
				}
				for name, values := range r.header {
					if len(values) != 1 {
						t.Errorf("%s came %d times: %q", name, len(values), values)
					}
				}
				if r.status >= 400 && method != "HEAD" {
					l.errorObject(r)
				}
				if r.header.Get("Access-Control-Allow-Origin") != "*" && !strings.Contains(target, "ealthz") && target != "*" {
					t.Errorf("no Access-Control-Allow-Origin: %v", r.header)
				}
				if r.header.Get("Location") != "" {
					t.Errorf("redirected: %v", r.header)
				}
			})
		}
	}
}

// Bodies come whole, in chunks, after a 100 Continue, over HTTP/1.0, one after the other on a connection and in a
// pipeline; the content type is anything.
func TestConformanceFraming(t *testing.T) {
	s := startNode(t)
	chunked := func(body string, size int) string {
		var b strings.Builder
		for c := range slices.Chunk([]byte(body), size) {
			fmt.Fprintf(&b, "%x;ext=1\r\n%s\r\n", len(c), c)
		}
		return b.String() + "0\r\n\r\n"
	}
	big := strings.Repeat(" ", 4<<20-len(goodAuction)) + goodAuction
	for name, sent := range map[string]string{
		"plain":             s.request("POST", "/v2/auctions", length(goodAuction)) + goodAuction,
		"no content type":   s.request("POST", "/v2/auctions", length(goodAuction)) + goodAuction,
		"charset":           s.request("POST", "/v2/auctions", length(goodAuction), "Content-Type: application/json; charset=latin1") + goodAuction,
		"text":              s.request("POST", "/v2/auctions", length(goodAuction), "Content-Type: text/plain") + goodAuction,
		"nonsense type":     s.request("POST", "/v2/auctions", length(goodAuction), "Content-Type: ;;;") + goodAuction,
		"identity":          s.request("POST", "/v2/auctions", length(goodAuction), "Content-Encoding: Identity") + goodAuction,
		"chunked":           s.request("POST", "/v2/auctions", "Transfer-Encoding: chunked") + chunked(goodAuction, 7),
		"one byte a chunk":  s.request("POST", "/v2/auctions", "Transfer-Encoding: chunked") + chunked(goodAuction, 1),
		"100-continue":      s.request("POST", "/v2/auctions", length(goodAuction), "Expect: 100-continue") + goodAuction,
		"HTTP/1.0":          strings.Replace(s.request("POST", "/v2/auctions", length(goodAuction)), "HTTP/1.1", "HTTP/1.0", 1) + goodAuction,
		"HTTP/1.0, no host": "POST /v2/auctions HTTP/1.0\r\nAuthorization: Bearer " + s.node.Keys.AuctionKey + "\r\n" + length(goodAuction) + "\r\n\r\n" + goodAuction,
		"4 MiB":             s.request("POST", "/v2/auctions", length(big)) + big,
		"4 MiB in chunks":   s.request("POST", "/v2/auctions", "Transfer-Encoding: chunked") + chunked(big, 60_000),
	} {
		for listener, url := range s.listeners() {
			t.Run(name+" "+listener, func(t *testing.T) {
				l := s.inSubtest(t).dial(url)
				l.send(sent)
				r := l.reply("POST")
				if r.status != 201 {
					t.Errorf("%d %s", r.status, r.body)
				}
				l.checkAnswer(r)
			})
		}
	}
	for listener, url := range s.listeners() {
		t.Run("pipeline "+listener, func(t *testing.T) {
			l := s.inSubtest(t).dial(url)
			bad := `{"auctions":[]}`
			l.send(s.request("POST", "/v2/auctions", length(goodAuction))+goodAuction,
				s.request("POST", "/v2/auctions", length(bad))+bad,
				s.request("GET", "/v2/nope"),
				s.request("POST", "/v2/auctions", length(goodAuction))+goodAuction)
			for _, want := range []int{201, 400, 404, 201} {
				if r := l.reply("POST"); r.status != want {
					t.Fatalf("%d %s, want %d", r.status, r.body, want)
				}
			}
		})
		t.Run("HTTP/1.0 keep-alive "+listener, func(t *testing.T) {
			l := s.inSubtest(t).dial(url)
			for range 2 {
				l.send(strings.Replace(s.request("POST", "/v2/auctions", length(goodAuction), "Connection: keep-alive"), "HTTP/1.1", "HTTP/1.0", 1) + goodAuction)
				if r := l.reply("POST"); r.status != 201 {
					t.Fatalf("%d %s", r.status, r.body)
				}
			}
		})
	}
}

// What is too large is refused permanently, because clients that keep a queue repeat what is not.
func TestConformanceRefusals(t *testing.T) {
	s := startNode(t)
	ten := strings.Repeat("a", 10<<20)
	event := `{"clicks":[],"x":"` + strings.Repeat("a", 1<<20) + `"}`
	for name, row := range map[string]struct {
		status     int
		code, sent string
	}{
		"10 MiB":                      {400, "bad_request", s.request("POST", "/v2/auctions", length(ten)) + ten},
		"10 MiB of events":            {400, "bad_request", s.request("POST", "/v2/events", length(ten)) + ten},
		"a byte over 1 MiB of events": {400, "bad_request", s.request("POST", "/v2/events", length(event)) + event},
		"10 MiB in a chunk":           {400, "bad_request", s.request("POST", "/v2/auctions", "Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(ten), ten)},
		"a chunk without a key":       {401, "invalid_api_key", "POST /v2/auctions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(ten), ten)},
		"chunks to nowhere":           {404, "resource_not_found", s.request("POST", "/v2/nope", "Transfer-Encoding: chunked") + fmt.Sprintf("5\r\nhello\r\n%x\r\n%s\r\n0\r\n\r\n", len(ten), ten)},
		"chunks by another method":    {405, "method_not_allowed", s.request("PUT", "/v2/events", "Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(ten), ten)},
		"10 MiB to nowhere":           {404, "resource_not_found", s.request("POST", "/v2/nope", length(ten)) + ten},
		"10 MiB without a key":        {401, "invalid_api_key", "POST /v2/auctions HTTP/1.1\r\nHost: x\r\n" + length(ten) + "\r\n\r\n" + ten},
		"gzip":                        {400, "bad_request", s.request("POST", "/v2/auctions", length(goodAuction), "Content-Encoding: gzip") + goodAuction},
		"two encodings":               {400, "bad_request", s.request("POST", "/v2/auctions", length(goodAuction), "Content-Encoding: identity, br") + goodAuction},
		"encodings in two lines":      {400, "bad_request", s.request("POST", "/v2/auctions", length(goodAuction), "Content-Encoding: identity", "Content-Encoding: gzip") + goodAuction},
		"no body":                     {400, "empty_request", s.request("POST", "/v2/auctions")},
		"no body, events":             {400, "empty_request", s.request("POST", "/v2/events", "Content-Length: 0")},
		"a chunk size that is none":   {400, "bad_request", s.request("POST", "/v2/auctions", "Transfer-Encoding: chunked") + "zz\r\n{}\r\n0\r\n\r\n"},
	} {
		for listener, url := range s.listeners() {
			t.Run(name+" "+listener, func(t *testing.T) {
				l := s.inSubtest(t).dial(url)
				l.send(row.sent)
				r := l.reply("POST")
				if r.status != row.status || r.errCode() != row.code {
					t.Errorf("%d %s, want %d %s", r.status, bytes.TrimSpace(r.body), row.status, row.code)
				}
				l.checkAnswer(r)
			})
		}
	}
}

// Heads that are too large, or no HTTP, are refused with the same status on both listeners. On the management listener net/http
// refuses them by itself, before any handler, and its answer is text.
func TestConformanceRefusedHeads(t *testing.T) {
	s := startNode(t)
	head := func(size int) string { // A request whose head has exactly so many bytes.
		h := s.request("POST", "/v2/auctions", length(goodAuction), "X-Filler: ")
		return strings.Replace(h, "X-Filler: ", "X-Filler: "+strings.Repeat("f", size-len(h)), 1) + goodAuction
	}
	for name, row := range map[string]struct {
		status int
		sent   string
	}{
		"a head of 16 KiB":              {201, head(16 << 10)},
		"a head of 16 KiB and a byte":   {431, head(16<<10 + 1)},
		"a head of 19 KiB":              {431, head(19 << 10)},
		"a head of 1 MiB":               {431, head(1 << 20)},
		"a long target":                 {431, s.request("POST", "/v2/auctions?"+strings.Repeat("q", 20_000), length(goodAuction)) + goodAuction},
		"no host":                       {400, "POST /v2/auctions HTTP/1.1\r\n" + length(goodAuction) + "\r\n\r\n" + goodAuction},
		"two hosts":                     {400, s.request("POST", "/v2/auctions", "Host: a", length(goodAuction)) + goodAuction},
		"a negative length":             {400, s.request("POST", "/v2/auctions", "Content-Length: -1")},
		"a length in words":             {400, s.request("POST", "/v2/auctions", "Content-Length: ten")},
		"two lengths":                   {400, s.request("POST", "/v2/auctions", "Content-Length: 3", "Content-Length: 4") + "{}  "},
		"an unknown transfer encoding":  {400, s.request("POST", "/v2/auctions", "Transfer-Encoding: gzip") + goodAuction},
		"a header line without a colon": {400, s.request("POST", "/v2/auctions", "nocolon", length(goodAuction)) + goodAuction},
		"an unknown expectation":        {400, s.request("POST", "/v2/auctions", "Expect: miracles", length(goodAuction)) + goodAuction},
		"another version":               {400, strings.Replace(s.request("POST", "/v2/auctions", length(goodAuction)), "HTTP/1.1", "HTTP/3.0", 1) + goodAuction},
		"no HTTP":                       {400, "\x16\x03\x01\x02\x00\x01\r\n\r\n"},
	} {
		for listener, url := range s.listeners() {
			t.Run(name+" "+listener, func(t *testing.T) {
				l := s.inSubtest(t).dial(url)
				l.send(row.sent)
				r := l.reply("POST")
				if listener == "management" && row.status != 201 {
					l.libraryAnswer(r, row.status)
					return
				}
				if code := r.errCode(); r.status != row.status || r.status != 201 && code != "bad_request" {
					t.Errorf("%d %s, want %d", r.status, bytes.TrimSpace(r.body), row.status)
				}
				l.checkAnswer(r)
			})
		}
	}
}

// A client that sends its whole body before it reads loses no answer that was given early.
func TestConformanceLargeBodiesAreReadToTheirEnd(t *testing.T) {
	s := startNode(t)
	body := strings.Repeat(" ", 10<<20)
	for name, row := range map[string]struct {
		status                   int
		url, method, target, key string
	}{
		"auctions":             {400, s.node.AuctionURL, "POST", "/v2/auctions", s.node.Keys.AuctionKey},
		"auctions, management": {400, s.node.ManageURL, "POST", "/v2/auctions", s.node.Keys.AuctionKey},
		"a resource":           {413, s.node.ManageURL, "PUT", "/public/v1/catalog-search-service/catalogs/vendors", s.node.Keys.ManagementKey},
		"no key":               {401, s.node.ManageURL, "PUT", "/public/v1/catalog-search-service/catalogs/vendors", "x"},
		"nowhere":              {404, s.node.ManageURL, "POST", "/public/v1/nope", s.node.Keys.ManagementKey},
		"nowhere, auctions":    {404, s.node.AuctionURL, "POST", "/nope", s.node.Keys.AuctionKey},
	} {
		t.Run(name, func(t *testing.T) {
			l := s.inSubtest(t).dial(row.url)
			_, err := io.WriteString(l.conn, row.method+" "+row.target+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer "+row.key+"\r\n"+
				length(body)+"\r\n\r\n"+body)
			if err != nil {
				t.Errorf("the body was not taken: %v", err)
			}
			if r := l.reply(row.method); r.status != row.status {
				t.Errorf("%d %s, want %d", r.status, r.body, row.status)
			}
		})
	}
}

// A caller's request id comes back if it is one; otherwise there is a new one each time.
func TestConformanceRequestIDs(t *testing.T) {
	s := startNode(t)
	for listener, url := range s.listeners() {
		for sent, echoed := range map[string]bool{
			"a": true, "A-Z.a_z-09": true, strings.Repeat("r", 64): true,
			strings.Repeat("r", 65): false, "a b": false, "a/b": false, "é": false, "": false, "a,b": false,
		} {
			seen := map[string]bool{}
			for _, path := range []string{"/v2/auctions", "/v2/auctions", "/v2/nope"} {
				id := s.do("POST", url+path, s.node.Keys.AuctionKey, goodAuction, "X-Request-Id", sent).header.Get("X-Request-Id")
				if echoed != (id == sent) || !echoed && (seen[id] || !requestIDForm.MatchString(id)) {
					t.Errorf("%s: %q became %q", listener, sent, id)
				}
				seen[id] = true
			}
		}
	}
}

// A name of a header field with a blank in it, before it or after it is refused by both listeners: servers disagree about which
// field that is.
func TestConformanceBlanksInFieldNames(t *testing.T) {
	s := startNode(t)
	for _, line := range []string{"X Ua: a", "X-Ua : a", "X-Ua\t: a", " X-Ua: a", "X\tUa: a", "Content-Length : 2", "Authorization : Bearer x", "A b c"} {
		for listener, url := range s.listeners() {
			for _, version := range []string{"HTTP/1.1", "HTTP/1.0"} {
				l := s.dial(url)
				head := strings.Replace(s.request("POST", "/v2/auctions", length(goodAuction), line), "HTTP/1.1", version, 1)
				l.send(head) // Without its body: bytes that nobody reads reset the connection.
				if r := l.reply("POST"); r.status != http.StatusBadRequest {
					t.Errorf("%s, %s: %q is answered %d %s", listener, version, line, r.status, r.body)
				}
			}
		}
	}
}
