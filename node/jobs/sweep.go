package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/gavel-ads/gavel/node/blob"
	"github.com/gavel-ads/gavel/node/store"
)

const (
	sweepEvery = 6 * time.Hour
	// sweepAge is how old a file has to be before it may be removed: longer than an upload and the job that reads it take
	// together.
	sweepAge = 48 * time.Hour
)

// Sweeper removes files that no record refers to: those of uploads that failed halfway, and those of deleted objects.
type Sweeper struct {
	Blobs blob.Store
	Store *store.Store
	// ShouldSweep reports whether this node sweeps now: always for its own directory, and only as the leader for a shared bucket.
	ShouldSweep func() bool
	Now         func() time.Time
	Log         *slog.Logger
}

// Run sweeps every 6 hours until the context ends.
func (s *Sweeper) Run(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !s.ShouldSweep() {
			continue
		}
		if removed, err := s.Sweep(ctx); err != nil || removed > 0 {
			s.Log.Info("files_swept", slog.Int("removed", removed), slog.Any("err", err))
		}
	}
}

// Sweep checks every file once, and returns how many it removed.
func (s *Sweeper) Sweep(ctx context.Context) (int, error) {
	return blob.Sweep(ctx, s.Blobs, s.Now(), sweepAge, func(name string) (bool, error) {
		kind, marketplace, ok := blob.Owner(name)
		if !ok {
			return true, nil // Gavel did not store it: a bucket may contain other files.
		}
		t := s.Store.Tenant(marketplace)
		switch kind {
		case "a":
			return t.UsesFile(ctx, name)
		case "c", "l":
			return t.UsesList(ctx, name)
		default:
			return false, nil
		}
	})
}
