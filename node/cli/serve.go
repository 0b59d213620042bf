package cli

import (
	"context"
	"errors"

	"github.com/gavel-ads/gavel/node/config"
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
	return p.serve(l.Config, options{})
}

// serve runs the node of a checked configuration.
func (p *process) serve(cfg config.Config, o options) error {
	if cfg.BootstrapExpect > 1 || len(cfg.Join) > 0 {
		return usageError{errNoCluster}
	}
	ctx, stop := untilSignal(context.Background(), p.err)
	defer stop()
	o.Out, o.Version = p.out, version
	return p.start(ctx, cfg, o)
}

// errNoCluster stands here and not in node/config, because files written for the next release are valid.
var errNoCluster = errors.New("gavel: this release runs one node: bootstrap_expect above 1 and join come with the next release; " +
	"leave both out to start a single node")
