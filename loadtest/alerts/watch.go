//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

const (
	askEvery = 250 * time.Millisecond
	// expectMax is how long an expected alert may take. The longest, that of no auctions, needs a sixth of the 20 minutes that it
	// needs as it ships.
	expectMax = 5 * time.Minute
	// endMax is how long alerts may last after the fault is over: as long as the longest window.
	endMax = 5 * time.Minute
)

// watch asks Prometheus for alerts and counts those that are missing or too many.
type watch struct {
	cluster    *cluster
	prometheus *prometheus
	out        io.Writer
	violations int
}

func (w *watch) say(format string, a ...any) { _, _ = fmt.Fprintf(w.out, format+"\n", a...) }

func (w *watch) violation(format string, a ...any) {
	w.violations++
	w.say("VIOLATION: "+format, a...)
}

// run watches the healthy cluster and then one fault after the other. An error means that the run cannot go on.
func (w *watch) run(ctx context.Context, o options) error {
	if o.healthy > 0 {
		if err := w.watchHealthy(ctx, o.healthy); err != nil {
			return err
		}
	}
	injected := 0
	for i := range faults {
		if f := &faults[i]; o.only == "" || o.only == f.name {
			injected++
			if err := w.watchFault(ctx, f); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
	}
	if injected == 0 {
		return fmt.Errorf("there is no fault %q", o.only)
	}
	return nil
}

// watchHealthy expects that no alert fires, neither as it ships nor quickly.
func (w *watch) watchHealthy(ctx context.Context, length time.Duration) error {
	seen := map[string]bool{}
	asked := 0
	for end := time.Now().Add(length); time.Now().Before(end); asked++ {
		if !wait(ctx, askEvery) {
			return ctx.Err()
		}
		all, err := w.prometheus.firing(ctx)
		if err != nil {
			return err
		}
		for _, a := range slices.Concat(all.shipped, all.quick) {
			if !seen[a.String()] {
				seen[a.String()] = true
				w.violation("on a healthy cluster: %v: %s", a, a.summary)
			}
		}
	}
	w.say("%v of a healthy cluster under load, asked %d times: %d alerts", length, asked, len(seen))
	return nil
}

// watchFault injects a fault, waits for the expected alerts, removes the fault, and waits until no alert fires.
func (w *watch) watchFault(ctx context.Context, f *fault) error {
	if !w.silent(ctx, nil) {
		return errors.New("alerts of what was before do not end")
	}
	injecting, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	begin := time.Now()
	go func() { done <- f.inject(injecting, w.cluster) }()
	fired, err := w.await(ctx, f, begin)
	stop()
	if err := errors.Join(err, <-done, w.cluster.heal(ctx)); err != nil {
		return err
	}
	var text []string
	for _, name := range f.expected {
		at, found := fired[name]
		if !found {
			w.violation("%s: %s does not fire within %v", f.name, name, expectMax)
			continue
		}
		text = append(text, fmt.Sprintf("%s after %.0f s", name, at.Seconds()))
	}
	var others []string
	for name := range fired {
		if !slices.Contains(f.expected, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	w.say("%s: %s; also %v", f.name, strings.Join(text, ", "), others)
	healed := time.Now()
	if !w.silent(ctx, f.lingers) {
		w.violation("%s: alerts go on %v after its end", f.name, endMax)
		return ctx.Err()
	}
	w.say("  silent %.0f s after its end", time.Since(healed).Seconds())
	return ctx.Err()
}

// await waits until all expected alerts have fired, at most expectMax. It returns when each alert fired first.
func (w *watch) await(ctx context.Context, f *fault, begin time.Time) (map[string]time.Duration, error) {
	fired := map[string]time.Duration{}
	for time.Since(begin) < expectMax {
		if !wait(ctx, askEvery) {
			return fired, ctx.Err()
		}
		all, err := w.prometheus.firing(ctx)
		if err != nil {
			return fired, err
		}
		for _, a := range all.quick {
			if _, known := fired[a.name]; known {
				continue
			}
			fired[a.name] = time.Since(begin)
			if !slices.Contains(f.expected, a.name) && !slices.Contains(f.allowed, a.name) {
				w.violation("%s: unexpected %v: %s", f.name, a, a.summary)
			}
		}
		if !slices.ContainsFunc(f.expected, func(name string) bool { _, found := fired[name]; return !found }) {
			return fired, nil
		}
	}
	return fired, nil
}

// silent waits until no quick alert fires or is about to, but for some, at most endMax, and reports whether that came true. An
// alert that is about to fire would be counted for the next fault.
func (w *watch) silent(ctx context.Context, but []string) bool {
	for end := time.Now().Add(endMax); time.Now().Before(end) && wait(ctx, askEvery); {
		all, err := w.prometheus.firing(ctx)
		if err == nil && !slices.ContainsFunc(slices.Concat(all.quick, all.pending), func(a alert) bool { return !slices.Contains(but, a.name) }) {
			return true
		}
	}
	return false
}
