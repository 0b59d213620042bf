package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/store"
)

// modelsAtOnce is how many jobs compute models at the same moment. BOUND: the sums of each are in memory.
const modelsAtOnce = 2

// modelPages is how many pages are read with one permit of the scheduler. BOUND: a page takes some milliseconds, and the reports of
// the marketplace wait for the permit.
const modelPages = 20

// modelWait is how long the computation may wait for permits in all. BOUND: a job must end although a node never has time for it.
const modelWait = 6 * time.Hour

// Models computes attribution models: see store.ModelRun.
type Models struct {
	Background *limits.Scheduler // The budget of reports; nil: no budget.
	Now        func() time.Time
}

// Worker returns the worker that does the jobs.
func (m *Models) Worker() Worker {
	return Worker{Kind: store.TaskModels, AtOnce: modelsAtOnce, Do: m.do}
}

// do does a job from its begin to its end.
func (m *Models) do(ctx context.Context, t store.Tenant, d store.ScheduledTask) error {
	at, err := t.VersionedJob(ctx, d.ID)
	if err != nil {
		return err
	}
	switch {
	case at.DueMillis != d.Millis || at.Models == nil:
		return store.ErrWrongState // The task belongs to an earlier state.
	case at.Final():
		return t.ForgetJob(ctx, at)
	}
	w := modelWorker{models: m, tenant: t, task: d, name: rand.Text()}
	err = t.StepJob(ctx, at, func(x *store.Job) {
		x.Status, x.Models.Worker, x.Models.Percent = store.JobInProgress, w.name, 0
	})
	if err != nil {
		return err
	}
	result, err := w.compute(ctx, at.Models.Query)
	switch {
	case ctx.Err() != nil:
		return ctx.Err() // The next leader begins again.
	case errors.Is(err, store.ErrChanged), errors.Is(err, store.ErrNotFound):
		return err // It was canceled, or another worker does it.
	case errors.Is(err, store.ErrTooMany), errors.Is(err, errNoTime):
		return w.step(ctx, func(x *store.Job) { x.End(store.JobFailed, store.FailureResult(err.Error())) })
	case err != nil:
		return w.step(ctx, func(x *store.Job) { x.Fail("purchases and touches cannot be read now", m.Now()) })
	}
	return w.step(ctx, func(x *store.Job) {
		x.Models.Result, x.Models.Percent, x.Failures = &result, 100, 0
		x.End(store.JobCompleted, "")
	})
}

// modelWorker does one job.
type modelWorker struct {
	models  *Models
	tenant  store.Tenant
	task    store.ScheduledTask
	name    string
	percent int // As it was stored last.
}

// compute reads page by page, and stores the progress whenever another percent is done.
func (w *modelWorker) compute(ctx context.Context, q store.ModelQuery) (result store.ModelResult, err error) {
	run, err := w.tenant.NewModelRun(q)
	if err != nil {
		return result, err
	}
	for !run.Done() {
		err := w.inBackground(ctx, func(ctx context.Context) error {
			for range modelPages {
				if err := run.Page(ctx); err != nil || run.Done() {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return result, err
		}
		if err := w.progress(ctx, run.Percent()); err != nil {
			return result, err
		}
	}
	err = w.inBackground(ctx, func(ctx context.Context) (err error) {
		result, err = run.Result(ctx)
		return err
	})
	return result, err
}

var errNoTime = errors.New("the node had no time for the job")

// inBackground runs work when the scheduler has a permit for it. Work that was stopped because it ran for too long is begun again.
func (w *modelWorker) inBackground(ctx context.Context, work func(context.Context) error) error {
	for until := w.models.Now().Add(modelWait); ; {
		err := w.models.Background.Run(ctx, w.tenant.Marketplace(), limits.KindReport, work)
		refused, isRefused := errors.AsType[*limits.WorkRefused](err)
		switch {
		case !isRefused && !errors.Is(err, limits.ErrWorkTooLong):
			return err
		case w.models.Now().After(until):
			return fmt.Errorf("%w within %s: %w", errNoTime, modelWait, err)
		case isRefused:
			if err := pause(ctx, refused.After); err != nil {
				return err
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// progress stores how much is done, when it changed.
func (w *modelWorker) progress(ctx context.Context, percent int) error {
	if percent == w.percent {
		return nil
	}
	w.percent = percent
	return w.step(ctx, func(x *store.Job) { x.Models.Percent = percent })
}

// step writes a step of the job as long as no other worker has taken it over.
func (w *modelWorker) step(ctx context.Context, fn func(*store.Job)) error {
	at, err := w.tenant.VersionedJob(ctx, w.task.ID)
	if err != nil {
		return err
	}
	if at.Models == nil || at.Models.Worker != w.name || at.Final() {
		return store.ErrChanged
	}
	return w.tenant.StepJob(ctx, at, fn)
}
