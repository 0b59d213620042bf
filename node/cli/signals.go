package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/gavel-ads/gavel/node/config"
)

// reloadSignals returns a channel of SIGHUP, which makes a node read its certificates again, and a function that ends it.
// Without certificates and outside of systemd it returns nil: closing the terminal then ends the node, as before.
func reloadSignals(cfg *config.Config, underSystemd bool) (<-chan os.Signal, func()) {
	if !cfg.Auction.TLS() && !cfg.Management.TLS() && !cfg.PeerTLS() && !underSystemd {
		return nil, func() {}
	}
	signals := make(chan os.Signal, 1) // One is enough: a reload that follows reads what all earlier ones would have read.
	signal.Notify(signals, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}

// untilSignal returns a context that the first SIGTERM or SIGINT cancels, which makes the node drain. After that the
// signals have their usual effect again, so a second one ends the process at once: storage is crash-only, and nothing
// acknowledged is lost by it. The caller must call the returned function when the node has stopped.
func untilSignal(parent context.Context) (context.Context, func()) {
	ctx, restore := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	stopped := context.AfterFunc(ctx, restore)
	return ctx, func() {
		stopped()
		restore()
	}
}
