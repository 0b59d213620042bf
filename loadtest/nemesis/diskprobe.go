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
	// hungAfter is the duration of a sync of the spare disk from which on a storage call of a node may well take the 5 s of its
	// watchdog: such a call waits for the syncs of others before its own, and writes more.
	hungAfter = 2 * time.Second
	// hungBefore is how long before an exit such a sync may have returned to explain it.
	hungBefore = 10 * time.Second
	hungMax    = 1_000 // BOUND: the number of such syncs that are kept.
	// stallAfter is the duration of a sync, and lateAfter the delay of the end of a sleep, from which on the machine counts as hung:
	// the slowest sync in three minutes beside builds took 58 ms. Such an interval is no node's write gap.
	stallAfter = 250 * time.Millisecond
	lateAfter  = 100 * time.Millisecond
	stallsMax  = 50_000 // BOUND: the number of intervals that are recorded.
)

// diskProbe measures when the machine itself hangs: it syncs a small file on a spare disk that is like the nodes', and beside that sleeps
// for short times. When a node ends itself because its disk hung and no fault was injected there, the probe says whether the machine's
// disk hung. The time in which the machine hung is subtracted from every write gap before the gap is compared with its bound.
type witness struct {
	h       *history.History
	mu      sync.Mutex
	under   time.Time // When the running sync began; zero: none runs.
	hung    []stretch
	slowest time.Duration
}

// interval is an interval in which a sync ran.
type stretch struct{ from, until time.Time }

// run syncs a file in a directory until the context ends. Its error is that of the file.
func (w *witness) run(ctx context.Context, dir string) error {
	f, err := os.Create(filepath.Join(dir, "witness"))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // Its content does not matter.
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

// sleep records when a sleep ends late: the processors had no time for this process then, nor for the nodes.
func (w *witness) sleep(ctx context.Context) {
	for begun := w.h.Now(); wait(ctx, witnessEvery); {
		now := w.h.Now()
		if now-begun >= witnessEvery+lateAfter {
			w.stalled(history.Stall{From: begun + witnessEvery, Until: now, What: "processors"})
		}
		begun = now
	}
}

// recordStall records an interval in which the machine hung.
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

// hungRecently reports whether this machine's disk hangs now or hung within hungBefore before now.
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

// slowestSync is the duration of the slowest sync.
func (w *witness) worst() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slowest
}
