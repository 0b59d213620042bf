package cli

import "io"

// options is what serve and demo hand to the node besides its configuration.
type options struct {
	Out     io.Writer
	Demo    *demoOptions
	Version string
}

// demoOptions size the demo market.
type demoOptions struct {
	Seed                                   uint64
	Products, Vendors, Campaigns, Shoppers int
	Terminal                               bool
}
