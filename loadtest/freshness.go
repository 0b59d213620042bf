package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// freshness measures how long reports lag behind acknowledgements. It takes the number of clicks that were acknowledged so
// far, and reads the marketplace's report again and again until it has as many.
type freshness struct {
	operator *shop.Client
	acked    *atomic.Int64 // Clicks that were acknowledged to any worker.
	before   int64         // Clicks of the report at the start.
	measured int64         // Clicks that the last measurement has waited for.
	lag      driver.Histogram
	failed   error // Why it was not measured until the end.
}

const (
	freshnessEvery = 200 * time.Millisecond // Between two measurements, so that the node does not only compute reports.
	freshnessPoll  = 20 * time.Millisecond  // Between two readings of one.
	freshnessMax   = time.Minute            // BOUND: of one measurement; reports that lag by more are a fault.
)

// run measures until the workers end, and once more then, so that every run with clicks has a measurement.
func (f *freshness) run(ctx context.Context, _ time.Time) {
	for ended := false; !ended && f.failed == nil; {
		select {
		case <-ctx.Done():
			ended = true
		case <-time.After(freshnessEvery):
		}
		f.failed = f.measure(context.WithoutCancel(ctx))
	}
}

// measure makes one measurement, if there are clicks that no earlier one has waited for.
func (f *freshness) measure(ctx context.Context) error {
	acked, start := f.acked.Load(), time.Now()
	if acked == f.measured {
		return nil
	}
	f.measured = acked
	ctx, cancel := context.WithTimeout(ctx, freshnessMax)
	defer cancel()
	for {
		r, err := f.operator.MarketplaceReport(ctx, start)
		if err != nil {
			return err
		}
		if r.Clicks.Total-f.before >= acked {
			f.lag.Record(time.Since(start))
			return nil
		}
		time.Sleep(freshnessPoll)
	}
}
