// Command cells simulates marketplaces that are spread over cells, of which one dies and is restored, while a marketplace moves from
// one cell to another. The state machines, backups, archives and closings are the real ones; time, storefronts and the loss of a
// cell are simulated, and a cell has one group without Raft.
//
// It prints how much of the traffic a cell carries by two rules of placement, how much the death of the fullest cell refuses and
// loses, and checks: every click is counted once in the cell that its marketplace belongs to; no campaign is billed more than its
// budget; the ledger of every cell is in order; and the cells that did not die have the same state as in a run in which none dies.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	os.Exit(simulate(os.Args[1:], os.Stdout, os.Stderr))
}

func simulate(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("cells", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Uint64Var(&o.Seed, "seed", 1, "seed of the `RANDOM` numbers")
	flags.IntVar(&o.Marketplaces, "marketplaces", 1_000, "`NUMBER` of marketplaces")
	flags.IntVar(&o.Cells, "cells", 20, "`NUMBER` of cells")
	flags.Float64Var(&o.Exponent, "exponent", 1, "exponent of Zipf's law for their traffic")
	flags.IntVar(&o.Rate, "rate", 200, "clicks a second in all")
	flags.DurationVar(&o.Length, "length", 15*time.Minute, "simulated `TIME`")
	flags.DurationVar(&o.Archive, "archive", 30*time.Second, "`TIME` between two segments of the archived log")
	flags.DurationVar(&o.Remember, "remember", time.Minute, "for how long storefronts keep what was accepted; 0: not at all")
	flags.DurationVar(&o.DieAt, "die", 5*time.Minute+17*time.Second, "when the fullest cell dies; 0: none does")
	flags.DurationVar(&o.Outage, "outage", 3*time.Minute, "`TIME` until it serves again")
	flags.DurationVar(&o.MoveAt, "move", 4*time.Minute, "when a marketplace moves; 0: none does")
	flags.DurationVar(&o.MoveTime, "move-time", 2*time.Minute, "`TIME` for which it is closed")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if err := o.check(); err != nil {
		_, _ = fmt.Fprintln(stderr, "cells:", err)
		return 2
	}
	if err := perform(o, stdout); err != nil {
		_, _ = fmt.Fprintln(stderr, "cells:", err)
		return 1
	}
	return 0
}
