package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
)

// perform makes a run, and a second one in which no cell dies, and prints and checks what came of them.
func perform(o options, out io.Writer) error {
	printPlacement(o, out)
	sim, err := played(o)
	if err != nil {
		return err
	}
	if err := sim.check(); err != nil {
		return err
	}
	sim.print(out)
	if sim.dead < 0 {
		return nil
	}
	calm := o
	calm.DieAt = 0
	other, err := played(calm)
	if err != nil {
		return err
	}
	return sim.compare(other, out)
}

func played(o options) (*simulation, error) {
	sim, err := newSimulation(o)
	if err == nil {
		err = sim.run()
	}
	return sim, err
}

// printPlacement prints the shares of the cells by each rule of placement.
func printPlacement(o options, out io.Writer) {
	all := markets(o.Marketplaces, o.Exponent, rand.New(rand.NewPCG(o.Seed, 2)))
	largest := 0.0
	for i := range all {
		largest = max(largest, all[i].weight)
	}
	_, _ = fmt.Fprintf(out, "%d marketplaces on %d cells; the largest has %.1f %% of the traffic\n", len(all), o.Cells, 100*largest)
	for _, rule := range []struct {
		name string
		p    placement
	}{{"by hash", byHash(all, o.Cells)}, {"by load", byLoad(all, o.Cells)}} {
		share, count := rule.p.loads(all, o.Cells)
		_, _ = fmt.Fprintf(out, "placed %s: a cell has %.1f to %.1f %% of the traffic and %d to %d marketplaces\n",
			rule.name, 100*slices.Min(share), 100*slices.Max(share), slices.Min(count), slices.Max(count))
	}
}

// check audits every cell, and compares the clicks of each marketplace with what its storefront has issued.
func (sim *simulation) check() error {
	counted := make([]map[uint16]int64, len(sim.cells))
	for i, c := range sim.cells {
		var err error
		if counted[i], err = c.audit(); err != nil {
			return fmt.Errorf("cell %d: %w", i, err)
		}
	}
	for i := range sim.shops {
		s := &sim.shops[i]
		got, want := counted[s.cell][s.ordinal], int64(s.issued)-int64(len(s.waiting))
		if sim.o.Remember < sim.o.Archive && s.cell == sim.dead { // What storefronts do not repeat is lost.
			sim.missing += int(want - got)
			continue
		}
		if got != want {
			return fmt.Errorf("marketplace %d has %d clicks, and its storefront has reported %d", s.ordinal, got, want)
		}
	}
	return nil
}

// print prints what the death and the move have refused and lost.
func (sim *simulation) print(out io.Writer) {
	issued, waiting := 0, 0
	for i := range sim.shops {
		issued += int(sim.shops[i].issued)
		waiting += len(sim.shops[i].waiting)
	}
	_, _ = fmt.Fprintf(out, "%d clicks in %v; requests refused: %d of the dead cell, %d of the moving marketplace; %d clicks wait at the end\n",
		issued, sim.o.Length, sim.deadOnly, sim.refused-sim.deadOnly, waiting)
	if sim.dead >= 0 {
		_, _ = fmt.Fprintf(out, "cell %d dies at %v and serves again after %v: of its accepted clicks %d were not archived; after the storefronts "+
			"repeated what they remember, %d are missing\n", sim.dead, sim.o.DieAt, sim.o.Outage, sim.lost, sim.missing)
	}
	if sim.moving >= 0 {
		s := &sim.shops[sim.moving]
		_, _ = fmt.Fprintf(out, "marketplace %d (%.1f %% of the traffic) moves to cell %d: all of its %d clicks are counted there, once\n",
			s.ordinal, 100*s.weight, s.cell, s.issued-uint32(len(s.waiting)))
	}
}

// compare checks that the death of a cell has changed nothing in the others.
func (sim *simulation) compare(calm *simulation, out io.Writer) error {
	same := 0
	for i := range sim.cells {
		if i == sim.dead {
			continue
		}
		if sim.cells[i].replica.Machine.Digest() != calm.cells[i].replica.Machine.Digest() {
			return fmt.Errorf("cell %d has another state than in a run in which no cell dies", i)
		}
		same++
	}
	_, err := fmt.Fprintf(out, "the %d other cells have the same digest as in a run in which none dies\n", same)
	return err
}
