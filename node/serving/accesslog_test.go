package serving_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
)

// accessLog is an access log that writes to a buffer, without times.
func accessLog(every int, slow time.Duration) (*serving.AccessLog, *bytes.Buffer) {
	var to bytes.Buffer
	return serving.NewAccessLog(every, slow, slog.New(slog.NewTextHandler(&to, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))), &to
}

// offer writes requests that begin one millisecond after the other, and took as long as took says.
func offer(a *serving.AccessLog, n int, took func(i int) time.Duration) {
	for i := range n {
		t := took(i)
		if a.Due(time.UnixMilli(int64(i)), t) {
			a.Write(&serving.AccessEntry{Operation: "auctions", RequestID: fmt.Sprint("r", i), Status: 201, Took: t, In: 10, Out: 20})
		}
	}
}

// One of so many requests is written, and each that took long; of these at most a hundred a second.
func TestAccessLog(t *testing.T) {
	a, to := accessLog(4, 0)
	offer(a, 12, func(int) time.Duration { return time.Hour })
	want := `level=INFO msg=request operation=auctions status=201 took=1h0m0s request_id=r3 body_bytes=10 answer_bytes=20
level=INFO msg=request operation=auctions status=201 took=1h0m0s request_id=r7 body_bytes=10 answer_bytes=20
level=INFO msg=request operation=auctions status=201 took=1h0m0s request_id=r11 body_bytes=10 answer_bytes=20
`
	if to.String() != want {
		t.Errorf("one of four is\n%swant\n%s", to, want)
	}

	a, to = accessLog(0, time.Second)
	offer(a, 1201, func(i int) time.Duration { return time.Duration(i%2) * time.Second })
	lines := strings.Split(strings.TrimSpace(to.String()), "\n")
	if len(lines) != 200 || strings.Count(to.String(), "msg=slow_request") != 200 {
		t.Errorf("%d lines were written of 600 slow requests in 1.2 s, want 100 a second", len(lines))
	}
	if !strings.HasSuffix(lines[100], "request_id=r1001 body_bytes=10 answer_bytes=20 left_out_before=400") || strings.Count(to.String(), "left_out_before") != 1 {
		t.Errorf("the first line of the second second is %s", lines[100])
	}
	if a, _ := accessLog(0, 0); a != nil || a.Due(time.Now(), time.Hour) {
		t.Error("an access log that is off writes requests")
	}
}

// A request to /v2 is written with its operation, status and error, without its body and key.
func TestRequestsAreLogged(t *testing.T) {
	a, to := accessLog(1, 0)
	node := servingtest.New(servingtest.Spec{Bids: 10})
	deps := node.Deps
	deps.Access = a
	core := serving.New(deps)
	ask(core, "POST", "/v2/auctions", node.AuctionKey, auctionBody)
	ask(core, "POST", "/v2/auctions", "secret", auctionBody)
	text := to.String()
	for _, want := range []string{"operation=auctions status=201 ", "operation=auctions status=401 ", "code=invalid_api_key", "request_id=0"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, node.AuctionKey) || strings.Contains(text, "secret") || strings.Count(text, "\n") != 2 {
		t.Errorf("the log is\n%s", text)
	}
}
