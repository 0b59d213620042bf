package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/gavel-ads/gavel/node/store"
)

// alignEvery is the number of ticks after which definitions are compared with what the engine knows. They differ only when a
// request was interrupted between its two writes, or after an upgrade.
const alignEvery = 60

// SegmentEvaluation evaluates who belongs to dynamic segments. The leader of the meta group, which has the segments, does it;
// two that do it at once do no harm.
type SegmentEvaluation struct {
	Store        *store.Store
	Leader       func() bool
	Marketplaces func() []uint16
	Log          *slog.Logger
}

// Run does a round every second until the context ends, and the next one at once while there is more to evaluate.
func (e *SegmentEvaluation) Run(ctx context.Context) {
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	for ticks := 0; ; ticks++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !e.Leader() {
			ticks = -1 // A new leader aligns at once.
			continue
		}
		if ticks%alignEvery == 0 {
			e.align(ctx)
		}
		for more := true; more; {
			more = e.Leader() && e.Round(ctx) && ctx.Err() == nil
		}
	}
}

// align makes the engine know the definitions of all marketplaces.
func (e *SegmentEvaluation) align(ctx context.Context) {
	for _, ordinal := range e.Marketplaces() {
		if err := e.Store.Tenant(ordinal).AlignSegments(ctx); err != nil && ctx.Err() == nil {
			e.Log.Warn("segments_not_aligned", slog.Int("marketplace", int(ordinal)), slog.Any("err", err))
		}
	}
}

// Round evaluates some users of each marketplace that has dynamic segments. It reports whether there are more, so that no
// marketplace waits for all users of another.
func (e *SegmentEvaluation) Round(ctx context.Context) (more bool) {
	all, err := e.Store.DynamicMarketplaces()
	if err != nil && ctx.Err() == nil {
		e.Log.Warn("segments_not_evaluated", slog.Any("err", err))
	}
	for _, ordinal := range all {
		again, err := e.Store.Tenant(ordinal).EvaluateSegments(ctx)
		more = more || again
		if err != nil && ctx.Err() == nil {
			e.Log.Warn("segments_not_evaluated", slog.Int("marketplace", int(ordinal)), slog.Any("err", err))
		}
	}
	return more
}
