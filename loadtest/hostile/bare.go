//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

// bare is a server that does nothing, to which the same client as the storefront's sends requests in the same seconds. The machine, not the
// node, causes what its p99 rises by in windows with attackers.
type bare struct {
	listener net.Listener
	latency  []driver.Histogram
}

func newBare(windows int) (*bare, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &bare{l, make([]driver.Histogram, windows)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // It was closed.
			}
			go answerBarely(c)
		}
	}()
	return b, nil
}

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

// bareEvery is the time between two requests to the bare server.
const bareEvery = 5 * time.Millisecond

// run sends one request every bareEvery until the last window ends. Latencies count from the intended time like the storefront's.
func (b *bare) run(ctx context.Context, start time.Time, windows []window) error {
	c, err := driver.NewConn("http://"+b.listener.Addr().String(), "none", answerMax)
	if err != nil {
		return err
	}
	defer c.Close()
	body := []byte(`{"auctions":[{"type":"listings","slots":4,"products":{"ids":["p1"]}}]}`)
	for i := range int64(windows[len(windows)-1].End / bareEvery) {
		due := time.Duration(i) * bareEvery
		intended := start.Add(due)
		time.Sleep(time.Until(intended))
		if ctx.Err() != nil {
			return nil
		}
		if _, _, err := c.Post("/", body); err != nil {
			return errors.Join(errors.New("the bare server does not answer"), err)
		}
		if at := windowAt(windows, due); due >= windows[at].Counted {
			b.latency[at].Record(time.Since(intended))
		}
	}
	return nil
}
