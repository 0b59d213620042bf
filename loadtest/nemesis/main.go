//go:build linux

// Command nemesis runs a cluster of real gavel processes, breaks what it stands on, and judges what its clients saw.
//
// It builds a small data centre on this machine (package world), keeps shops and an operator busy with it (clients), lets a
// seeded schedule of faults loose on processes, network and disks, heals everything, resolves every unknown outcome and
// holds the books against the history (check). DESIGN.md has the reasons.
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

	"github.com/gavel-ads/gavel/loadtest/nemesis/world"
)

// Exit codes.
const (
	exitOK        = 0
	exitViolation = 1 // A promise was broken; the report says which and where the history lies.
	exitUsage     = 2
	exitFailed    = 3 // The run could not be made.
	exitSkipped   = 4 // This machine cannot be a world.
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
	kinds     []string // Of faults; empty: all.
	first     []string // Kinds of the first faults, in this order.
	staleness time.Duration
	slack     time.Duration
	gentle    bool // Shorter faults, for a test beside other tests.
	keep      bool
	install   bool
	check     bool // Of the machine, and nothing else.
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var minutes float64
	var faults, first string
	flags := flag.NewFlagSet("nemesis", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Float64Var(&minutes, "minutes", 3, "how long faults are let loose; set-up and judgement come on top")
	flags.IntVar(&o.nodes, "nodes", 3, "size of the cluster: 1, 3 or 5")
	flags.Uint64Var(&o.seed, "seed", 0, "of the schedule and the clients; 0: by the clock. The report says it")
	flags.IntVar(&o.rate, "rate", 150, "events a second, all storefronts together")
	flags.StringVar(&o.binary, "binary", "", "gavel binary to run; empty: built from this tree, static")
	flags.StringVar(&o.dir, "dir", "", "where logs, history and report go; empty: a temporary directory, removed when all is well")
	flags.StringVar(&o.json, "json", "", "write the report as JSON to this file, - for standard output")
	flags.StringVar(&faults, "faults", "", "only these kinds of faults, by comma; one of: "+strings.Join(kindNames(), ", "))
	flags.StringVar(&first, "first", "", "kinds of the first faults, by comma, in this order; the seed draws those after them")
	flags.BoolVar(&o.check, "check", false, "only say whether this machine can be a world; exit code 4 when not")
	flags.DurationVar(&o.staleness, "staleness", 3*time.Second, "age of budgets from which a node must offer no campaign")
	flags.DurationVar(&o.slack, "slack", time.Second, "what measuring that may add")
	flags.BoolVar(&o.gentle, "gentle", false, "shorter faults with longer rests, for a machine that has other work")
	flags.BoolVar(&o.keep, "keep", false, "keep logs and history also when all is well")
	flags.BoolVar(&o.install, "install", true, "ask apt-get for missing tools")
	flags.Usage = func() {
		_, _ = fmt.Fprint(stderr, "nemesis breaks a cluster of real processes and judges what its clients saw. Linux, root.\n\n",
			"  go run ./loadtest/nemesis --minutes 60 --nodes 3\n\nExit codes: 0 all promises held, 1 one was broken, 2 usage, 3 no run, 4 skipped.\n\n")
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

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "nemesis:", err)
		return exitUsage
	}
	if err := world.Check(o.install); err != nil {
		_, _ = fmt.Fprintln(stderr, "nemesis: SKIPPED: this machine cannot be a world:", err)
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
