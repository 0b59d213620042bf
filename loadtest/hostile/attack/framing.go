package attack

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// framing sends requests with an ambiguous end to both listeners, each followed by a second request that must never be served.
type framing struct{ nothing }

// framings are the headers and bodies of the ambiguous requests.
var framings = []struct{ head, body string }{
	{"Content-Length: 4\r\nTransfer-Encoding: chunked", "0\r\n\r\n"},
	{"Transfer-Encoding: chunked\r\nContent-Length: 4", "0\r\n\r\n"},
	{"Content-Length: 2\r\nContent-Length: 40", "{}"},
	{"Content-Length: 2\r\nContent-Length: 2", "{}"},
	{"Content-Length: 2, 2", "{}"},
	{"Content-Length: -2", "{}"},
	{"Content-Length: +2", "{}"},
	{"Content-Length: 0x2", "{}"},
	{"Content-Length: 18446744073709551618", "{}"},
	{"Content-Length: 1 2", "{}"},
	{"Content-Length : 2", "{}"},
	{"Transfer-Encoding\t: chunked", "0\r\n\r\n"},
	{"X-Folded: a\r\n b\r\nContent-Length: 2", "{}"},
	{"Transfer-Encoding:\r\n chunked", "0\r\n\r\n"},
	{"X-Folded: a\r\n\tb\r\nContent-Length: 2", "{}"},
	{"Transfer-Encoding: gzip", "0\r\n\r\n"},
	{"Transfer-Encoding: chunked, gzip", "0\r\n\r\n"},
	{"Transfer-Encoding: chunked, chunked", "0\r\n\r\n"},
	{"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "0\r\n\r\n"},
	{"Transfer-Encoding: xchunked", "0\r\n\r\n"},
	{"Transfer-Encoding: \x0bchunked", "0\r\n\r\n"},
	{"Transfer-Encoding: chunked", "+2\r\n{}\r\n0\r\n\r\n"},
	{"Transfer-Encoding: chunked", "0x2\r\n{}\r\n0\r\n\r\n"},
	{"Transfer-Encoding: chunked", "10000000000000002\r\n{}\r\n0\r\n\r\n"},
	{"Transfer-Encoding: chunked", "1\r\n{}\r\n0\r\n\r\n"},
	{"Content-Length 2", "{}"},
	{": 2", "{}"},
	{"Content-\x00Length: 2", "{}"},
	{"X-A: a\x00b\r\nContent-Length: 2", "{}"},
	{"X-A: a\rContent-Length: 2", "{}"},
	{"Trailer: Content-Length\r\nTransfer-Encoding: chunked", "2\r\n{}\r\n0\r\nContent-Length: 40\r\n\r\n"},
}

// smuggled is the second request. An answer to it is recognised by the X-Request-Id, which the node repeats.
const smuggled = "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: smuggled\r\n\r\n"

func (framing) Attack(ctx context.Context, e *Env) error {
	addresses := []string{e.Target.Auction, e.Target.Manage}
	several(len(addresses), func(at int) {
		for i := 0; pause(ctx, 50*time.Millisecond); i++ {
			f := framings[i%len(framings)]
			request := fmt.Sprintf("POST /v2/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%s\r\n\r\n%s%s",
				e.Tenant.AuctionKey, f.head, f.body, smuggled)
			answer, closed, err := e.raw(ctx, addresses[at], []byte(request), time.Second)
			e.Tally.Add("sent", 1)
			e.Tally.answered(statusOf(answer), err)
			if bytes.Contains(answer, []byte("X-Request-Id: smuggled")) {
				e.Tally.Add("smuggled request served", 1)
				e.Tally.note(fmt.Errorf("listener %d served the bytes after %q as a request", at, f.head))
			}
			if err == nil && !closed {
				e.Tally.Add("left open", 1)
			}
		}
	})
	return nil
}
