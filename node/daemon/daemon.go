// Package daemon builds the parts of a node in the order in which they need each other, starts them, and stops them in
// reverse order. It is the only package that imports all others.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/logtail"
)

// Options are what a caller sets besides the configuration.
type Options struct {
	Out      io.Writer // Receives the banner and the demo's counters.
	Demo     *DemoOptions
	Version  string
	Warnings []string           // Of the configuration; they are logged.
	Settings []config.Effective // What the console shows of the configuration.

	Variable func(name string) string // Returns an environment variable of the service manager; nil: there is none.
	Reload   <-chan os.Signal         // Each value makes the node read its certificates again; nil: none comes.

	Log         io.Writer // Receives the log and the progress of long work; nil: standard error.
	LogTerminal bool      // Log is a terminal.
	LogColours  bool      // The terminal shows colours.

	tail *logtail.Tail // Keeps the newest records of the log; set by Run.
}

func (o *Options) logOutput() logOutput {
	if o.Log == nil {
		return standardError
	}
	return logOutput{w: o.Log, terminal: o.LogTerminal, colours: o.LogColours}
}

// Logged marks an error of Run that was logged, because the log is JSON: a plain line after it would mix two forms.
type Logged struct{ error }

// Unwrap returns the error.
func (l Logged) Unwrap() error { return l.error }

// DemoOptions are the size of the generated market and the number of simulated shoppers.
type DemoOptions struct {
	Seed                         uint64
	Products, Vendors, Campaigns int
	Shoppers                     int
	HistoryDays                  int  // Days before today that the first start of a node without peers fills with shoppers; 0: none.
	Terminal                     bool // Print live counters.
}

// DrainTimeout bounds an orderly stop. Requests that last longer are cut off. Nothing acknowledged is lost by that,
// because a majority of the nodes has it on disk.
const DrainTimeout = 10 * time.Second

// Run starts a node, prints its banner, serves until the context ends, then drains and returns. It returns nil after an
// orderly stop, also when the context ends during the start. An error means that the node did not start, that a
// listener failed, or that a part did not stop in time.
func Run(ctx context.Context, cfg config.Config, o Options) error {
	out := o.logOutput()
	log, screen := newLogger(cfg.Log, out)
	o.tail = logtail.New(time.Now())
	log = slog.New(o.tail.Beside(log.Handler()))
	for _, warning := range o.Warnings {
		log.Warn("setting_suspicious", slog.String("warning", warning))
	}
	err := runNode(ctx, cfg, o, log, screen)
	screen.show("")
	screen.release()
	if err != nil && out.json(cfg.Log) {
		log.Error("node_failed", slog.Any("err", err))
		return Logged{err}
	}
	return err
}

func runNode(ctx context.Context, cfg config.Config, o Options, log *slog.Logger, screen *screen) error {
	n, err := start(ctx, cfg, o, log, screen)
	if err != nil && ctx.Err() != nil { // The caller ended the start, which is an orderly stop.
		log.Info("start_canceled", slog.String("second_signal", "ends the process at once"))
		return n.stop(log)
	}
	if err != nil {
		return errors.Join(err, n.stop(log))
	}
	serving, end := context.WithCancel(ctx)
	defer end()
	go n.reloadOnSignal(serving, o.Reload)
	n.manager.notify("STATUS=serving; " + n.cfg.LocalManageURL(n.manage.Addr().String()) + "/readyz says whether it is ready")
	err = n.serve(ctx, o)
	n.manager.notify("STOPPING=1")
	return errors.Join(err, n.stop(log))
}

// closer is a started part of the node and the function that stops it.
type closer struct {
	name string
	stop func(context.Context) error
}

// stop stops all started parts in reverse order, within DrainTimeout. An error of one part does not keep the others
// from being stopped.
func (n *node) stop(log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), DrainTimeout)
	defer cancel()
	var failed []error
	for _, part := range slices.Backward(n.started) {
		if err := part.stop(ctx); err != nil {
			failed = append(failed, fmt.Errorf("stop %s: %w", part.name, err))
		}
		log.Debug("part_stopped", slog.String("part", part.name))
	}
	return errors.Join(failed...)
}
