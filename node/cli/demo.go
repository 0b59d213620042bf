package cli

import (
	"errors"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/daemon"
)

// demoCommand runs a node with a market to look at. Its data lies apart from a real node's.
type demoCommand struct {
	Seed      uint64 `default:"1" help:"The same seed makes the same market and the same shoppers." placeholder:"N"`
	Products  int    `default:"50000" help:"Products of the market." placeholder:"N"`
	Vendors   int    `default:"500" help:"Vendors of the market." placeholder:"N"`
	Campaigns int    `default:"2000" help:"Campaigns of the market." placeholder:"N"`
	Shoppers  int    `default:"40" help:"Shoppers who browse, click and buy; 0: nobody does." placeholder:"N"`

	settings
}

// demoDataDir is not serve's, so that a demo never mixes with real books.
const demoDataDir = "./gavel-demo"

// Run starts the node and its market.
func (c *demoCommand) Run(p *process) error {
	if err := c.check(); err != nil {
		return err
	}
	defaults := config.Default()
	defaults.DataDir = demoDataDir
	l, err := c.load(p, defaults)
	if err != nil {
		return err
	}
	return p.serve(l.Config, daemon.Options{Demo: &daemon.DemoOptions{
		Seed: c.Seed, Products: c.Products, Vendors: c.Vendors, Campaigns: c.Campaigns, Shoppers: c.Shoppers,
		Terminal: p.terminal,
	}})
}

// check holds the sizes to what a market can be made of.
func (c *demoCommand) check() error {
	if c.Vendors < 1 || c.Products < c.Vendors || c.Campaigns < 1 || c.Shoppers < 0 {
		return usageError{errors.New("gavel: a demo market has at least 1 vendor, 1 campaign and as many products as vendors")}
	}
	return nil
}
