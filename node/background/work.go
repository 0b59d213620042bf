package background

import (
	"context"
	"runtime"
	"time"
)

const (
	// slice is how long work runs without looking up. An auction that finds every CPU taken waits for at most one slice.
	slice = time.Millisecond
	// rests is how many times the length of a slice work pauses after it while there is traffic: it takes a third of one
	// CPU then, and a slice that took longer is followed by a longer pause.
	rests = 2
)

type workKey struct{}

// Work is running work. It belongs to one goroutine. A nil Work has no slices and knows only its context.
type Work struct {
	scheduler *Scheduler
	share     *share
	kind      Kind
	turn      bool // It holds one.
	began     time.Time
	traffic   uint64        // At the beginning of the slice.
	busy      time.Duration // Of the slices that have ended.
}

// Of returns the work that a context belongs to, or nil.
func Of(ctx context.Context) *Work {
	w, _ := ctx.Value(workKey{}).(*Work)
	return w
}

// Step is called in every loop, at most a millisecond of work apart. When the slice is over it lets auctions and other work
// run before it returns. An error ends the work: the context's, or ErrTooLong. After an error the work has no turn.
func (w *Work) Step(ctx context.Context) error {
	if w == nil {
		return ctx.Err()
	}
	if !w.turn {
		return context.Cause(ctx) // It was stopped before.
	}
	took := w.scheduler.config.Now().Sub(w.began)
	if took < slice {
		return nil
	}
	moved := w.scheduler.config.Traffic() != w.traffic
	w.end()
	if moved {
		if err := pause(ctx, rests*took); err != nil {
			return err
		}
	}
	return w.begin(ctx)
}

// Busy is how much CPU time the work took so far, the slice under way not counted.
func (w *Work) Busy() time.Duration {
	if w == nil {
		return 0
	}
	return w.busy
}

// begin waits for a turn.
func (w *Work) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := w.scheduler.turns.take(ctx, w.share.marketplace, false); err != nil {
		return err
	}
	w.turn = true
	runtime.Gosched() // With the turn, so that work that waits for one is never passed by.
	w.began, w.traffic = w.scheduler.config.Now(), w.scheduler.config.Traffic()
	return nil
}

// end gives the turn back, and charges the slice.
func (w *Work) end() {
	if !w.turn {
		return
	}
	w.turn = false
	w.scheduler.turns.give()
	took := w.scheduler.config.Now().Sub(w.began)
	w.busy += took
	w.scheduler.spend(w.share, w.kind, took)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
