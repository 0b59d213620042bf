package hotpath

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/gavel-ads/gavel/node/ingress"
)

const plainMost = 1 << 20

// usual is a request in the form that the published clients send.
const usual = "POST /v2/auctions HTTP/1.1\r\nHost: gavel.example:8080\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\n" +
	"Accept: application/json, */*;q=0.1\r\nUser-Agent: node\r\nX-Request-Id: r-1\r\nOrigin: https://shop.example\r\n" +
	"Connection: keep-alive\r\nContent-Encoding: identity\r\nContent-Length: 4\r\n\r\nbody"

func TestReadPlain(t *testing.T) {
	r, v := parsePlain([]byte(usual+"more"), headMax, plainMost, plainMost)
	if v != supported || r.size != len(usual) {
		t.Fatalf("result %d, size %d of %d", v, r.size, len(usual))
	}
	for _, field := range []struct {
		got  []byte
		want string
	}{
		{r.target, "/v2/auctions"},
		{r.authorization, "Bearer k"},
		{r.requestID, "r-1"},
		{r.contentEncoding, "identity"},
		{r.origin, "https://shop.example"},
		{r.body, "body"},
	} {
		if string(field.got) != field.want {
			t.Errorf("%q, want %q", field.got, field.want)
		}
	}
	for n := range len(usual) { // Every beginning of a plain request is incomplete.
		if _, v = parsePlain([]byte(usual[:n]), headMax, plainMost, plainMost); v != incomplete {
			t.Fatalf("the first %d bytes: result %d", n, v)
		}
	}
}

func TestFallback(t *testing.T) {
	for name, change := range map[string][2]string{
		"another method":         {"POST ", "PUT "},
		"another path":           {"/v2/auctions", "/v2/auction"},
		"a longer path":          {"/v2/auctions", "/v2/auctionsx"},
		"two slashes":            {"/v2/auctions", "//v2/auctions"},
		"a query":                {"/v2/auctions", "/v2/auctions?"},
		"an absolute target":     {"/v2/auctions", "http://x/v2/auctions"},
		"HTTP/1.0":               {"HTTP/1.1", "HTTP/1.0"},
		"a lower case version":   {"HTTP/1.1", "http/1.1"},
		"a line feed alone":      {"node\r\n", "node\n"},
		"a carriage return":      {"node", "no\rde"},
		"a null":                 {"node", "no\x00de"},
		"a delete":               {"node", "no\x7fde"},
		"a tab":                  {"node", "no\tde"},
		"not ASCII":              {"node", "nodé"},
		"a folded line":          {"Accept:", " Accept:"},
		"no colon":               {"Accept:", "Accept"},
		"no name":                {"Accept:", ":"},
		"a blank in a name":      {"Accept:", "Acc ept:"},
		"a blank after a name":   {"Content-Length:", "Content-Length :"},
		"a bracket in a name":    {"Accept:", "Acc[ept:"},
		"no host":                {"Host:", "Hosts:"},
		"an empty host":          {"gavel.example:8080", ""},
		"a host with a user":     {"gavel.example", "a@b"},
		"two hosts":              {"Accept:", "hOST: x\r\nAccept:"},
		"no length":              {"Content-Length:", "Content-Lengths:"},
		"two lengths":            {"Accept:", "Content-Length: 4\r\nAccept:"},
		"an empty length":        {"Length: 4", "Length: "},
		"a signed length":        {"Length: 4", "Length: +4"},
		"a padded length":        {"Length: 4", "Length: 04"},
		"a list of lengths":      {"Length: 4", "Length: 4, 4"},
		"a huge length":          {"Length: 4", "Length: 99999999999999999999"},
		"a length over the most": {"Length: 4", "Length: 1048577"},
		"chunks":                 {"Accept:", "Transfer-Encoding: chunked\r\nAccept:"},
		"an expectation":         {"Accept:", "expect: 100-continue\r\nAccept:"},
		"trailers":               {"Accept:", "Trailer: x\r\nAccept:"},
		"an upgrade":             {"Accept:", "Upgrade: h2c\r\nAccept:"},
		"TE":                     {"Accept:", "TE: trailers\r\nAccept:"},
		"to be closed":           {"keep-alive", "close"},
		"a list of options":      {"keep-alive", "keep-alive, close"},
		"two keys":               {"Accept:", "Authorization: x\r\nAccept:"},
		"two request ids":        {"Accept:", "X-Request-ID: x\r\nAccept:"},
		"a long head":            {"node", strings.Repeat("x", headMax)},
	} {
		text := strings.Replace(usual, change[0], change[1], 1)
		if text == usual {
			t.Fatalf("%s changes nothing", name)
		}
		if _, v := parsePlain([]byte(text), headMax, plainMost, plainMost); v != fallback {
			t.Errorf("%s: result %d", name, v)
		}
	}
	if _, v := parsePlain([]byte(usual), headMax, plainMost, len(usual)-1); v != fallback {
		t.Errorf("a request that is too large altogether: result %d", v)
	}
}

// passes reports whether the framing check accepts a request.
func passes(b []byte) bool {
	var framing ingress.Checker
	n, err := framing.Read(bytes.NewReader(b), make([]byte, len(b)))
	return n == len(b) && err == nil && !framing.Refused()
}

// FuzzPlain compares requests that parsePlain accepts with fasthttp and the framing check: they must read the same request
// from the same bytes, not wait before the body, and keep the connection open.
func FuzzPlain(f *testing.F) {
	f.Add([]byte(usual))
	for _, line := range []string{
		"X: y", "Host: y", "Content-Length: 0", "Connection: Keep-Alive", "Accept : x", "Transfer-Encoding:chunked", "x\x80: y", "cOOkie: a=b;;",
	} {
		f.Add([]byte("POST /v2/events HTTP/1.1\r\nhost:h\r\ncontent-length:  2  \r\n" + line + "\r\n\r\n{}POST"))
		f.Add([]byte("POST /v2/auctions/travel HTTP/1.1\r\n" + line + "\r\nHost: a_b-c:1\r\nContent-Length: 1\r\n\r\n{"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, v := parsePlain(b, headMax, plainMost, plainMost)
		if v != supported {
			return
		}
		var want fasthttp.Request
		in := bufio.NewReaderSize(bytes.NewReader(b), headMax)
		if err := want.ReadLimitBody(in, plainMost); err != nil {
			t.Fatalf("fasthttp refuses it: %v", err)
		}
		h := &want.Header
		switch {
		case !passes(b[:r.size]):
			t.Error("the check of its framing refuses it")
		case h.ConnectionClose() || want.MayContinue() || !h.IsHTTP11() || !h.IsPost():
			t.Error("fasthttp closes the connection, or waits")
		case !bytes.Equal(r.target, h.RequestURI()) || !bytes.Equal(r.body, want.Body()):
			t.Errorf("target %q, body %q; want %q, %q", r.target, r.body, h.RequestURI(), want.Body())
		case !bytes.Equal(r.authorization, h.PeekCanonical(nameAuthorization)) || !bytes.Equal(r.requestID, h.PeekCanonical(nameRequestID)) ||
			!bytes.Equal(r.contentEncoding, h.PeekCanonical(nameContentEncoding)) || !bytes.Equal(r.origin, h.PeekCanonical(nameOrigin)):
			t.Errorf("%+v, want %s", r, h)
		case r.size < len(b) && in.Buffered() != min(len(b), headMax)-r.size && len(b) <= headMax:
			t.Errorf("%d bytes long, fasthttp leaves %d of %d", r.size, in.Buffered(), len(b))
		}
	})
}
