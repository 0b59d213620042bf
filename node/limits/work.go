package limits

import (
	"context"
	"runtime"
	"time"
)

const (
	// workSlice is how long work runs before it gives its turn back. An auction that finds all CPUs busy waits for at most one
	// slice.
	workSlice = time.Millisecond
	// pauseFactor is the length of the pause after a slice, as a multiple of the slice, while there is traffic. So work uses a
	// third of one CPU, and a slice that took longer is followed by a longer pause.
	pauseFactor = 2
)

type workKey struct{}

// Work is running work. It must be used by one goroutine. A nil Work has no slices; its Step only checks the context.
type Work struct {
	scheduler *Scheduler
	usage     *usage
	kind      Kind
	turn      bool          // The work has a turn.
	pool      *pool         // Of the turn.
	watch     stopwatch     // Of the slice.
	traffic   uint64        // The number of answered requests at the begin of the slice.
	busy      time.Duration // The sum of the slices that have ended.
}

// WorkOf returns the Work of a context, or nil.
func WorkOf(ctx context.Context) *Work {
	w, _ := ctx.Value(workKey{}).(*Work)
	return w
}

// Step must be called in every loop of the work, at most a millisecond of computing apart. When the slice is over, it lets
// auctions and other work run before it returns. After an error the work must end; it has no turn then. The error is the
// cause of the end of the context, which is ErrWorkTooLong if the work has run for Limits.Run.
func (w *Work) Step(ctx context.Context) error {
	if w == nil {
		return ctx.Err()
	}
	if !w.turn {
		return context.Cause(ctx) // An earlier call has returned an error.
	}
	took := w.watch.elapsed()
	if took < workSlice {
		return nil
	}
	moved := w.scheduler.config.Traffic() != w.traffic
	w.endSlice()
	if moved {
		if err := pauseWork(ctx, pauseFactor*took); err != nil {
			return err
		}
	}
	return w.beginSlice(ctx)
}

// Busy returns the CPU time that the work has used without the current slice.
func (w *Work) Busy() time.Duration {
	if w == nil {
		return 0
	}
	return w.busy
}

// beginSlice waits for a turn.
func (w *Work) beginSlice(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p, err := w.scheduler.turns.take(ctx, w.usage.marketplace, false)
	if err != nil {
		return err
	}
	w.turn, w.pool = true, p
	runtime.Gosched() // It is called with the turn, so that no other work can take the turn out of order.
	w.watch.start()
	w.traffic = w.scheduler.config.Traffic()
	return nil
}

// endSlice gives the turn back and charges the slice to the marketplace.
func (w *Work) endSlice() {
	if !w.turn {
		return
	}
	w.turn = false
	took := w.watch.stop()
	w.scheduler.turns.give(w.pool, w.usage.marketplace, took)
	w.busy += took
	w.scheduler.spend(w.usage, w.kind, took)
}

func pauseWork(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
