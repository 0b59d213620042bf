//go:build linux

// Command alerts lets a real Prometheus watch three real nodes, and checks that the rules that ship fire when they should and
// are silent when nothing is wrong.
//
// First the cluster is healthy, under load: no alert may fire. Then one fault after the other is injected: the alerts that tell
// of it have to fire, no other may, and all have to end when the fault is over. The faults are watched with a copy of the rules
// whose times are a fraction (quicken). promtool tests each rule on series that are written down (configs/prometheus); what is
// tested here is that a fault really produces such series.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/environment"
)

// Exit codes, as those of the nemesis.
const (
	exitOK        = 0
	exitViolation = 1 // An alert was missing, or one too many.
	exitUsage     = 2
	exitFailed    = 3 // The run could not be made.
	exitSkipped   = 4 // This machine lacks something that a run needs.
)

type options struct {
	binary, rules, only string
	healthy             time.Duration
	rate, factor        int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("alerts", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.binary, "binary", "bin/gavel", "the gavel `BINARY`")
	flags.StringVar(&o.rules, "rules", "configs/prometheus/rules.yml", "the `FILE` of the rules")
	flags.StringVar(&o.only, "only", "", "inject only the fault of this `NAME`")
	flags.DurationVar(&o.healthy, "healthy", 5*time.Minute, "how long the healthy cluster is watched first")
	flags.IntVar(&o.rate, "rate", 100, "events a second")
	flags.IntVar(&o.factor, "factor", 12, "by what the times of the rules are divided while faults are injected, 1 to 60")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return exitOK
	} else if err != nil {
		return exitUsage
	}
	if flags.NArg() > 0 || o.rate < 1 || o.factor < 1 || o.factor > 60 || o.healthy < 0 {
		_, _ = fmt.Fprintln(stderr, "alerts: want no argument, --rate of at least 1, --factor of 1 to 60 and --healthy of at least 0")
		return exitUsage
	}
	if err := check(); err != nil {
		_, _ = fmt.Fprintln(stderr, "alerts: SKIPPED: this machine cannot make a run:", err)
		return exitSkipped
	}
	violations, err := perform(ctx, o, stdout)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "alerts:", err)
		return exitFailed
	}
	if violations > 0 {
		_, _ = fmt.Fprintf(stdout, "%d violations\n", violations)
		return exitViolation
	}
	_, _ = fmt.Fprintln(stdout, "every expected alert fired, and no other")
	return exitOK
}

// check says what the machine lacks.
func check() error {
	if _, err := exec.LookPath("prometheus"); err != nil {
		return errors.New("prometheus is not installed (Debian: prometheus)")
	}
	return environment.Check(true)
}

// perform makes a run and returns the number of violations. The directory of the logs stays when there are some.
func perform(ctx context.Context, o options, out io.Writer) (violations int, err error) {
	dir, err := os.MkdirTemp("", "alerts-")
	if err != nil {
		return 0, err
	}
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return 0, err
	}
	c, err := startCluster(ctx, dir, binary, o.rate)
	if err != nil {
		return 0, fmt.Errorf("%w; logs in %s", err, dir)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var targets []string
	for _, n := range c.Nodes {
		targets = append(targets, n.IP+":8081")
	}
	p, err := startPrometheus(ctx, dir, o.rules, o.factor, targets)
	if err != nil {
		return 0, err
	}
	defer p.stop()
	w := &watch{cluster: c, prometheus: p, out: out}
	if err := w.run(ctx, o); err != nil {
		return 0, fmt.Errorf("%w; logs in %s", err, dir)
	}
	if w.violations > 0 {
		_, _ = fmt.Fprintln(out, "logs in", dir)
		return w.violations, nil
	}
	return 0, os.RemoveAll(dir)
}
