package cli

import (
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
)

// demoCommand runs a node with a generated market. Its data is in another directory than a real node's.
type demoCommand struct {
	Seed      uint64 `default:"1" help:"Seed of the generated market and of the shoppers' behaviour." placeholder:"N"`
	Products  int    `default:"50000" help:"Number of products." placeholder:"N"`
	Vendors   int    `default:"500" help:"Number of vendors." placeholder:"N"`
	Campaigns int    `default:"2000" help:"Number of campaigns." placeholder:"N"`
	Shoppers  int    `default:"40" help:"Number of simulated shoppers who browse, click and buy." placeholder:"N"`

	HistoryDays int `default:"30" help:"Days before today for which the first start, of a node without peers, writes what shoppers did; 0: none. 30 days take some seconds." placeholder:"N"`

	settings
}

// historyDaysMax bounds the history of a demo. BOUND: the audit log keeps changes for so long, and a first start takes some
// seconds for it.
const historyDaysMax = 30

// demoDataDir differs from serve's default, so that a demo never mixes with real data.
const demoDataDir = "./gavel-demo"

// Run starts the node and its market.
func (c *demoCommand) Run(p *process) error {
	if err := c.check(); err != nil {
		return err
	}
	defaults := config.Default()
	defaults.DataDir = demoDataDir
	l, err := c.read(p, defaults)
	if err != nil {
		return err
	}
	if l.Auction.TLS() || l.Management.TLS() {
		return usageError{errors.New("gavel: the demo and its shoppers use plain HTTP on this machine; unset auction.tls_certificate, management.tls_certificate and management.acme.hosts")}
	}
	return p.serve(l, daemon.Options{Demo: &daemon.DemoOptions{
		Seed: c.Seed, Products: c.Products, Vendors: c.Vendors, Campaigns: c.Campaigns, Shoppers: c.Shoppers,
		HistoryDays: c.HistoryDays, Terminal: p.terminal,
	}})
}

// check refuses sizes from which no market can be generated, and histories that are too long.
func (c *demoCommand) check() error {
	if c.Vendors < 1 || c.Products < c.Vendors || c.Campaigns < 1 || c.Shoppers < 0 {
		return usageError{errors.New("gavel: a demo market has at least 1 vendor, 1 campaign and as many products as vendors")}
	}
	if c.HistoryDays < 0 || c.HistoryDays > historyDaysMax {
		return usageError{fmt.Errorf("gavel: --history-days is %d, and has to be from 0 to %d", c.HistoryDays, historyDaysMax)}
	}
	return nil
}
