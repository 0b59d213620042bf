// Package jobs does what stands in the diaries of the marketplaces: steps of jobs, notifications, uploads that never came.
// It runs on the leader of the meta group; everything it does is written down by compare-and-set, so that a leader that
// does not know yet that it is none does no harm.
package jobs

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/node/store"
)

// Every is how often the diaries are looked at. Work that is there is done without waiting for it.
const Every = time.Second

// dueMax is how many entries of one marketplace are looked at in one round. BOUND: one marketplace with much to do must not
// keep the others waiting for longer than this takes.
const dueMax = 100

// Lane is one kind of entry. Lanes run beside each other, so that a receiver that hangs stops no job.
type Lane struct {
	Kind store.DueKind
	// Follow does what an entry asks for. It may find that there is nothing to do any more. After store.ErrChanged or an
	// outage the entry is looked at again.
	Follow func(ctx context.Context, t store.Tenant, d store.Due) error
	AtOnce int // BOUND: entries that are followed at the same moment.
}

// Runner follows the diaries.
type Runner struct {
	Store        *store.Store
	Lanes        []Lane
	Leader       func() bool
	Marketplaces func() []uint16
	Log          *slog.Logger

	stop    context.CancelFunc
	running sync.WaitGroup
}

// Start begins to work.
func (r *Runner) Start(ctx context.Context) {
	ctx, r.stop = context.WithCancel(ctx)
	for _, lane := range r.Lanes {
		r.running.Go(func() { r.run(ctx, lane) })
	}
}

// Close stops, in the middle of a step if need be: another leader does that step again.
func (r *Runner) Close() {
	r.stop()
	r.running.Wait()
}

func (r *Runner) run(ctx context.Context, lane Lane) {
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for more := true; more; {
			more = r.Leader() && r.Round(ctx, lane) > 0 && ctx.Err() == nil
		}
	}
}

// Round follows what is due in one lane, and returns how much of it was done.
func (r *Runner) Round(ctx context.Context, lane Lane) int {
	var done counter
	free := make(chan struct{}, max(1, lane.AtOnce))
	var all sync.WaitGroup
	for _, m := range r.Marketplaces() {
		t := r.Store.Tenant(m)
		due, err := t.Due(ctx, lane.Kind, dueMax)
		if err != nil {
			r.Log.Warn("diary_unreadable", slog.String("lane", string(lane.Kind)), slog.Any("err", err))
			continue
		}
		for _, d := range due {
			free <- struct{}{}
			all.Go(func() {
				defer func() { <-free }()
				if ctx.Err() == nil && r.follow(ctx, lane, t, d) {
					done.add()
				}
			})
		}
	}
	all.Wait()
	return done.n
}

// follow reports whether something was done. An entry whose thing is gone is taken out.
func (r *Runner) follow(ctx context.Context, lane Lane, t store.Tenant, d store.Due) bool {
	err := lane.Follow(ctx, t, d)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrWrongState) {
		err = t.DropDue(ctx, d)
	}
	if err != nil && !errors.Is(err, store.ErrChanged) && ctx.Err() == nil {
		r.Log.Warn("diary_entry_failed", slog.String("lane", string(lane.Kind)), slog.String("id", d.ID.String()), slog.Any("err", err))
	}
	return err == nil
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

// Uploads is the lane that ends uploads that never came.
func Uploads() Lane {
	return Lane{Kind: store.DueUpload, AtOnce: 1, Follow: func(ctx context.Context, t store.Tenant, d store.Due) error {
		return t.ExpireUpload(ctx, d)
	}}
}
