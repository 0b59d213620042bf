package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// usage is what all nodes together used until an instant, by their own metrics.
type usage struct {
	At     time.Duration // Since the start.
	CPU    float64       // Seconds since the processes started.
	Memory float64       // Resident bytes.
	Pauses float64       // Seconds for which the garbage collector stopped a process.
}

// watcher reads the metrics of the nodes once an interval.
type watcher struct {
	urls    []string
	step    time.Duration
	samples []usage
	failed  error
}

// run reads at the start, once an interval, and when the workers have ended. It stops early when a node does not answer.
func (w *watcher) run(ctx context.Context, start time.Time) {
	ticker := time.NewTicker(w.step)
	defer ticker.Stop()
	for w.failed = w.sample(ctx, start); w.failed == nil && ctx.Err() == nil; w.failed = w.sample(ctx, start) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// sample reads the metrics of all nodes. A reading that has begun goes on when the workers end, so that it is not a fault.
func (w *watcher) sample(ctx context.Context, start time.Time) error {
	var now usage
	for _, url := range w.urls {
		if err := now.read(context.WithoutCancel(ctx), url); err != nil {
			return err
		}
	}
	now.At = time.Since(start)
	w.samples = append(w.samples, now) // BOUND: intervalsMax, and those at the start and the end.
	return nil
}

const (
	metricsMax  = 16 << 20 // BOUND: bytes that are read of a node's metrics; a node has less than 1 MiB.
	metricsWait = 5 * time.Second
)

// read adds the usage of one node.
func (u *usage) read(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, metricsWait)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(url, "/")+"/metrics", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // It was read.
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/metrics answered %s", resp.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(resp.Body, metricsMax))
	if err != nil {
		return fmt.Errorf("the metrics cannot be read: %w", err)
	}
	return u.add(families)
}

// add adds the metrics that the page shows. A page without one of them would show a zero that nobody measured, so it is an
// error when one is missing.
func (u *usage) add(families map[string]*dto.MetricFamily) error {
	for _, m := range []struct {
		name string
		to   *float64
		of   func(*dto.Metric) float64
	}{
		{"process_cpu_seconds_total", &u.CPU, func(m *dto.Metric) float64 { return m.GetCounter().GetValue() }},
		{"process_resident_memory_bytes", &u.Memory, func(m *dto.Metric) float64 { return m.GetGauge().GetValue() }},
		{"go_gc_duration_seconds", &u.Pauses, func(m *dto.Metric) float64 { return m.GetSummary().GetSampleSum() }},
	} {
		all := families[m.name].GetMetric()
		if len(all) == 0 {
			return fmt.Errorf("/metrics has no %s", m.name)
		}
		*m.to += m.of(all[0])
	}
	return nil
}
