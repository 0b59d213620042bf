//go:build !race

package hotpath_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/hotpath"
	"github.com/gavel-ads/gavel/node/serving/servingtest"
)

// TestAuctionsDoNotAllocate is the promise the hot path is built around: a warm node answers a request of 5 auctions with
// 100 ids each, out of a million bids, without a single heap allocation, from the bytes on the connection to the bytes
// back, server included.
func TestAuctionsDoNotAllocate(t *testing.T) {
	const (
		bids     = 1_000_000
		requests = 16
	)
	node := servingtest.New(servingtest.Spec{Bids: bids})
	server := hotpath.New(hotpath.Options{Core: node.Core, Metrics: node.Metrics, Log: node.Deps.Log, NoDate: true})

	stream := pipelined(node.AuctionKey, requests, bids)
	conn := &memoryConn{}
	serve := func() {
		conn.in.Reset(stream)
		conn.out = conn.out[:0]
		if err := server.ServeConn(conn); err != nil {
			t.Fatal(err)
		}
	}
	serve()
	answers := string(conn.out)
	if n := strings.Count(answers, "HTTP/1.1 201 Created"); n != requests {
		t.Fatalf("%d of %d requests were answered with 201:\n%.600s", n, requests, answers)
	}
	if n := strings.Count(answers, `"resolvedBidId"`); n < 10*requests {
		t.Fatalf("%d winners in %d requests: the measured requests must find bids", n, requests)
	}
	for range 20 {
		serve()
	}
	if n := testing.AllocsPerRun(100, serve); n != 0 {
		t.Errorf("%v allocations in %d requests", n, requests)
	}
}

// pipelined returns requests as a client sends them one after the other without waiting.
func pipelined(key string, requests, bids int) []byte {
	random := rand.New(rand.NewPCG(3, 4))
	var stream bytes.Buffer
	for range requests {
		var body bytes.Buffer
		body.WriteString(`{"auctions":[`)
		for a := range 5 {
			if a > 0 {
				body.WriteByte(',')
			}
			body.WriteString(`{"type":"listings","slots":4,"products":{"ids":[`)
			for i := range 100 {
				if i > 0 {
					body.WriteByte(',')
				}
				if i%20 == 0 { // 5 % of the ids have a bid.
					fmt.Fprintf(&body, "%q", servingtest.ProductID(random.IntN(bids)))
				} else {
					fmt.Fprintf(&body, `"q-%07d"`, random.IntN(10*bids))
				}
			}
			body.WriteString(`]}}`)
		}
		body.WriteString(`]}`)
		fmt.Fprintf(&stream, "POST /v2/auctions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\nUser-Agent: test\r\nContent-Length: %d\r\n\r\n", key, body.Len())
		stream.Write(body.Bytes())
	}
	return stream.Bytes()
}

// memoryConn is a connection whose other side has sent everything already and never gets tired of reading.
type memoryConn struct {
	in  bytes.Reader
	out []byte
}

func (c *memoryConn) Read(p []byte) (int, error) {
	return c.in.Read(p)
}

func (c *memoryConn) Write(p []byte) (int, error) {
	c.out = append(c.out, p...)
	return len(p), nil
}

func (c *memoryConn) Close() error                     { return nil }
func (c *memoryConn) LocalAddr() net.Addr              { return address }
func (c *memoryConn) RemoteAddr() net.Addr             { return address }
func (c *memoryConn) SetDeadline(time.Time) error      { return nil }
func (c *memoryConn) SetReadDeadline(time.Time) error  { return nil }
func (c *memoryConn) SetWriteDeadline(time.Time) error { return nil }

var address = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
