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
	lag      driver.Histogram
	failed   error // Why it was not measured until the end.
}

const (
	freshnessEvery = 200 * time.Millisecond // Between two measurements, so that the node does not only compute reports.
	freshnessPoll  = 20 * time.Millisecond  // Between two readings of one.
	freshnessMax   = time.Minute            // BOUND: of one measurement; reports that lag by more are a fault.
)

func (f *freshness) run(ctx context.Context, _ time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(freshnessEvery):
		}
		if f.failed = f.measure(ctx); f.failed != nil {
			return
		}
	}
}

// measure makes one measurement. One that has begun goes on when the workers end.
func (f *freshness) measure(ctx context.Context) error {
	acked, start := f.acked.Load(), time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), freshnessMax)
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
