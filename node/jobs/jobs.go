// Package jobs does the scheduled tasks of the marketplaces: steps of jobs, emails, notifications, and the end of uploads that
// never arrived. It also completes transfers between groups and removes files that nothing refers to.
//
// It runs on the leader of the meta group. Everything it does is written by compare-and-set, so a leader that does not know yet
// that it is not the leader any more does no harm.
//
// Offsite does the jobs of ad networks: it reads the lists of audiences and sends work to the connectors of the networks. One of
// them is the simulated network "sandbox".
package jobs

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/node/store"
)

// Every is how often the task lists are read. While there is work to do, the next round begins at once.
const Every = time.Second

// dueMax is how many tasks of one marketplace are read in one round. BOUND: a marketplace with many tasks must not delay the
// others for longer than these take.
const dueMax = 100

// Worker does one kind of task. Workers run concurrently, so a receiver that does not answer delays no job.
type Worker struct {
	Kind store.TaskKind
	// Do does a task. store.ErrNotFound and store.ErrWrongState mean that there is nothing to do any more, and the task is
	// removed. After any other error, such as store.ErrChanged, the task is tried again in a later round.
	Do     func(ctx context.Context, t store.Tenant, d store.ScheduledTask) error
	AtOnce int // BOUND: tasks that run at the same moment.
}

// Runner reads the task lists of all marketplaces and runs the workers, as long as Leader returns true.
type Runner struct {
	Store        *store.Store
	Workers      []Worker
	Leader       func() bool
	Marketplaces func() []uint16
	Log          *slog.Logger

	stop    context.CancelFunc
	running sync.WaitGroup
}

// Start starts a goroutine for each worker. They end with the context or with Close.
func (r *Runner) Start(ctx context.Context) {
	ctx, r.stop = context.WithCancel(ctx)
	for _, worker := range r.Workers {
		r.running.Go(func() { r.run(ctx, worker) })
	}
}

// Close stops the workers and waits for them. A step that is interrupted is done again by the next leader.
func (r *Runner) Close() {
	r.stop()
	r.running.Wait()
}

func (r *Runner) run(ctx context.Context, worker Worker) {
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for more := true; more; {
			more = r.Leader() && r.Round(ctx, worker) > 0 && ctx.Err() == nil
		}
	}
}

// Round does the tasks of one worker that are due, and returns how many of them succeeded.
func (r *Runner) Round(ctx context.Context, worker Worker) int {
	var done counter
	free := make(chan struct{}, max(1, worker.AtOnce))
	var all sync.WaitGroup
	for _, m := range r.Marketplaces() {
		t := r.Store.Tenant(m)
		due, err := t.DueTasks(ctx, worker.Kind, dueMax)
		if err != nil {
			r.Log.Warn("task_list_failed", slog.String("kind", string(worker.Kind)), slog.Any("err", err))
			continue
		}
		for _, d := range due {
			free <- struct{}{}
			all.Go(func() {
				defer func() { <-free }()
				if ctx.Err() == nil && r.do(ctx, worker, t, d) {
					done.add()
				}
			})
		}
	}
	all.Wait()
	return done.n
}

// do reports whether a task succeeded. It removes a task that has nothing to do any more.
func (r *Runner) do(ctx context.Context, worker Worker, t store.Tenant, d store.ScheduledTask) bool {
	err := worker.Do(ctx, t, d)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrWrongState) {
		err = t.DropTask(ctx, d)
	}
	if err != nil && !errors.Is(err, store.ErrChanged) && ctx.Err() == nil {
		r.Log.Warn("task_failed", slog.String("kind", string(worker.Kind)), slog.String("id", d.ID.String()), slog.Any("err", err))
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

// UploadWorker fails uploads whose file did not arrive in time.
func UploadWorker() Worker {
	return Worker{Kind: store.TaskUpload, AtOnce: 1, Do: func(ctx context.Context, t store.Tenant, d store.ScheduledTask) error {
		return t.ExpireUpload(ctx, d)
	}}
}
