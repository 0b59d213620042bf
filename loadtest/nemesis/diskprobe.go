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
	probeInterval = 100 * time.Millisecond
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
type diskProbe struct {
	h         *history.History
	mu        sync.Mutex
	syncBegan time.Time // When the running sync began; zero: none runs.
	hung      []interval
	slowest   time.Duration
}

// interval is an interval in which a sync ran.
type interval struct{ from, until time.Time }

// run syncs a file in a directory until the context ends. Its error is that of the file.
func (p *diskProbe) run(ctx context.Context, dir string) error {
	f, err := os.Create(filepath.Join(dir, "probe"))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // Its content does not matter.
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { p.sleep(ctx) })
	for wait(ctx, probeInterval) {
		p.begin(time.Now())
		_, err := f.WriteAt(make([]byte, 4<<10), 0)
		if err == nil {
			err = f.Sync()
		}
		p.end(time.Now())
		if err != nil {
			return err
		}
	}
	return nil
}

// sleep records when a sleep ends late: the processors had no time for this process then, nor for the nodes.
func (p *diskProbe) sleep(ctx context.Context) {
	for begun := p.h.Now(); wait(ctx, probeInterval); {
		now := p.h.Now()
		if now-begun >= probeInterval+lateAfter {
			p.recordStall(history.Stall{From: begun + probeInterval, Until: now, What: "processors"})
		}
		begun = now
	}
}

// recordStall records an interval in which the machine hung.
func (p *diskProbe) recordStall(s history.Stall) {
	p.h.With(func(h *history.History) {
		if len(h.Stalls) < stallsMax {
			h.Stalls = append(h.Stalls, s)
		}
	})
}

func (p *diskProbe) begin(now time.Time) {
	p.mu.Lock()
	p.syncBegan = now
	p.mu.Unlock()
}

func (p *diskProbe) end(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := now.Sub(p.syncBegan)
	p.slowest = max(p.slowest, took)
	if took >= hungAfter && len(p.hung) < hungMax {
		p.hung = append(p.hung, interval{p.syncBegan, now})
	}
	p.syncBegan = time.Time{}
	if took >= stallAfter {
		until := p.h.Now()
		p.recordStall(history.Stall{From: until - took, Until: until, What: "disk"})
	}
}

// hungRecently reports whether this machine's disk hangs now or hung within hungBefore before now.
func (p *diskProbe) hungRecently(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.syncBegan.IsZero() && now.Sub(p.syncBegan) >= hungAfter {
		return true
	}
	for _, s := range p.hung {
		if now.Sub(s.until) <= hungBefore {
			return true
		}
	}
	return false
}

// slowestSync is the duration of the slowest sync.
func (p *diskProbe) slowestSync() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slowest
}
