// Package daemon builds the parts of a node in the order in which they need each other, starts them, and stops them in
// reverse. It is the only room that knows all others.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/node/config"
)

// Options are what a caller decides besides the configuration.
type Options struct {
	Out     io.Writer // Where the banner and the demo's counters go.
	Demo    *DemoOptions
	Version string
}

// DemoOptions fill the node with a seeded market and let shoppers loose on it.
type DemoOptions struct {
	Seed                         uint64
	Products, Vendors, Campaigns int
	Shoppers                     int
	Terminal                     bool // Print live counters.
}

// DrainTimeout bounds an orderly stop. What is not done by then is dropped; nothing acknowledged is lost by that, because
// everything acknowledged is on disk.
const DrainTimeout = 10 * time.Second

// Run starts a node, prints its banner and serves until the context ends; then it drains and returns. An error means
// that the node did not start, or that a listener failed.
func Run(ctx context.Context, cfg config.Config, o Options) error {
	log := newLogger(cfg.Log)
	n, err := start(ctx, cfg, o, log)
	if err != nil && ctx.Err() != nil { // Told to stop while it waited for others: an orderly end.
		return n.stop(log)
	}
	if err != nil {
		return errors.Join(err, n.stop(log))
	}
	err = n.serve(ctx, o)
	return errors.Join(err, n.stop(log))
}

// closer is one started part and how to stop it.
type closer struct {
	name string
	stop func(context.Context) error
}

// stop undoes the start in reverse order. Every part is stopped, whatever the others answer.
func (n *node) stop(log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), DrainTimeout)
	defer cancel()
	var failed []error
	for _, part := range slices.Backward(n.started) {
		if err := part.stop(ctx); err != nil {
			failed = append(failed, fmt.Errorf("stop %s: %w", part.name, err))
		}
		log.Debug("stopped", slog.String("part", part.name))
	}
	return errors.Join(failed...)
}
