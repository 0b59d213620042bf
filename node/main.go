// Command gavel is a node for retail media auctions: server, client and tools in one binary. Every command is in
// node/cli.
package main

import (
	"os"
	_ "time/tzdata" // Time zones of marketplaces, also where the machine has none, as in an empty container.

	"github.com/gavel-ads/gavel/node/cli"
)

func main() { os.Exit(cli.Main()) }
