package main

import (
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

// kindLatency is the latencies of one kind of request in the whole run.
type kindLatency struct {
	Kind     string
	Requests int64
	Latency  map[string]time.Duration
}

// intervalLatency is what was due in one interval of the run.
type intervalLatency struct {
	From  time.Duration // Since the start.
	Kinds []kindInterval
}

// kindInterval is the requests of one kind in an interval.
type kindInterval struct {
	Kind          string
	Requests      int64
	P50, P99, Max time.Duration
}

// fillKinds sets the latencies by kind and by interval. A kind without a request is left out.
func (o *outcome) fillKinds(t *timeline) {
	o.timeline = t
	for k := range kinds {
		h := t.whole(k)
		if h.Count() == 0 {
			continue
		}
		o.Kinds = append(o.Kinds, kindLatency{kindNames[k], h.Count(), quantiles(h)})
		if bare := h.Quantile(.99); k == kindBare && bare > 0 {
			o.BareRatio = float64(o.Latency["p99"]) / float64(bare)
		}
	}
	for i := range t.intervals {
		line := intervalLatency{From: time.Duration(i) * t.step}
		for k, h := range t.intervals[i] {
			if h != nil {
				line.Kinds = append(line.Kinds, kindInterval{kindNames[k], h.Count(), h.Quantile(.5), h.Quantile(.99), h.Max()})
			}
		}
		o.Intervals = append(o.Intervals, line)
	}
}

func quantiles(h *driver.Histogram) map[string]time.Duration {
	all := make(map[string]time.Duration, len(points))
	for _, p := range points {
		all[p.name] = h.Quantile(p.q)
	}
	return all
}
