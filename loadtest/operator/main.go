// Command operator measures changes through the management API, on nodes that it starts as processes of their own:
//
//	go run ./loadtest/operator --node bin/gavel writes      upserts a second through the management API of one node
//	go run ./loadtest/operator --node bin/gavel visibility  how long it takes until all of three nodes act on a change: auctions on that of a bid
//	                                                        and a pause, listeners on a revoked key and an ended session
//	go run ./loadtest/operator --node bin/gavel consoles    what 20 open consoles cost a node that answers auctions, in CPU time
//	go run ./loadtest/operator --node bin/gavel spending    how three nodes spend 50 even budgets over a day of traffic, pressed into --duration
//	go run ./loadtest/operator --node bin/gavel import      import, backup and restore of a marketplace, with kill -9 of the importer
//
// The output has the load average of the machine, and beside every rate the CPU time that one write cost the node: on a shared machine the
// rate says little, and the CPU time says more.
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

	"github.com/gavel-ads/gavel/loadtest/driver"
)

// config is the command line.
type config struct {
	node, parent string
	duration     time.Duration
	workers      int
	changes      int
	revocations  int
	consoles     int
	page         string
	pairs        int
	rate, shape  string
	rows, kills  int
	campaigns    int
	plot         string
	seed         uint64
}

// measurements maps the name of each measurement to how many nodes it needs and what it does.
var measurements = map[string]struct {
	nodes int
	run   func(ctx context.Context, c *config, f *driver.Fleet, out io.Writer) error
}{
	"writes":     {1, writes},
	"visibility": {3, visibility},
	"consoles":   {1, consoles},
	"spending":   {3, spending},
	"import":     {1, imports},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprintln(os.Stderr, "operator:", err) // There is nothing to do when this fails.
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, out, help io.Writer) error {
	c := &config{}
	f := flag.NewFlagSet("operator", flag.ContinueOnError)
	f.SetOutput(help)
	f.StringVar(&c.node, "node", "bin/gavel", "the gavel `BINARY`")
	f.StringVar(&c.parent, "data-parent", "", "`DIR` for the data, on the disk to measure")
	f.DurationVar(&c.duration, "duration", 10*time.Second, "how long each kind of write is sent, how long a window of consoles is, and the day of spending")
	f.IntVar(&c.workers, "workers", 32, "connections, each with one request in flight (writes, consoles, spending)")
	f.IntVar(&c.changes, "changes", 200, "changes whose visibility is measured")
	f.IntVar(&c.revocations, "revocations", 100, "credentials of each kind that end, whose refusal is measured (visibility)")
	f.IntVar(&c.consoles, "consoles", 20, "signed-in consoles; 0 shows how much two windows differ without any (consoles)")
	f.StringVar(&c.page, "page", "", "`NAME` of the page that all consoles show; empty: a mix (consoles)")
	f.IntVar(&c.pairs, "pairs", 12, "pairs of windows with the consoles open and closed (consoles)")
	f.StringVar(&c.rate, "rate", "5000", "`REQUESTS` a second: a number, or as for loadtest (consoles, spending)")
	f.StringVar(&c.shape, "shape", "5x100", "auctions of a request and product ids of each: 1x100 or 5x100 (consoles)")
	f.IntVar(&c.rows, "rows", 100_000, "products that are imported, with a bid each")
	f.IntVar(&c.kills, "kills", 20, "how often the importer is killed")
	f.IntVar(&c.campaigns, "campaigns", 50, "campaigns with a budget each, 1 to 100 (spending)")
	f.StringVar(&c.plot, "plot", "", "`FILE` for a chart as SVG (spending)")
	f.Uint64Var(&c.seed, "seed", 1, "decides where the importer is killed, and the market (spending)")
	if err := f.Parse(args); err != nil {
		return err
	}
	s, known := measurements[f.Arg(0)]
	if !known || f.NArg() != 1 {
		return errors.New("want one of writes, visibility, consoles, spending, import")
	}
	if err := c.check(); err != nil {
		return err
	}
	settings, dir, err := adminSettings(c.parent)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // A temporary directory; nothing depends on its removal.
	nodes, err := driver.StartFleet(ctx, c.node, c.parent, s.nodes, settings...)
	if err != nil {
		return err
	}
	err = s.run(ctx, c, nodes, out)
	return errors.Join(err, nodes.Stop())
}

// check returns what is wrong with the flags.
func (c *config) check() error {
	if c.workers < 1 || c.workers > 1_000 || c.changes < 4 || c.duration <= 0 {
		return errors.New("want 1 to 1000 workers, at least 4 changes, and a duration")
	}
	if c.revocations < 1 || c.pairs < 1 || c.consoles < 0 || c.consoles > sessionsMax || shopAuctions[c.shape] == 0 {
		return fmt.Errorf("want at least 1 revocation and 1 pair, 0 to %d consoles, and the shape 1x100 or 5x100", sessionsMax)
	}
	if c.rows < 1 || c.rows > 9_999_999 || c.kills < 0 || c.kills > 1_000 {
		return errors.New("want 1 to 9999999 rows, and 0 to 1000 kills")
	}
	if c.campaigns < 1 || c.campaigns > 100 {
		return errors.New("want 1 to 100 campaigns")
	}
	if _, known := pagesOf(c.page, 1); !known {
		return fmt.Errorf("no page is named %q", c.page)
	}
	return nil
}

// sessionsMax is how many login sessions the node keeps of one user: the consoles are those of the first admin.
const sessionsMax = 20

// load returns the load average of the machine, empty where the system does not have it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(text))[:2], ", ")
}
