package main

import (
	"io"
	"strings"
	"testing"
	"time"
)

// small is a run of a few seconds with everything that can happen in it.
func small() options {
	return options{
		Seed: 3, Marketplaces: 60, Cells: 4, Exponent: 1, Rate: 60, Length: 4 * time.Minute, Archive: 30 * time.Second,
		Remember: time.Minute, DieAt: 77 * time.Second, Outage: time.Minute, MoveAt: time.Minute, MoveTime: time.Minute,
	}
}

func TestADeadCellAndAMove(t *testing.T) {
	var out strings.Builder
	if err := perform(small(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0 are missing", "are counted there, once", "the 4 other cells have the same digest"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// A storefront that repeats nothing loses what was accepted and not archived, and the simulation says so.
func TestForgetfulStorefrontsLoseWhatWasNotArchived(t *testing.T) {
	o := small()
	o.Remember = 0
	sim, err := played(o)
	if err == nil {
		err = sim.check()
	}
	if err != nil || sim.lost == 0 || sim.missing != sim.lost {
		t.Errorf("%v: %d accepted clicks were not archived, %d are missing", err, sim.lost, sim.missing)
	}
}

// The checks find a marketplace that is open in two cells, a cell that another one's death has changed, and a click too many.
func TestTheChecksFail(t *testing.T) {
	play := func() *simulation {
		sim, err := played(small())
		if err != nil {
			t.Fatal(err)
		}
		return sim
	}
	sim := play()
	s := &sim.shops[sim.moving]
	if good, err := sim.cells[s.cell].report(sim.millis(), s.ordinal, append(s.waiting, click(s.ordinal, s.issued, s.campaign, sim.millis()))); !good || err != nil {
		t.Fatalf("a click that no storefront has: %v, %v", good, err)
	}
	if err := sim.check(); err == nil {
		t.Error("a click too many is not found")
	}
	calm := play()
	if err := sim.compare(calm, io.Discard); err == nil {
		t.Error("a changed cell is not found")
	}
	if err := calm.compare(play(), io.Discard); err != nil {
		t.Errorf("two equal runs: %v", err)
	}
}

// The old cell of a marketplace that has moved refuses its clicks for good.
func TestTheOldCellStaysClosed(t *testing.T) {
	o := small()
	o.DieAt = 0
	sim, err := newSimulation(o)
	if err != nil {
		t.Fatal(err)
	}
	old := sim.shops[sim.moving].cell
	if err := sim.run(); err != nil {
		t.Fatal(err)
	}
	s := &sim.shops[sim.moving]
	good, err := sim.cells[old].report(sim.millis(), s.ordinal, append(s.waiting, click(s.ordinal, s.issued, s.campaign, sim.millis())))
	if good || err != nil || s.cell == old {
		t.Errorf("the old cell accepts a click: %v, %v", good, err)
	}
}

func TestPlacementByLoadIsWithinTheBound(t *testing.T) {
	for seed := range uint64(20) {
		o := small()
		o.Seed = seed
		sim, err := newSimulation(o)
		if err != nil {
			t.Fatal(err)
		}
		share, largest := make([]float64, o.Cells), 0.0
		for i := range sim.shops {
			share[sim.shops[i].cell] += sim.shops[i].weight
			largest = max(largest, sim.shops[i].weight)
		}
		for c, got := range share {
			if bound := max(largest, 4.0/3/float64(o.Cells)); got > bound {
				t.Errorf("seed %d: cell %d has %.3f of the traffic, more than %.3f", seed, c, got, bound)
			}
		}
	}
}

func TestCommandLine(t *testing.T) {
	var out, problem strings.Builder
	if code := simulate([]string{"-marketplaces=30", "-cells=3", "-length=2m", "-die=0", "-move=30s", "-move-time=10s", "-rate=20"}, &out, &problem); code != 0 {
		t.Errorf("code %d: %s", code, problem.String())
	}
	for _, wrong := range []string{
		"-cells=x", "-cells=1", "-marketplaces=65536", "-marketplaces=3", "-rate=0", "-exponent=-1", "-exponent=NaN", "-archive=0s", "-remember=-1s",
		"-die=77.05s", "-die=14m", "-outage=0s", "-move=14m", "-move-time=10ms",
		"-length=0s", "-length=24h1s",
	} {
		if code := simulate([]string{wrong}, io.Discard, io.Discard); code != 2 {
			t.Errorf("%s: code %d", wrong, code)
		}
	}
}
