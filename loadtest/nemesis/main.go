//go:build linux

// Command nemesis runs a cluster of real gavel processes, injects faults, and checks what the clients of the cluster saw.
//
// It builds networks and disks for the nodes on this machine (package environment), runs storefronts and an operator (clients), injects a
// seeded schedule of faults into processes, network and disks, removes all faults, resolves every unknown outcome, and compares
// what the cluster reports with the history of all operations (check). DESIGN.md has the reasons.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/environment"
)

// Exit codes.
const (
	exitOK        = 0
	exitViolation = 1 // A promise was broken; the report says which, and where the history is.
	exitUsage     = 2
	exitFailed    = 3 // The run could not be made, so nothing was checked.
	exitSkipped   = 4 // This machine lacks something that a run needs.
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the settings of a run.
type options struct {
	length    time.Duration
	nodes     int
	seed      uint64
	rate      int
	binary    string
	dir       string
	json      string
	kinds     []string // Kinds of faults; empty: all.
	first     []string // The kinds of the first faults, in this order.
	staleness time.Duration
	slack     time.Duration
	gentle    bool // Faults are shorter and pauses longer, for a test that runs beside other tests.
	keep      bool
	install   bool
	check     bool // Only check the machine.
}

// parse reads the command line. All unknown or impossible kinds of faults are in one error.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var minutes float64
	var faults, first string
	flags := flag.NewFlagSet("nemesis", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Float64Var(&minutes, "minutes", 3, "how long faults are injected; set-up and checks take additional time")
	flags.IntVar(&o.nodes, "nodes", 3, "size of the cluster: 1, 3 or 5")
	flags.Uint64Var(&o.seed, "seed", 0, "seed of the schedule and of the clients; 0: taken from the clock. The report has it")
	flags.IntVar(&o.rate, "rate", 150, "events a second of all storefronts together")
	flags.StringVar(&o.binary, "binary", "", "gavel binary to run; empty: a static one is built from this tree")
	flags.StringVar(&o.dir, "dir", "", "directory for logs, history and report; empty: a temporary one, removed when nothing was violated")
	flags.StringVar(&o.json, "json", "", "write the report as JSON to this file, - for standard output")
	flags.StringVar(&faults, "faults", "", "only these kinds of faults, separated by commas; one of: "+strings.Join(kindNames(), ", "))
	flags.StringVar(&first, "first", "", "kinds of the first faults, separated by commas, in this order; the seed draws those after them")
	flags.BoolVar(&o.check, "check", false, "only check whether this machine can make a run; exit code 4 when it cannot")
	flags.DurationVar(&o.staleness, "staleness", 3*time.Second, "replica age from which a node must offer no campaign")
	flags.DurationVar(&o.slack, "slack", time.Second, "what measuring the staleness may add to it")
	flags.BoolVar(&o.gentle, "gentle", false, "shorter faults with longer pauses, for a machine that has other work")
	flags.BoolVar(&o.keep, "keep", false, "keep logs and history also when nothing was violated")
	flags.BoolVar(&o.install, "install", true, "install missing tools with apt-get")
	flags.Usage = func() {
		_, _ = fmt.Fprint(stderr, "nemesis injects faults into a cluster of real processes and checks what its clients saw. Linux, root.\n\n",
			"  go run ./loadtest/nemesis --minutes 60 --nodes 3\n\nExit codes: 0 all promises held, 1 one was broken, 2 usage, 3 the run failed, 4 skipped.\n\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.length = time.Duration(minutes * float64(time.Minute))
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano() % 1_000_000_000)
	}
	var wrong error
	named := func(flag, value string) (all []string) {
		for name := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ',' }) {
			k, known := kinds[name]
			if !known {
				wrong = errors.Join(wrong, fmt.Errorf("--%s: no kind %q", flag, name))
			} else if o.nodes < k.least {
				wrong = errors.Join(wrong, fmt.Errorf("--%s: %s needs %d nodes", flag, name, k.least))
			}
			all = append(all, name)
		}
		return all
	}
	o.kinds, o.first = named("faults", faults), named("first", first)
	switch {
	case wrong != nil:
		return o, wrong
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.nodes != 1 && o.nodes != 3 && o.nodes != 5:
		return o, fmt.Errorf("--nodes %d: want 1, 3 or 5", o.nodes)
	case o.length <= 0:
		return o, fmt.Errorf("--minutes %v: want more than 0", minutes)
	case o.rate < 1:
		return o, fmt.Errorf("--rate %d: want at least 1", o.rate)
	}
	return o, nil
}

// command runs the command line and returns its exit code.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "nemesis:", err)
		return exitUsage
	}
	if err := environment.Check(o.install); err != nil {
		_, _ = fmt.Fprintln(stderr, "nemesis: SKIPPED: this machine cannot make a run:", err)
		return exitSkipped
	}
	if o.check {
		return exitOK
	}
	report, err := perform(ctx, o, stderr)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "nemesis:", err)
		return exitFailed
	}
	report.write(stdout)
	if o.json != "" {
		if err := report.writeJSON(o.json, stdout); err != nil {
			_, _ = fmt.Fprintln(stderr, "nemesis:", err)
			return exitFailed
		}
	}
	if report.Violations > 0 {
		return exitViolation
	}
	return exitOK
}
