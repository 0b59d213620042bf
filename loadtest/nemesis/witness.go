//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

const (
	witnessEvery = 100 * time.Millisecond
	// hungAfter is how long a sync of the spare disk takes when a storage call of a node may well take the five seconds of its
	// watchdog: such a call waits for the syncs of others before its own, and writes more.
	hungAfter = 2 * time.Second
	// hungBefore is how long before an end such a sync may have come back.
	hungBefore = 10 * time.Second
	hungMax    = 1_000 // BOUND: of the syncs that are remembered.
	// stallAfter is how long a sync takes, and lateAfter how much too late a sleep ends, when the machine hangs: the
	// slowest sync of three minutes beside builds took 58 ms. Such a stretch is nobody's write gap.
	stallAfter = 250 * time.Millisecond
	lateAfter  = 100 * time.Millisecond
	stallsMax  = 50_000 // BOUND: of the stretches that are noted.
)

// witness syncs a small file on a disk of its own, which is like the nodes', and beside that sleeps for short. When a node
// says that its disk hung and no fault of ours was at it, this tells whether the machine's disk hung; and what the machine
// hung is taken from every write gap before it is held against its bound.
type witness struct {
	h       *history.History
	mu      sync.Mutex
	under   time.Time // Since when a sync is under way; zero: none.
	hung    []stretch
	slowest time.Duration
}

type stretch struct{ from, until time.Time }

// run syncs until the context ends.
func (w *witness) run(ctx context.Context, dir string) error {
	f, err := os.Create(filepath.Join(dir, "witness"))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // Nobody wants its content.
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { w.sleep(ctx) })
	for wait(ctx, witnessEvery) {
		w.begin(time.Now())
		_, err := f.WriteAt(make([]byte, 4<<10), 0)
		if err == nil {
			err = f.Sync()
		}
		w.end(time.Now())
		if err != nil {
			return err
		}
	}
	return nil
}

// sleep notes when a sleep ends late: then the processors had no time for it, nor for anybody else.
func (w *witness) sleep(ctx context.Context) {
	for begun := w.h.Now(); wait(ctx, witnessEvery); {
		now := w.h.Now()
		if now-begun >= witnessEvery+lateAfter {
			w.stalled(history.Stall{From: begun + witnessEvery, Until: now, What: "processors"})
		}
		begun = now
	}
}

func (w *witness) stalled(s history.Stall) {
	w.h.With(func(h *history.History) {
		if len(h.Stalls) < stallsMax {
			h.Stalls = append(h.Stalls, s)
		}
	})
}

func (w *witness) begin(now time.Time) {
	w.mu.Lock()
	w.under = now
	w.mu.Unlock()
}

func (w *witness) end(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	took := now.Sub(w.under)
	w.slowest = max(w.slowest, took)
	if took >= hungAfter && len(w.hung) < hungMax {
		w.hung = append(w.hung, stretch{w.under, now})
	}
	w.under = time.Time{}
	if took >= stallAfter {
		until := w.h.Now()
		w.stalled(history.Stall{From: until - took, Until: until, What: "disk"})
	}
}

// saw reports whether this machine's disk hung just before now.
func (w *witness) saw(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.under.IsZero() && now.Sub(w.under) >= hungAfter {
		return true
	}
	for _, s := range w.hung {
		if now.Sub(s.until) <= hungBefore {
			return true
		}
	}
	return false
}

// worst is the slowest sync.
func (w *witness) worst() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slowest
}
