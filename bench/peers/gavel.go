package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/bench/traffic"
	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/scenarios"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// gavel is one node or a cluster of three, with default settings but for the limits of the management API. Each click has a token that was
// won in an auction before the clock started. Beside the id and the budget, a charge checks the token, is in the reports, and has a line in
// the hash-chained journal.
type gavel struct {
	binary   string
	nodes    int
	fleet    *driver.Fleet
	products []string
	scenario scenarios.Scenario
	prepared int // How many measurements were prepared, for ids that differ.
}

// ample are terms under which no budget and no wallet runs out.
var ample = shop.Terms{BudgetMinor: 20_000_000_000, DepositMinor: 100_000_000_000}

func (p *gavel) start(ctx context.Context, dir string) error {
	if _, err := exec.LookPath(p.binary); err != nil {
		return fmt.Errorf("there is no %s; make build makes it: %w", p.binary, err)
	}
	var err error
	if p.fleet, err = driver.StartFleet(ctx, p.binary, dir, p.nodes); err != nil {
		return err
	}
	market := traffic.NewMarket(traffic.Small, 1)
	seen := map[string]bool{}
	for _, c := range market.Campaigns {
		for _, b := range c.Bids {
			if id := market.Products[b.Product].ID; !seen[id] {
				seen[id] = true
				p.products = append(p.products, id)
			}
		}
	}
	_, err = p.operator().Fill(ctx, market, ample, "peers")
	return err
}

func (p *gavel) operator() *shop.Client {
	return shop.New(p.fleet.Nodes[0].Manage, p.fleet.ManagementKey)
}

func (p *gavel) post(i int) (scenarios.Poster, error) {
	return driver.NewConn(p.fleet.Nodes[i%len(p.fleet.Nodes)].Auction, p.fleet.AuctionKey, exchangeMax)
}

// prepare fetches a token for every click.
func (p *gavel) prepare(ctx context.Context, events, batch int) (err error) {
	p.prepared++
	if p.scenario, err = scenarios.New("clicks"); err != nil {
		return err
	}
	return p.scenario.Prepare(ctx, &scenarios.Env{
		Seed: uint64(p.prepared), Run: fmt.Sprintf("p%d", p.prepared), Products: p.products, Events: batch, Tokens: events,
		Dial: func() (scenarios.Poster, error) { return p.post(0) }, Now: time.Now,
	})
}

func (p *gavel) dial(i int) (client, error) {
	poster, err := p.post(i)
	if err != nil {
		return nil, err
	}
	return &gavelClient{poster: poster, worker: p.scenario.Worker(i)}, nil
}

func (p *gavel) count(ctx context.Context) (counts, error) {
	t, err := driver.ReadTotals(ctx, p.operator(), time.Now())
	if err == nil && len(t.OverBudget) > 0 {
		err = errors.New(strings.Join(t.OverBudget, "; "))
	}
	return counts{t.Clicks, t.ChargedClicks}, err
}

func (p *gavel) pids() (all []int) {
	for _, n := range p.fleet.Nodes {
		all = append(all, n.Pid)
	}
	return all
}

func (p *gavel) version() string {
	text, err := exec.Command(p.binary, "version").Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

func (p *gavel) stop() error {
	if p.fleet == nil {
		return nil
	}
	return p.fleet.Stop()
}

// errUsedUp is returned when all tokens are clicked: the measurement ends early.
var errUsedUp = errors.New("the tokens are used up")

// gavelClient sends the bodies of a connection.
type gavelClient struct {
	poster  scenarios.Poster
	worker  scenarios.Worker
	request scenarios.Request
}

// charge sends a body with as many clicks as were prepared for, which is n. An acknowledged click is a charge; the reports are compared at
// the end.
func (c *gavelClient) charge(int) (int, error) {
	if !c.worker.Next(&c.request) {
		return 0, errUsedUp
	}
	return c.request.Clicks, c.post()
}

func (c *gavelClient) post() error {
	status, answer, err := c.poster.Post(c.request.Path, c.request.Body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d %.300s", status, answer)
	}
	return err
}

// repeat repeats the last body. The node answers as before; that nothing was charged again is seen in the reports.
func (c *gavelClient) repeat() error { return c.post() }

func (c *gavelClient) close() { c.poster.Close() }
