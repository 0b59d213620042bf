// Command loadtest is an open-loop load generator for a Gavel node. It speaks HTTP only and shares no code with the node.
//
// It fills the node with a market through the management API, sends the traffic of one scenario on a schedule, counts latency
// from the intended send time, resolves every unknown outcome by repeating the same body, and then compares the node's
// reports with what was acknowledged, to the last click. DESIGN.md says how the numbers are made.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Exit codes: a script can tell a slow node from a wrong one.
const (
	exitOK     = 0
	exitFailed = 1 // The run could not be made, or the reports differ from what was acknowledged.
	exitUsage  = 2
	exitSLO    = 3 // Nothing is wrong, but a target was missed.
)

// command runs the command line and returns its exit code.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "loadtest:", err)
		return exitUsage
	}
	outcome, err := measureNode(ctx, cfg, stderr)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "loadtest:", err)
		return exitFailed
	}
	if err := outcome.write(stdout, cfg.json); err != nil {
		_, _ = fmt.Fprintln(stderr, "loadtest:", err)
		return exitFailed
	}
	if err := outcome.writePage(cfg.page); err != nil {
		_, _ = fmt.Fprintln(stderr, "loadtest:", err)
		return exitFailed
	}
	switch {
	case len(outcome.Faults) > 0:
		return exitFailed
	case len(outcome.Missed) > 0:
		return exitSLO
	}
	return exitOK
}
