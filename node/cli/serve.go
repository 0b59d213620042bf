package cli

import (
	"context"
	"errors"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
)

// serveCommand runs a node until a signal ends it.
type serveCommand struct {
	settings
}

// Run starts the node.
func (c *serveCommand) Run(p *process) error {
	l, err := c.read(p, config.Default())
	if err != nil {
		return err
	}
	return p.serve(l, daemon.Options{})
}

// serve runs a node with a valid configuration. Its warnings become lines of the log, whose form they would break.
func (p *process) serve(l *config.Loaded, o daemon.Options) error {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	o.Out, o.Version, o.Warnings, o.Settings = p.out, version, l.Warnings, l.Effective()
	o.Log, o.LogTerminal = p.err, p.errTerminal
	o.LogColours = p.variable("NO_COLOR") == "" && p.variable("TERM") != "dumb"
	err := p.start(ctx, l.Config, o)
	if _, logged := errors.AsType[daemon.Logged](err); logged {
		return errPrinted(exitFailed)
	}
	return err
}
