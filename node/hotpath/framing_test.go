package hotpath_test

import (
	"strings"
	"testing"
)

// The corpus of refused framings is in node/ingress. It runs against both listeners.

const smuggled = "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: smuggled\r\n\r\n"

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
