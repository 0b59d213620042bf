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
	// sweepAge is how old a file is before somebody asks whether it is needed: longer than an upload and the job that reads
	// it together take.
	sweepAge = 48 * time.Hour
)

// Sweeper removes files that no record refers to: of uploads that failed half way, of things that were deleted.
type Sweeper struct {
	Blobs blob.Store
	Store *store.Store
	// Mine says whether this node sweeps now: always for a directory of its own, as the leader for a bucket of all.
	Mine func() bool
	Now  func() time.Time
	Log  *slog.Logger
}

// Run sweeps until the context ends.
func (s *Sweeper) Run(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !s.Mine() {
			continue
		}
		if gone, err := s.Sweep(ctx); err != nil || gone > 0 {
			s.Log.Info("files_swept", slog.Int("removed", gone), slog.Any("err", err))
		}
	}
}

// Sweep looks at every file once.
func (s *Sweeper) Sweep(ctx context.Context) (int, error) {
	return blob.Sweep(ctx, s.Blobs, s.Now(), sweepAge, func(name string) (bool, error) {
		kind, marketplace, ok := blob.Owner(name)
		if !ok {
			return true, nil // Nobody's of ours: a bucket may hold other things.
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
