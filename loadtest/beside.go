package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// beside is what runs beside the workers: requests to the bare server, changes of budgets, reading of the node's metrics
// and reports, and the progress bar.
type beside struct {
	bare    *driver.BareServer // Nil: none was asked for.
	failed  error              // Why requests to the bare server ended early.
	changer changer
	watcher watcher
	fresh   freshness
}

// startBeside adds what the options ask for to the runner. The caller closes the result after the run.
func (r *runner) startBeside(ctx context.Context, cfg *config, operator *shop.Client, progress io.Writer) (*beside, error) {
	b := &beside{}
	if cfg.changes.Open() {
		campaigns, err := operator.Campaigns(ctx)
		if err != nil {
			return nil, err
		}
		b.changer = changer{operator: operator, plan: cfg.changes, campaigns: campaigns, to: r.timeline}
		r.beside = append(r.beside, b.changer.run)
	}
	if cfg.bare {
		server, err := driver.StartBareServer()
		if err != nil {
			return nil, err
		}
		b.bare = server
		r.beside = append(r.beside, func(ctx context.Context, start time.Time) {
			recorded := &recorder{to: r.timeline}
			defer recorded.flush()
			b.failed = server.Ask(ctx, start, cfg.plan.Duration(), cfg.timeout, func(due, latency time.Duration) {
				recorded.record(kindBare, due, latency)
			})
		})
	}
	if cfg.page != "" {
		b.watcher = watcher{urls: cfg.observed, step: r.timeline.step}
		r.beside = append(r.beside, b.watcher.run)
	}
	if cfg.fresh {
		report, err := operator.MarketplaceReport(ctx, time.Now())
		if err != nil {
			return nil, err
		}
		b.fresh = freshness{operator: operator, acked: &r.acked, before: report.Clicks.Total}
		r.beside = append(r.beside, b.fresh.run)
	}
	if isTerminal(progress) {
		r.beside = append(r.beside, func(ctx context.Context, start time.Time) {
			showProgress(ctx, progress, start, cfg.plan.Duration(), r.timeline)
		})
	}
	return b, nil
}

func (b *beside) close() {
	if b.bare != nil {
		b.bare.Close()
	}
}

// faults describes what a reader of the report would otherwise take for measured.
func (b *beside) faults() (all []string) {
	if b.failed != nil {
		all = append(all, "the bare server was not asked until the end: "+b.failed.Error())
	}
	if b.changer.failed != nil {
		all = append(all, "budgets were not changed until the end: "+b.changer.failed.Error())
	}
	if b.watcher.failed != nil {
		all = append(all, "the metrics were not read until the end: "+b.watcher.failed.Error())
	}
	if b.fresh.failed != nil {
		all = append(all, "how fresh reports are was not measured until the end: "+b.fresh.failed.Error())
	}
	return all
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// barWidth is the width of the progress bar in characters.
const barWidth = 30

// showProgress draws a bar once a second, over the one before.
func showProgress(ctx context.Context, w io.Writer, start time.Time, length time.Duration, t *timeline) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_, _ = fmt.Fprint(w, "\r"+bar(min(time.Since(start), length), length, t.requests()))
		case <-ctx.Done():
			_, _ = fmt.Fprintln(w)
			return
		}
	}
}

func bar(at, length time.Duration, requests int64) string {
	full := int(barWidth * at / length)
	return fmt.Sprintf("[%s%s] %v of %v, %d requests", strings.Repeat("#", full), strings.Repeat(".", barWidth-full),
		at.Round(time.Second), length, requests)
}
