package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/bench/traffic"
	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/scenarios"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// measureNode makes one run against the node of the configuration, or against nodes that it starts.
func measureNode(ctx context.Context, cfg *config, progress io.Writer) (result *outcome, err error) {
	if cfg.node == "" {
		return measure(ctx, cfg, progress)
	}
	nodes, err := driver.StartFleet(ctx, cfg.node, cfg.dataParent, cfg.nodes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, nodes.Stop()) }()
	cfg.useFleet(nodes)
	return measure(ctx, cfg, progress)
}

// useFleet directs the run to a fleet: to one of its nodes, or to all of them in turn.
func (c *config) useFleet(f *driver.Fleet) {
	c.auctionKey, c.manageKey = f.AuctionKey, f.ManagementKey
	c.auctionURLs, c.pids, c.observed = nil, nil, nil
	for i, n := range f.Nodes {
		c.pids, c.observed = append(c.pids, n.Pid), append(c.observed, n.Manage)
		if c.at == 0 || c.at == i+1 {
			c.auctionURLs, c.manageURL = append(c.auctionURLs, n.Auction), n.Manage
		}
	}
}

// dialer returns a function that opens connections to the nodes in turn.
func (c *config) dialer() func() (scenarios.Poster, error) {
	var last atomic.Uint64
	return func() (scenarios.Poster, error) {
		target := int(last.Add(1) % uint64(len(c.auctionURLs)))
		conn, err := driver.NewConn(c.auctionURLs[target], c.auctionKey, c.timeout)
		return targeted{conn, target}, err
	}
}

// measure makes one whole run, from filling the node to comparing the reports.
func measure(ctx context.Context, cfg *config, progress io.Writer) (*outcome, error) {
	say := func(format string, a ...any) { _, _ = fmt.Fprintf(progress, format+"\n", a...) }
	// The name of the run is made from the clock, so that the events of a second run on the same node are new.
	run := "r" + strconv.FormatInt(time.Now().UnixMilli(), 36)
	market := traffic.NewMarket(cfg.market, cfg.seed)
	operator := shop.New(cfg.manageURL, cfg.manageKey)
	if cfg.fill {
		say("filling the node: %d products, %d vendors, %d campaigns", len(market.Products), len(market.Vendors), len(market.Campaigns))
		if _, err := operator.Fill(ctx, market, cfg.terms, run); err != nil {
			return nil, err
		}
		if scenarios.NeedsAds(cfg.scenario) {
			if err := operator.FillAds(ctx, market, cfg.terms, run); err != nil {
				return nil, err
			}
		}
	}
	dial := cfg.dialer()
	scenario, err := scenarios.New(cfg.scenario)
	if err != nil {
		return nil, err
	}
	say("preparing %s", cfg.name)
	env := &scenarios.Env{
		Seed: cfg.seed, Run: run, Products: biddable(market), Auctions: cfg.auctions, IDs: cfg.ids, Slots: cfg.slots,
		Events: cfg.events, Tokens: cfg.tokens, Dial: dial, Now: time.Now,
	}
	if err := scenario.Prepare(ctx, env); err != nil {
		return nil, err
	}
	var before driver.Totals
	if cfg.check {
		if before, err = driver.ReadTotals(ctx, operator, time.Now()); err != nil {
			return nil, err
		}
	}
	say("sending for %v with %d workers", cfg.plan.Duration(), cfg.workers)
	result, err := send(ctx, cfg, scenario, dial, operator, progress)
	if err != nil {
		return nil, err
	}
	if result.Settled, err = resolveUnknown(ctx, dial, result.total); err != nil {
		return nil, err
	}
	if cfg.check {
		say("reading the reports")
		after, err := driver.ReadTotals(ctx, operator, time.Now())
		if err != nil {
			return nil, err
		}
		result.compare(before, after)
	}
	result.checkTargets(cfg)
	return result, nil
}

// send sends the plan. Between the two readings of the CPU times only what the options ask for runs beside it: requests to
// the bare server, changes of budgets, and reading the node's metrics for the page.
func send(
	ctx context.Context, cfg *config, scenario scenarios.Scenario, dial func() (scenarios.Poster, error), operator *shop.Client, progress io.Writer,
) (*outcome, error) {
	result := &outcome{Scenario: cfg.name, Workers: cfg.workers, settings: cfg}
	r := &runner{plan: cfg.plan, scenario: scenario, dial: dial, timeline: newTimeline(cfg.plan.Duration())}
	beside, err := r.startBeside(ctx, cfg, operator, progress)
	if err != nil {
		return nil, err
	}
	defer beside.close()
	serverBefore, err := driver.ProcessesCPU(cfg.pids)
	if err != nil {
		return nil, err
	}
	ownBefore := driver.OwnCPU()
	start, tallies, err := r.run(ctx, cfg.workers)
	if err != nil {
		return nil, err
	}
	result.GeneratorCPU = driver.OwnCPU() - ownBefore
	server, err := driver.ProcessesCPU(cfg.pids)
	if err != nil {
		return nil, err
	}
	result.ServerCPU = server - serverBefore
	total := &tally{status: map[int]int64{}}
	for _, t := range tallies {
		total.add(t)
	}
	result.fill(start, total)
	result.fillKinds(r.timeline)
	result.fillTargets(cfg.auctionURLs, tallies)
	result.observed = beside.watcher.samples
	if cfg.fresh {
		result.fillFreshness(&beside.fresh.lag)
	}
	result.Faults = append(result.Faults, beside.faults()...)
	return result, nil
}

// biddable returns the products that a campaign bids on. Auctions over other products have no bids to compare.
func biddable(m *traffic.Market) []string {
	var ids []string
	taken := make([]bool, len(m.Products))
	for _, c := range m.Campaigns {
		for _, b := range c.Bids {
			if !taken[b.Product] {
				taken[b.Product] = true
				ids = append(ids, m.Products[b.Product].ID)
			}
		}
	}
	return ids
}
