package hotpath_test

import (
	"strings"
	"testing"
)

// The corpus of malformed framings. Each request is followed by a smuggled one that would answer 200. What matters is
// that the smuggled one is never served, that nothing is answered with success, and that what is answered is JSON.
var framings = []struct{ name, head, body string }{
	{"content-length with transfer-encoding", "Content-Length: 4\r\nTransfer-Encoding: chunked", "0\r\n\r\n"},
	{"transfer-encoding with content-length", "Transfer-Encoding: chunked\r\nContent-Length: 4", "0\r\n\r\n"},
	{"two different lengths", "Content-Length: 2\r\nContent-Length: 40", "{}"},
	{"two equal lengths", "Content-Length: 2\r\nContent-Length: 2", "{}"},
	{"a list of lengths", "Content-Length: 2, 2", "{}"},
	{"a negative length", "Content-Length: -2", "{}"},
	{"a signed length", "Content-Length: +2", "{}"},
	{"a hexadecimal length", "Content-Length: 0x2", "{}"},
	{"an empty length", "Content-Length: ", "{}"},
	{"a length that overflows", "Content-Length: 18446744073709551618", "{}"},
	{"a length with a blank inside", "Content-Length: 1 2", "{}"},
	{"blank before the colon", "Content-Length : 2", "{}"},
	{"a tab before the colon", "Transfer-Encoding\t: chunked", "0\r\n\r\n"},
	{"a folded line", "X-Folded: a\r\n b\r\nContent-Length: 2", "{}"},
	{"a folded transfer-encoding", "Transfer-Encoding:\r\n chunked", "0\r\n\r\n"},
	{"a line folded by a tab", "X-Folded: a\r\n\tb\r\nContent-Length: 2", "{}"},
	{"an unknown transfer-encoding", "Transfer-Encoding: gzip", "0\r\n\r\n"},
	{"chunked not last", "Transfer-Encoding: chunked, gzip", "0\r\n\r\n"},
	{"chunked twice", "Transfer-Encoding: chunked, chunked", "0\r\n\r\n"},
	{"two transfer-encodings", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "0\r\n\r\n"},
	{"a disguised transfer-encoding", "Transfer-Encoding: xchunked", "0\r\n\r\n"},
	{"a vertical tab before chunked", "Transfer-Encoding: \x0bchunked", "0\r\n\r\n"},
	{"a chunk size with a sign", "Transfer-Encoding: chunked", "+2\r\n{}\r\n0\r\n\r\n"},
	{"a chunk size with 0x", "Transfer-Encoding: chunked", "0x2\r\n{}\r\n0\r\n\r\n"},
	{"a chunk size that overflows", "Transfer-Encoding: chunked", "10000000000000002\r\n{}\r\n0\r\n\r\n"},
	{"a chunk longer than its size", "Transfer-Encoding: chunked", "1\r\n{}\r\n0\r\n\r\n"},
	{"a chunk ended by a line feed", "Transfer-Encoding: chunked", "2\n{}\n0\n\n"},
	{"a header without a colon", "Content-Length 2", "{}"},
	{"a header without a name", ": 2", "{}"},
	{"a null byte in a name", "Content-\x00Length: 2", "{}"},
	{"a null byte in a value", "X-A: a\x00b\r\nContent-Length: 2", "{}"},
	{"an unknown expectation", "Expect: miracles\r\nContent-Length: 2", "{}"},
	{"a carriage return in a value", "X-A: a\rContent-Length: 2", "{}"},
}

const smuggled = "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: smuggled\r\n\r\n"

func TestFramingCorpus(t *testing.T) {
	d := open(t, nil)
	for _, f := range framings {
		t.Run(f.name, func(t *testing.T) {
			answer := d.exchange(t, "POST /v2/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+d.AuctionKey+"\r\n"+
				f.head+"\r\n\r\n"+f.body+smuggled)
			if strings.Contains(answer, "X-Request-Id: smuggled") {
				t.Fatalf("the bytes behind the request were served as another one:\n%s", answer)
			}
			if answer == "" {
				return // Closed without a word.
			}
			if !strings.HasPrefix(answer, "HTTP/1.1 400 ") || !strings.Contains(answer, "Connection: close\r\n") {
				t.Errorf("not refused and closed:\n%s", answer)
			}
			if !strings.Contains(answer, "\r\nContent-Type: application/json\r\n") || !strings.Contains(answer, `{"errCode":"bad_request"`) {
				t.Errorf("not refused in JSON:\n%s", answer)
			}
		})
	}
}

func TestChunkedNeedsHTTP11(t *testing.T) {
	d := open(t, nil)
	answer := d.exchange(t, "POST /v2/events HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+smuggled)
	if strings.Contains(answer, " 200 ") || strings.Contains(answer, "X-Request-Id: smuggled") {
		t.Error(answer)
	}
}

func TestWellFormedRequestsPassTheGuard(t *testing.T) {
	d := open(t, nil)
	for _, head := range []string{
		"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /healthz HTTP/1.0\r\n\r\n",
		"GET //healthz?x=1 HTTP/1.1\r\nHost: x\r\nTrailer-Like: a\r\nCookie: c\r\nTe: trailers\r\n\r\n",
		"GET http://elsewhere/healthz HTTP/1.1\r\nHost: x\r\n\r\n",
		"HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		if answer := d.exchange(t, head); !strings.HasPrefix(answer, "HTTP/1.1 200 OK\r\n") {
			t.Errorf("%q: %s", head, answer)
		}
	}
}
