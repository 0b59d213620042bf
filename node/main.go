// Command gavel is a node of a retail media auction house: server, client and tools in one binary. Every command lives
// in node/cli.
package main

import (
	"os"
	_ "time/tzdata" // Time zones of marketplaces, also where the machine has none, as in an empty container.

	"github.com/gavel-ads/gavel/node/cli"
)

func main() { os.Exit(cli.Main()) }
