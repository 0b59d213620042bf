package attack

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net"
	"time"
)

// bodies makes a node keep bodies of requests that it will refuse: heads that announce 4 MiB and are followed by a byte a second, bodies that
// gzip expands a thousandfold, and bodies that wait for an invented X-Gavel-Token.
type bodies struct{ nothing }

// bombBytes is how many bytes a gzip bomb of some 8 KB expands to.
const bombBytes = 8 << 20

func (bodies) Attack(ctx context.Context, e *Env) error {
	bomb, err := gzipBomb()
	if err != nil {
		return err
	}
	half := max(1, e.Target.Connections/2)
	several(5, func(i int) {
		switch i {
		case 0:
			e.keepConnections(ctx, "heads 8080", e.Target.Auction, half, head("/v2/auctions"), drip)
		case 1:
			e.keepConnections(ctx, "heads 8081", e.Target.Manage, half, head("/v2/events"), drip)
		case 2:
			for pause(ctx, 100*time.Millisecond) {
				e.bombs(ctx, bomb)
			}
		default:
			for n := uint64(0); pause(ctx, 50*time.Millisecond); n++ {
				e.madeUp(ctx, n)
			}
		}
	})
	return nil
}

// head begins a request without a key that announces 4 MiB.
func head(path string) func(c net.Conn) error {
	return func(c net.Conn) error {
		return write(c, fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", path, 4<<20))
	}
}

// drip sends one more byte of the body.
func drip(c net.Conn) error { return write(c, []byte{' '}) }

// gzipBomb returns the gzip form of a JSON text of bombBytes blanks.
func gzipBomb() ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(append(bytes.Repeat([]byte{' '}, bombBytes), "{}"...)); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// bombs sends one gzip bomb to each listener and API, with and without a key.
func (e *Env) bombs(ctx context.Context, bomb []byte) {
	for _, to := range []struct{ address, path, key string }{
		{e.Target.Manage, "/v2/auctions", ""},
		{e.Target.Manage, "/v2/events", e.Tenant.AuctionKey},
		{e.Target.Manage, public + "/campaign-service/campaigns?vendor_id=v1", e.Tenant.ManagementKey},
		{e.Target.Auction, "/v2/auctions", ""},
		{e.Target.Auction, "/v2/events", e.Tenant.AuctionKey},
	} {
		e.send(ctx, "gzip bombs", to.address, to.path, to.key, "Content-Encoding: gzip\r\n", bomb, 2*time.Second)
	}
}

// madeUp sends a body with an invented token of a write in the far future.
func (e *Env) madeUp(ctx context.Context, n uint64) {
	const auctions = `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p1"]}}]}`
	body := append(bytes.Repeat([]byte{' '}, 256<<10), auctions...)
	to := []struct{ address, path, key string }{
		{e.Target.Auction, "/v2/auctions", e.Tenant.AuctionKey},
		{e.Target.Manage, "/v2/auctions", e.Tenant.AuctionKey},
		{e.Target.Manage, "/v2/auctions", ""},
		{e.Target.Manage, public + "/catalog-search-service/catalogs/vendors", e.Tenant.ManagementKey},
	}[n%4]
	e.send(ctx, "made-up tokens", to.address, to.path, to.key, "X-Gavel-Token: "+futureToken(n/4)+"\r\n", body, time.Second)
}

// futureToken looks like a token of the node: a version, and pairs of a group and an index of its log, as varints in base64.
func futureToken(n uint64) string {
	b := []byte{1}
	for group := range 1 + n%2 {
		b = binary.AppendUvarint(b, group)
		b = binary.AppendUvarint(b, 1<<40+n)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// send sends a request on a new connection, waits for its answer at most timeout, and counts it under a name.
func (e *Env) send(ctx context.Context, name, address, path, key, fields string, body []byte, timeout time.Duration) {
	if ctx.Err() != nil {
		return
	}
	if key != "" {
		fields += "Authorization: Bearer " + key + "\r\n"
	}
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\nConnection: close\r\n\r\n",
		path, fields, len(body))
	answer, _, err := e.raw(ctx, address, append(request, body...), timeout)
	e.Tally.Add(name, 1)
	if status := statusOf(answer); err == nil && status == 0 {
		e.Tally.Add("no answer in time", 1)
	} else {
		e.Tally.answered(status, err)
	}
}
