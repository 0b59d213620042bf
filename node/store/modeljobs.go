package store

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/gavel-ads/gavel/shard/ids"
)

// ModelJob is the part of a job that computes other attribution models (ModelRun). Its sums are in the memory of the node that
// does it: a job that loses its node is begun again by the next leader, which changes nothing, because it only reads.
type ModelJob struct {
	Query   ModelQuery
	Percent int    // How much is done.
	Worker  string // Who does it now. A worker that finds another name has been replaced, and stops.
	Result  *ModelResult
}

// ModelJobsMax is how many such jobs a marketplace keeps. BOUND: each has a result of at most some 400 kB. A further one takes
// the place of the oldest.
const ModelJobsMax = 10

// AddModelJob stores a new job. ErrWrongState while another one of the marketplace is not over.
func (t Tenant) AddModelJob(ctx context.Context, q ModelQuery) (Job, error) {
	all, err := t.ModelJobs(ctx)
	if err != nil {
		return Job{}, err
	}
	if slices.ContainsFunc(all, func(x Job) bool { return !x.Final() }) {
		return Job{}, ErrWrongState
	}
	for _, x := range all[min(len(all), ModelJobsMax-1):] {
		if err := t.DeleteModelJob(ctx, x.ID); err != nil && !errors.Is(err, ErrNotFound) {
			return Job{}, err
		}
	}
	x := Job{Type: JobModels, Models: &ModelJob{Query: q}}
	if err := t.AddJob(ctx, &x); err != nil {
		return Job{}, err
	}
	return t.Job(ctx, x.ID) // A repeat under the same idempotency key may have found the first one.
}

// ModelJobs lists the jobs of the marketplace that compute models, newest first.
func (t Tenant) ModelJobs(ctx context.Context) (all []Job, err error) {
	tasks, err := t.tasksUntil(TaskModels, math.MaxInt64, 2*ModelJobsMax)
	if err != nil {
		return nil, err
	}
	for _, d := range tasks {
		x, err := t.Job(ctx, d.ID)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b Job) int { return comparePositions(&a, &b) })
	return all, nil
}

// comparePositions orders jobs, newest first.
func comparePositions(a, b *Job) int {
	switch x, y := positionOf(a.CreatedMillis, a.ID), positionOf(b.CreatedMillis, b.ID); {
	case x < y:
		return -1
	case x > y:
		return 1
	default:
		return 0
	}
}

// ModelJob returns a job that computes models, or ErrNotFound.
func (t Tenant) ModelJob(ctx context.Context, id ids.UUID) (Job, error) {
	x, err := t.Job(ctx, id)
	if err == nil && x.Models == nil {
		err = ErrNotFound
	}
	return x, err
}

// OffsiteJob returns a job of ad networks, or ErrNotFound.
func (t Tenant) OffsiteJob(ctx context.Context, id ids.UUID) (Job, error) {
	x, err := t.Job(ctx, id)
	if err == nil && x.Models != nil {
		err = ErrNotFound
	}
	return x, err
}

// DeleteModelJob deletes a job and its result. A worker that is doing the job stops.
func (t Tenant) DeleteModelJob(ctx context.Context, id ids.UUID) error {
	for range maxAttempts {
		at, err := t.VersionedJob(ctx, id)
		if err != nil {
			return err
		}
		if at.Models == nil {
			return ErrNotFound
		}
		err = t.ForgetJob(ctx, at)
		if !errors.Is(err, ErrChanged) && !errors.Is(err, ErrAlreadyExists) {
			return err
		}
	}
	return ErrChanged
}
