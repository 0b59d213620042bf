//go:build linux

package main

import (
	"context"
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

// run asks the server until the last window ends.
func (b *bare) run(ctx context.Context, start time.Time, windows []window) error {
	return b.server.Ask(ctx, start, windows[len(windows)-1].End, answerMax, func(due, latency time.Duration) {
		if at := windowAt(windows, due); due >= windows[at].Counted {
			b.latency[at].Record(latency)
		}
	})
}
