package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/bench/pacing"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	"github.com/gavel-ads/gavel/bench/pacing/virtual"
)

// simulateCommand compares ways to spend budgets on simulated days.
type simulateCommand struct {
	Seeds      string        `default:"1-3" help:"Seeds of the days, for example 1-10 or 1,4,7-9. Each seed is a market of its own." placeholder:"LIST"`
	Nodes      int           `default:"4" help:"Number of virtual nodes." placeholder:"N"`
	Lag        time.Duration `default:"1s" help:"Time from one node to another, for reports, balances and pacing." placeholder:"TIME"`
	Loss       float64       `default:"0" help:"Share of the nodes' reports that are lost." placeholder:"SHARE"`
	Skew       float64       `default:"0" help:"Node k gets traffic in proportion to (k+1)^-SKEW; 0: all the same." placeholder:"SKEW"`
	Policies   []string      `help:"Policies to compare, separated by commas; default: all but hindsight, which takes 40 extra runs." placeholder:"NAME"`
	FastFinish float64       `default:"0.03" help:"Share of the day's traffic at its end that the controller does not plan with." placeholder:"SHARE"`
	Floor      float64       `default:"0.05" help:"Smallest bid factor of the controller; below it the probability to compete falls." placeholder:"FACTOR"`
	Bound      bool          `default:"true" negatable:"" help:"Compute the upper bound of liquid welfare, which takes 150 passes over the day."`
	Jobs       int           `default:"1" help:"Seeds that run at the same time." placeholder:"N"`
	JSON       string        `name:"json" help:"Also write the result as JSON." placeholder:"FILE"`
	Plots      string        `help:"Also write charts of the first seed, as SVG." placeholder:"DIR"`

	Traffic   string            `help:"Simulate a recorded day of a real node (gavel record export) and not a generated market." placeholder:"FILE"`
	SetBudget map[string]string `help:"With --traffic: another budget of a day for a campaign, in units of the currency, and report what it gets. May be repeated." placeholder:"CAMPAIGN=AMOUNT"`
	ScaleBids map[string]string `help:"With --traffic: multiply the bids of a campaign, and report what it gets. May be repeated." placeholder:"CAMPAIGN=FACTOR"`
	Watch     []string          `help:"With --traffic: campaigns to report by themselves." placeholder:"CAMPAIGN"`

	Partition  []string `help:"Cut a node off, for example 1@12h+60s: node 1 at 12:00 for 60 seconds. May be repeated." placeholder:"NODE@TIME+TIME"`
	Kill       []string `help:"End a node's process and start it again, for example 0@15h+10m." placeholder:"NODE@TIME+TIME"`
	LeaderLoss []string `help:"Have no leader for a while, for example 12h+5s." placeholder:"TIME+TIME"`
	Surge      string   `help:"Multiply the traffic for a while, for example 12h+1h=5." placeholder:"TIME+TIME=FACTOR"`

	Assume assumptions `embed:"" group:"Assumptions of the generated market:"`
}

// assumptions are the flags of the generator. Their defaults are those of scenario.Default.
type assumptions struct {
	Campaigns       int           `default:"400" help:"Number of campaigns." placeholder:"N"`
	Requests        int           `default:"750" help:"Mean number of requests for each campaign." placeholder:"N"`
	Categories      int           `default:"0" help:"Number of categories, whose popularity is Zipf(1.1); 0: 40, or 200 for more than 1,000 campaigns. Assumption." placeholder:"N"`
	Candidates      float64       `default:"8" help:"Mean number of campaigns that compete for a request (13 bidders: Lahaie and Pennock 2007)." placeholder:"N"`
	ClickRate       float64       `default:"0.03" help:"Mean click rate in the first slot: 0.03 search, 0.004 shop, 0.00075 banner." placeholder:"RATE"`
	PredictorError  float64       `default:"0.15" help:"Error of the quality score, standard deviation of its logarithm (AuctionNet 2024)." placeholder:"SIGMA"`
	BidMedian       float64       `default:"0.8" help:"Median bid per click; lognormal with sigma 0.71 (Lahaie and Pennock 2007)." placeholder:"AMOUNT"`
	Correlation     float64       `default:"0.4" help:"Correlation of bid and click rate (Lahaie and Pennock 2007)." placeholder:"RHO"`
	BannerShare     float64       `default:"0.2" help:"Share of campaigns that pay per thousand impressions, and of requests for one banner. Assumption." placeholder:"SHARE"`
	Reserve         *float64      `help:"Reserve price per click, 0.10 if not set; a recorded day has its own; per thousand impressions it is 1.00 (Walmart 2022: 0.20 to 0.30 per click)." placeholder:"AMOUNT"`
	BudgetClicks    float64       `default:"20" help:"Median budget in clicks at the bid, at least 5; lognormal." placeholder:"CLICKS"`
	BudgetSigma     float64       `default:"1.5" help:"Spread of budgets (1.95: DataHawk 2022, heavy; 0.5: small budgets)." placeholder:"SIGMA"`
	Profile         string        `default:"two-peaks" enum:"two-peaks,one-peak,flat" help:"Shape of the day: two-peaks (AuctionNet 2024), one-peak (BAT 2025) or flat." placeholder:"NAME"`
	ShapeNoise      float64       `default:"0.4" help:"Each two hours are 1 plus or minus this (AuctionNet 2024)." placeholder:"SHARE"`
	LevelNoise      float64       `default:"0.15" help:"The day's level is 1 plus or minus this. Assumption." placeholder:"SHARE"`
	External        float64       `default:"0.2" help:"Share of listing requests with one to three external bids. Assumption." placeholder:"SHARE"`
	ClickDelay      time.Duration `default:"20s" help:"Mean time from an auction to its click. Assumption." placeholder:"TIME"`
	SlowClickDelay  time.Duration `default:"300s" help:"The same of one click in ten. Assumption." placeholder:"TIME"`
	LateShare       float64       `default:"0.01" help:"Share of clicks that are late by up to 30 days. Assumption." placeholder:"SHARE"`
	EditShare       float64       `default:"0" help:"Share of campaigns whose budget is doubled or halved during the day. Assumption." placeholder:"SHARE"`
	ForecastUniform bool          `help:"Policies do not know the shape of the day."`
}

// Help describes method and output.
func (simulateCommand) Help() string {
	return `Generates markets, runs a day of each in virtual time on several nodes with the auction engine, the ledger and the pacing
controller that gavel serve uses, and compares the controller with published ways to spend a budget, each with and without
the hold (money kept for ads whose clicks are still to come). Everything depends on the flags only: the same command gives
the same bytes. Every policy sees the same requests, and the same shopper clicks the same ad.

Prints the means over the seeds, and the paired differences from the first row with 95 % confidence intervals. bench/pacing
in the sources describes method, assumptions and limits.

Policies: ` + strings.Join(pacing.Names(), ", ") + `.

Examples:
  gavel simulate --seeds 1-10 --campaigns 400 --policies gavel,none,ptr --plots plots
  gavel simulate --policies gavel --partition 1@12h+60s --leader-loss 16h+5s
  gavel simulate --policies gavel --edit-share 0.1 --seeds 1-10
  gavel simulate --policies gavel --click-delay 120s --slow-click-delay 30m
  gavel record export day.json && gavel simulate --traffic day.json --policies gavel --set-budget CAMPAIGN=40`
}

// Run simulates and prints the result.
func (c *simulateCommand) Run(p *process) error {
	o, err := c.options()
	if err != nil {
		return usageError{fmt.Errorf("gavel: %w", err)}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if p.terminal {
		o.Progress = progressBar(p.err)
	}
	report, err := pacing.Compare(ctx, o)
	if p.terminal {
		fmt.Fprint(p.err, "\r\x1b[K")
	}
	if err != nil {
		return err
	}
	if err := report.WriteText(p.out); err != nil {
		return err
	}
	if c.JSON != "" {
		if err := writeReport(c.JSON, report); err != nil {
			return err
		}
	}
	if c.Plots != "" {
		return report.WritePlots(c.Plots)
	}
	return nil
}

// writeReport writes the JSON file.
func writeReport(name string, report *pacing.Report) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(report.WriteJSON(file), file.Close())
}

// progressBar returns a function that draws how many runs are done, in one line of a terminal.
func progressBar(w io.Writer) func(done, all int) {
	const cells = 30
	return func(done, all int) {
		filled := done * cells / all
		fmt.Fprintf(w, "\r%s%s %d of %d runs", strings.Repeat("#", filled), strings.Repeat(".", cells-filled), done, all)
	}
}

// options turns the flags into the options of a comparison. err says what is wrong with the flags.
func (c *simulateCommand) options() (*pacing.Options, error) {
	var faults []error
	keep := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	o := &pacing.Options{Policies: c.Policies, Bound: c.Bound, Jobs: c.Jobs, Controller: pacing.DefaultController()}
	o.Controller.FastFinish, o.Controller.Floor = c.FastFinish, c.Floor
	if !(c.FastFinish >= 0 && c.FastFinish < 1 && c.Floor > 0 && c.Floor <= 1) {
		faults = append(faults, errors.New("--fast-finish must be from 0 to below 1, and --floor above 0 and at most 1"))
	}
	if len(o.Policies) == 0 {
		for _, name := range pacing.Names() {
			if name != "hindsight" {
				o.Policies = append(o.Policies, name)
			}
		}
	}
	var err error
	o.Seeds, err = parseSeeds(c.Seeds)
	keep(err)
	o.Virtual = virtual.Config{Nodes: c.Nodes, LagMillis: c.Lag.Milliseconds(), Loss: c.Loss, Skew: c.Skew}
	keep(o.Virtual.Validate())
	keep(c.addFaults(o))
	if c.Traffic != "" {
		keep(c.addTraffic(o))
		return o, errors.Join(faults...)
	}
	if len(c.SetBudget)+len(c.ScaleBids)+len(c.Watch) > 0 {
		faults = append(faults, errors.New("--set-budget, --scale-bids and --watch need --traffic: generated campaigns have no ids"))
	}
	config := c.Assume.config()
	keep(c.addSurge(&config, o))
	keep(config.Validate())
	uniform := c.Assume.ForecastUniform
	o.Day = func(seed uint64, number int) (*scenario.Day, error) {
		own := config
		own.Seed, own.Number = seed, number
		day := scenario.New(&own)
		if uniform {
			for hour := range day.Forecast {
				day.Forecast[hour] = 1
			}
		}
		return day, nil
	}
	return o, errors.Join(faults...)
}

// config returns the generator's configuration.
func (a *assumptions) config() scenario.Config {
	c := scenario.Default(0, a.Campaigns)
	c.Requests, c.CandidatesMean = a.Requests*a.Campaigns, a.Candidates
	if a.Categories > 0 {
		c.Categories = a.Categories
	}
	c.ClickRate, c.PredictorError, c.BidMedian, c.Correlation = a.ClickRate, a.PredictorError, a.BidMedian, a.Correlation
	c.BannerShare, c.BudgetClicks, c.BudgetSigma = a.BannerShare, a.BudgetClicks, a.BudgetSigma
	if a.Reserve != nil {
		c.Reserve = *a.Reserve
	}
	c.Profile = map[string]scenario.Profile{"two-peaks": scenario.TwoPeaks, "one-peak": scenario.OnePeak, "flat": scenario.Flat}[a.Profile]
	c.ShapeNoise, c.LevelNoise, c.ExternalRate = a.ShapeNoise, a.LevelNoise, a.External
	c.DelayMean, c.DelaySlowMean = float64(a.ClickDelay.Milliseconds()), float64(a.SlowClickDelay.Milliseconds())
	c.LateShare, c.EditShare = a.LateShare, a.EditShare
	return c
}

// addFaults parses the flags of faults. Every fault is an event of the report.
func (c *simulateCommand) addFaults(o *pacing.Options) error {
	add := func(kind virtual.FaultKind, node int, window string) error {
		from, length, err := parseWindow(window)
		o.Virtual.Faults = append(o.Virtual.Faults, virtual.Fault{Kind: kind, Node: node, From: from, Length: length})
		o.Events = append(o.Events, from)
		return err
	}
	var faults []error
	nodes := func(kind virtual.FaultKind, flags []string) {
		for _, flag := range flags {
			number, window, _ := strings.Cut(flag, "@")
			node, err := strconv.Atoi(number)
			if err != nil || node < 0 || node >= c.Nodes {
				faults = append(faults, fmt.Errorf("%q names no node: they have the numbers 0 to %d", flag, c.Nodes-1))
				continue
			}
			faults = append(faults, add(kind, node, window))
		}
	}
	nodes(virtual.Partition, c.Partition)
	nodes(virtual.Kill, c.Kill)
	for _, flag := range c.LeaderLoss {
		faults = append(faults, add(virtual.LeaderLoss, 0, flag))
	}
	return errors.Join(faults...)
}

// addSurge parses the flag of the surge.
func (c *simulateCommand) addSurge(config *scenario.Config, o *pacing.Options) error {
	if c.Surge == "" {
		return nil
	}
	window, factor, _ := strings.Cut(c.Surge, "=")
	from, length, err := parseWindow(window)
	if err != nil {
		return err
	}
	config.SurgeFrom, config.SurgeLength = from, length
	if config.SurgeFactor, err = strconv.ParseFloat(factor, 64); err != nil {
		return fmt.Errorf("%q has no factor, as in 12h+1h=5", c.Surge)
	}
	o.Events = append(o.Events, from)
	return nil
}

// parseWindow parses a time of the day and a length, as in 12h+60s.
func parseWindow(text string) (from, length int64, err error) {
	start, rest, ok := strings.Cut(text, "+")
	at, errStart := time.ParseDuration(start)
	long, errRest := time.ParseDuration(rest)
	if !ok || errStart != nil || errRest != nil || at < 0 || long <= 0 || at+long > 24*time.Hour {
		return 0, 0, fmt.Errorf("%q is no time of the day and length, as in 12h+60s", text)
	}
	return at.Milliseconds(), long.Milliseconds(), nil
}

const seedsMax = 10_000 // BOUND: seeds of one comparison.

// parseSeeds parses a list of seeds and ranges.
func parseSeeds(text string) (seeds []uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		from, errLow := strconv.ParseUint(low, 10, 32)
		to := from
		var errHigh error
		if isRange {
			to, errHigh = strconv.ParseUint(high, 10, 32)
		}
		if errLow != nil || errHigh != nil || to < from || len(seeds)+int(to-from) >= seedsMax {
			return nil, fmt.Errorf("%q is no list of at most %d seeds, as in 1-10 or 1,4", text, seedsMax)
		}
		for seed := from; seed <= to; seed++ {
			seeds = append(seeds, seed)
		}
	}
	return seeds, nil
}
