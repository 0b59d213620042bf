package driver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// BareServer is a server that does nothing. Requests to it, sent in the same seconds as those that are measured, show which part of a
// latency is the machine's: a shared machine pauses by itself.
type BareServer struct{ listener net.Listener }

// StartBareServer starts one on loopback. The error is that of the listener.
func StartBareServer() (*BareServer, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // It was closed.
			}
			go answerBarely(c)
		}
	}()
	return &BareServer{l}, nil
}

// URL is the base URL of the server.
func (b *BareServer) URL() string { return "http://" + b.listener.Addr().String() }

// bareEvery is the time between two requests to the bare server: enough for a p99 of a few seconds, and hardly any CPU time.
const bareEvery = 5 * time.Millisecond

// Ask sends a request to the server every 5 ms from the start on for a time, or until ctx ends. record gets when each was due, since the
// start, and its latency, which counts from that instant as those of other requests do. The error is that of a request.
func (b *BareServer) Ask(ctx context.Context, start time.Time, length, timeout time.Duration, record func(due, latency time.Duration)) error {
	c, err := NewConn(b.URL(), "none", timeout)
	if err != nil {
		return err
	}
	defer c.Close()
	body := []byte(`{"auctions":[{"type":"listings","slots":4,"products":{"ids":["p1"]}}]}`)
	for due := time.Duration(0); due < length; due += bareEvery {
		time.Sleep(time.Until(start.Add(due)))
		if ctx.Err() != nil {
			return nil
		}
		if _, _, err := c.Post("/", body); err != nil {
			return fmt.Errorf("the bare server does not answer: %w", err)
		}
		record(due, time.Since(start)-due)
	}
	return nil
}

// Close stops accepting connections. Each connection ends when its client closes it.
func (b *BareServer) Close() { _ = b.listener.Close() } // Nothing is lost: it keeps nothing.

// answerBarely answers every request on a connection with 201 and {}.
func answerBarely(c net.Conn) {
	defer func() { _ = c.Close() }() // The client has closed it.
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		if _, err := c.Write([]byte("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}")); err != nil {
			return
		}
	}
}
