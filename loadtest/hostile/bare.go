//go:build linux

package main

import (
	"context"
	"errors"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

// bare is a bare server, to which the same client as the storefront's sends requests in the same seconds. The machine, not the
// node, causes what its p99 rises by in windows with attackers.
type bare struct {
	server  *driver.BareServer
	latency []driver.Histogram
}

func newBare(windows int) (*bare, error) {
	server, err := driver.StartBareServer()
	if err != nil {
		return nil, err
	}
	return &bare{server, make([]driver.Histogram, windows)}, nil
}

// bareEvery is the time between two requests to the bare server.
const bareEvery = 5 * time.Millisecond

// run sends one request every bareEvery until the last window ends. Latencies count from the intended time like the storefront's.
func (b *bare) run(ctx context.Context, start time.Time, windows []window) error {
	c, err := driver.NewConn(b.server.URL(), "none", answerMax)
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
