package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

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
