package cli

import (
	"context"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
)

// serveCommand runs a node until a signal ends it.
type serveCommand struct {
	settings
}

// Run starts the node.
func (c *serveCommand) Run(p *process) error {
	l, err := c.load(p, config.Default())
	if err != nil {
		return err
	}
	return p.serve(l.Config, daemon.Options{})
}

// serve runs a node with a valid configuration.
func (p *process) serve(cfg config.Config, o daemon.Options) error {
	ctx, stop := untilSignal(context.Background(), p.err)
	defer stop()
	o.Out, o.Version = p.out, version
	return p.start(ctx, cfg, o)
}
