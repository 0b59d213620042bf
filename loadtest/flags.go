package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/bench/traffic"
	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/scenarios"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// config is one run as the command line asks for it.
type config struct {
	name, scenario        string // As the command line names it, and what is sent.
	auctionURLs           []string
	manageURL             string
	auctionKey, manageKey string
	node, dataParent      string // The binary of nodes that this run starts, and the directory for their data.
	nodes, at             int    // How many nodes are started, and which one gets all requests, from 1; 0: all in turn.
	plan                  driver.Plan
	workers               int
	seed                  uint64
	slo                   []driver.SLO
	pids                  []int
	market                traffic.MarketSpec
	terms                 shop.Terms
	fill, check, json     bool
	bare                  bool
	changes               driver.Plan // Changes of budgets beside the scenario.
	fresh                 bool        // How fresh reports are is measured.
	page                  string      // The file of the report as a page; empty: none is written.
	observed              []string    // Base URLs of the nodes whose metrics the page shows.
	auctions, ids, slots  int
	events, tokens        int
	timeout               time.Duration
}

// parseFlags reads the command line. Its error names all that is wrong with it.
func parseFlags(args []string, help io.Writer) (*config, error) {
	cfg := &config{}
	var rate, changes, slo, shape, keysFile string
	var duration time.Duration
	var auctionURL, pids string
	f := flag.NewFlagSet("loadtest", flag.ContinueOnError)
	f.SetOutput(help)
	f.Usage = func() {
		_, _ = fmt.Fprintf(help, "usage: loadtest [flags] SCENARIO\nscenarios: %s\nwith settings: %s, or a copy of one of loadtest/scenarios/files\n\n",
			strings.Join(scenarios.All, ", "), strings.Join(scenarios.FileNames(), ", "))
		f.PrintDefaults()
	}
	f.StringVar(&cfg.node, "node", "", "start this gavel `BINARY` on an empty data directory and measure it; addresses, keys and --pid are then not needed")
	f.IntVar(&cfg.nodes, "nodes", 1, "how many nodes of --node to start, as one cluster: 1 to 5")
	f.IntVar(&cfg.at, "at", 0, "`NUMBER` of the node of --nodes that gets all requests; 0: every connection goes to the next one")
	f.StringVar(&cfg.dataParent, "data-parent", "", "`DIR` for the data of --node, on the disk to measure")
	f.StringVar(&auctionURL, "auction", "http://127.0.0.1:8080", "base `URLS` of auction listeners, separated by commas; the connections are spread over them")
	f.StringVar(&cfg.manageURL, "manage", "http://127.0.0.1:8081", "base `URL` of the management listener")
	f.StringVar(&keysFile, "keys-file", "", "`FILE` with auctionKey and managementKey, as gavel serve --keys-file writes it")
	f.StringVar(&cfg.auctionKey, "auction-key", os.Getenv("GAVEL_BOOTSTRAP_AUCTION_KEY"), "auction `KEY`")
	f.StringVar(&cfg.manageKey, "management-key", os.Getenv("GAVEL_BOOTSTRAP_MANAGEMENT_KEY"), "management `KEY`")
	f.StringVar(&rate, "rate", "0", "requests a second: `R`, a ramp FROM..TO, bursts RxN, a shop's day day:MEAN, a flash crowd crowd:MEAN; 0: closed loop, every worker sends when answered")
	f.DurationVar(&duration, "duration", 10*time.Second, "how long to send")
	f.IntVar(&cfg.workers, "workers", 16, "connections, each with one request in flight")
	f.Uint64Var(&cfg.seed, "seed", 1, "seed of market and traffic")
	f.StringVar(&slo, "slo", "", "`TARGETS` such as p99=5ms,max=1s; exit code 3 when missed")
	f.StringVar(&pids, "pid", "", "process `IDS` of the nodes, separated by commas, to report their CPU time")
	f.BoolVar(&cfg.fill, "fill", true, "create the market of the seed on the node first; false when an earlier run did")
	f.BoolVar(&cfg.check, "check", true, "compare the node's reports with what was acknowledged")
	f.BoolVar(&cfg.json, "json", false, "print one JSON object instead of text")
	f.BoolVar(&cfg.bare, "bare", true, "send 200 requests a second to a server that does nothing beside the others, to see what the machine itself costs")
	f.StringVar(&changes, "changes", "0", "changes of campaigns' budgets a second beside the scenario, like --rate; 0: none")
	f.BoolVar(&cfg.fresh, "fresh", false, "also measure how long it takes until reports contain what was acknowledged")
	f.StringVar(&cfg.page, "html", "", "also write the report with plots to this `FILE`; it reads the node's metrics once a second")
	f.IntVar(&cfg.market.Products, "products", traffic.Small.Products, "products of the market")
	f.IntVar(&cfg.market.Vendors, "vendors", traffic.Small.Vendors, "vendors of the market")
	f.IntVar(&cfg.market.Campaigns, "campaigns", traffic.Small.Campaigns, "campaigns of the market, up to 500 bids each")
	f.IntVar(&cfg.market.BidsPerCampaign, "bids", traffic.Small.BidsPerCampaign, "bids per campaign, up to 500")
	f.Int64Var(&cfg.terms.BudgetMinor, "budget", 20_000_000_000, "budget of every campaign in minor units; 0: the one of the market")
	f.Int64Var(&cfg.terms.DepositMinor, "deposit", 100_000_000_000, "deposit of every vendor in minor units")
	f.StringVar(&shape, "shape", "1x50", "`NxM`: N auctions of M product ids per auction request")
	f.IntVar(&cfg.slots, "slots", 4, "winners wanted per auction, up to 40")
	f.IntVar(&cfg.events, "events", 50, "events per body, up to 50")
	f.IntVar(&cfg.tokens, "tokens", 600_000, "tokens fetched before the clock starts (clicks)")
	f.DurationVar(&cfg.timeout, "timeout", 10*time.Second, "how long to wait for an answer; then the outcome counts as unknown")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() != 1 {
		return nil, fmt.Errorf("want one scenario: %s", strings.Join(scenarios.All, ", "))
	}
	file, err := scenarios.Find(f.Arg(0))
	if err == nil {
		err = setDefaults(f, file.Flags)
	}
	if err != nil {
		return nil, err
	}
	cfg.name, cfg.scenario, cfg.observed = f.Arg(0), file.Traffic, []string{cfg.manageURL}
	cfg.auctionURLs, err = readTargets(auctionURL)
	return cfg, errors.Join(err, cfg.readPids(pids),
		readPlan(&cfg.plan, rate, duration), readPlan(&cfg.changes, changes, duration), cfg.readShape(shape), cfg.readSLO(slo), cfg.wantKeys(keysFile), cfg.bounds(),
	)
}

// setDefaults sets the flags of a scenario file that the command line has not set.
func setDefaults(f *flag.FlagSet, values map[string]string) error {
	given := map[string]bool{}
	f.Visit(func(one *flag.Flag) { given[one.Name] = true })
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if given[name] {
			continue
		}
		if err := f.Set(name, values[name]); err != nil {
			return fmt.Errorf("scenario file: flag %q with value %q: %w", name, values[name], err)
		}
	}
	return nil
}

func readPlan(p *driver.Plan, rate string, duration time.Duration) (err error) {
	*p, err = driver.ParsePlan(rate, duration)
	return err
}

func (c *config) readPids(text string) error {
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' }) {
		pid, err := strconv.Atoi(field)
		if err != nil || pid < 1 {
			return fmt.Errorf("pid %q: want numbers above 0, separated by commas", text)
		}
		c.pids = append(c.pids, pid)
	}
	return nil
}

func (c *config) readSLO(text string) (err error) {
	c.slo, err = driver.ParseSLO(text)
	return err
}

func (c *config) readShape(text string) error {
	n, m, _ := strings.Cut(text, "x")
	var errN, errM error
	c.auctions, errN = strconv.Atoi(n)
	c.ids, errM = strconv.Atoi(m)
	if errN != nil || errM != nil || c.auctions < 1 || c.auctions > 5 || c.ids < 1 || c.ids > 10_000 {
		return fmt.Errorf("shape %q: want 1..5 auctions x 1..10000 ids, as 5x100", text)
	}
	return nil
}

// wantKeys reads the keys, unless this run starts the nodes and makes their keys.
func (c *config) wantKeys(file string) error {
	if c.node != "" {
		return nil
	}
	return c.readKeys(file)
}

// readKeys reads the keys from a keys file when one is given, and requires both.
func (c *config) readKeys(file string) error {
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var keys struct{ AuctionKey, ManagementKey string }
		if err := json.Unmarshal(text, &keys); err != nil {
			return fmt.Errorf("keys file %s: %w", file, err)
		}
		c.auctionKey, c.manageKey = keys.AuctionKey, keys.ManagementKey
	}
	if c.auctionKey == "" || c.manageKey == "" {
		return errors.New("no keys: give --keys-file, or --auction-key and --management-key")
	}
	return nil
}

func (c *config) bounds() error {
	switch {
	case c.nodes < 1 || c.nodes > 5:
		return errors.New("nodes: want 1 to 5")
	case c.nodes > 1 && c.node == "":
		return errors.New("nodes: want --node too, the binary to start them with")
	case c.at < 0 || c.at > c.nodes:
		return fmt.Errorf("at: want 0 to %d", c.nodes)
	case c.workers < 1 || c.workers > 10_000:
		return errors.New("workers: want 1 to 10000")
	case c.slots < 1 || c.slots > 40:
		return errors.New("slots: want 1 to 40")
	case c.events < 1 || c.events > 50:
		return errors.New("events: want 1 to 50")
	case c.timeout <= 0:
		return errors.New("timeout: want more than 0")
	}
	return nil
}
