//go:build linux

// Command hostile attacks a node of its own from several loopback addresses while a storefront uses it, and checks whether the node keeps
// its promises.
//
//	go run ./loadtest/hostile --minutes 60
//
// It starts a gavel process with 1,024 files and a memory limit of 1 GiB, fills a market, and sends auctions and events at a third of the
// rate that the node reached before. Windows with all attackers of package attack alternate with windows without them. Every promise is
// one check of the report, and a check that was not exercised is a violation as well. DESIGN.md says what the run does and why.
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
	"strings"
	"syscall"
	"time"

	"github.com/gavel-ads/gavel/loadtest/hostile/attack"
)

// Exit codes.
const (
	exitOK        = 0
	exitViolation = 1 // A check failed, or was not exercised; the report says which.
	exitUsage     = 2
	exitFailed    = 3 // The run could not be made, so nothing was checked.
	exitSkipped   = 4 // This machine lacks something that a run needs.
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var code int
	if len(os.Args) > 1 && os.Args[1] == attackersCommand {
		code = attackersProcess(ctx, os.Stdin, os.Stdout, os.Stderr)
	} else {
		code = command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	stop()
	os.Exit(code)
}

// options are the settings of a run.
type options struct {
	length      time.Duration // The length of all windows with attackers together.
	pairs       int
	seed        uint64
	binary      string
	parent      string
	json        string
	nodeLog     string   // File for the node's log; empty: it is removed with the data.
	only        []string // Names of attackers; empty: all.
	files       int      // How many files the node may have open.
	memory      int64    // The memory limit of the node in bytes.
	connections int
	rate        float64 // Requests of the storefront a second; 0: a third of the peak.
	workers     int
	ratioMax    float64
	quick       bool
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var minutes float64
	var only, memory string
	f := flag.NewFlagSet("hostile", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Float64Var(&minutes, "minutes", 60, "how long the node is attacked, all windows together; windows without attackers take additional time")
	f.IntVar(&o.pairs, "pairs", 0, "`COUNT` of windows with attackers; 0: one for every 4 minutes, at least 3")
	f.Uint64Var(&o.seed, "seed", 0, "seed of market and traffic; 0: taken from the clock. The report has it")
	f.StringVar(&o.binary, "binary", "", "gavel `BINARY` to attack; empty: a static one is built from this tree")
	f.StringVar(&o.parent, "data-parent", "", "`DIR` for the data of the node")
	f.StringVar(&o.json, "json", "", "write the report as JSON to this `FILE`, - for standard output instead of text")
	f.StringVar(&o.nodeLog, "node-log", "", "write the log of the node to this `FILE`")
	f.StringVar(&only, "only", "", "only these attackers, separated by commas; one of: "+strings.Join(kindNames(), ", "))
	f.IntVar(&o.files, "files", 1_024, "files that the process may have open")
	f.StringVar(&memory, "memory", "1GiB", "memory `LIMIT` of the process, in MiB or GiB")
	f.IntVar(&o.connections, "connections", 0, "connections that an attacker holds on each listener; 0: a tenth more than --files")
	f.Float64Var(&o.rate, "rate", 0, "requests of the storefront a second; 0: a third of the peak that is measured first")
	f.IntVar(&o.workers, "workers", 32, "connections of the storefront")
	f.Float64Var(&o.ratioMax, "ratio", 2, "largest allowed ratio of the p99 of auctions under attack to the p99 without attackers; 0: not checked")
	f.BoolVar(&o.quick, "quick", false, "smaller market, shorter measurements and smaller attacks, for a test")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.length = time.Duration(minutes * float64(time.Minute))
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano() % 1_000_000_000)
	}
	o.only = strings.FieldsFunc(only, func(r rune) bool { return r == ',' })
	if o.pairs == 0 {
		o.pairs = max(3, int(minutes/4))
	}
	if o.connections == 0 {
		o.connections = o.files + o.files/10
	}
	var err error
	if o.memory, err = parseBytes(memory); err != nil {
		return o, err
	}
	return o, o.check(f.Args())
}

func (o *options) check(rest []string) error {
	_, err := attack.Named(o.only)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.length <= 0:
		return fmt.Errorf("--minutes %v: want more than 0", o.length.Minutes())
	case o.pairs < 1 || o.pairs > 100:
		return fmt.Errorf("--pairs %d: want 1 to 100", o.pairs)
	case o.files < 64:
		return fmt.Errorf("--files %d: want at least 64", o.files)
	case o.rate < 0:
		return fmt.Errorf("--rate %v: want 0 or more", o.rate)
	case o.workers < 1 || o.workers > 1_000:
		return fmt.Errorf("--workers %d: want 1 to 1000", o.workers)
	case o.ratioMax != 0 && o.ratioMax < 1:
		return fmt.Errorf("--ratio %v: want 0 or at least 1", o.ratioMax)
	}
	return nil
}

// parseBytes reads a size such as 1GiB or 512MiB.
func parseBytes(text string) (int64, error) {
	for _, unit := range []struct {
		suffix string
		bytes  int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}} {
		digits, found := strings.CutSuffix(text, unit.suffix)
		var n int64
		if _, err := fmt.Sscanf(digits, "%d", &n); found && err == nil && n > 0 && n < 1<<20 {
			return n * unit.bytes, nil
		}
	}
	return 0, fmt.Errorf("--memory %q: want a size such as 1GiB or 512MiB", text)
}

// possible returns an error that says what this machine lacks for a run, nil when it lacks nothing.
func possible(o options) error {
	for _, tool := range []string{"sh", "nice"} {
		if _, err := exec.LookPath(tool); err != nil {
			return err
		}
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	// Three listeners get all idle connections, two get half as many slow heads, and the other attackers need some hundreds.
	if need := uint64(4*o.connections + 1_500); files.Max < need {
		return fmt.Errorf("the attackers need %d files open, the limit is %d", need, files.Max)
	}
	if files.Max < uint64(o.files) {
		return fmt.Errorf("--files %d is above the limit of %d", o.files, files.Max)
	}
	return nil
}

// kindNames returns the names of all attackers.
func kindNames() []string {
	var all []string
	for _, k := range attack.Kinds() {
		all = append(all, k.Name)
	}
	return all
}

// command runs the command line and returns its exit code.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "hostile:", err)
		return exitUsage
	}
	if err := possible(o); err != nil {
		_, _ = fmt.Fprintln(stderr, "hostile: SKIPPED: this machine cannot make the run:", err)
		return exitSkipped
	}
	rep, err := perform(ctx, o, stderr)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "hostile:", err)
		return exitFailed
	}
	if err := rep.write(o.json, stdout); err != nil {
		_, _ = fmt.Fprintln(stderr, "hostile:", err)
		return exitFailed
	}
	if rep.Violations > 0 {
		return exitViolation
	}
	return exitOK
}
