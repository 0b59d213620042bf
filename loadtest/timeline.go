package main

import (
	"sync"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/scenarios"
)

// kind is what a request asks for.
type kind uint8

const (
	kindAuctions kind = iota
	kindEvents
	kindManagement
	kindBare // Requests to a server that does nothing, which show what the machine itself costs.

	kinds // The number of kinds.
)

var kindNames = [kinds]string{"auctions", "events", "management", "bare server"}

func kindOf(path string) kind {
	if scenarios.IsAuction(path) {
		return kindAuctions
	}
	return kindEvents
}

// intervalsMax is the number of intervals of a run. BOUND: with a histogram a kind it bounds the memory of the timeline to
// some 50 MB, however long the run is.
const intervalsMax = 300

// timeline is the latencies of a run by kind of request and by the interval in which the request was due. An interval is
// a second, or more whole seconds in a run that is longer than intervalsMax of them.
type timeline struct {
	step time.Duration

	mu        sync.Mutex
	intervals [][kinds]*driver.Histogram // Nil: no request of the kind was due in the interval.
}

func newTimeline(length time.Duration) *timeline {
	step := max(time.Second, (length/intervalsMax + time.Second - 1).Truncate(time.Second))
	return &timeline{step: step, intervals: make([][kinds]*driver.Histogram, (length+step-1)/step)}
}

// at returns the interval of an instant, counted from the start. What is due later than the last interval belongs to it.
func (t *timeline) at(since time.Duration) int {
	return min(max(0, int(since/t.step)), len(t.intervals)-1)
}

func (t *timeline) add(at int, k kind, h *driver.Histogram) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.intervals[at][k] == nil {
		t.intervals[at][k] = new(driver.Histogram)
	}
	t.intervals[at][k].Merge(h)
}

// requests returns how many requests of the node the timeline has. It lags by up to an interval.
func (t *timeline) requests() (n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.intervals {
		for k, h := range t.intervals[i] {
			if h != nil && kind(k) != kindBare {
				n += h.Count()
			}
		}
	}
	return n
}

// whole returns the latencies of one kind in the whole run.
func (t *timeline) whole(k kind) *driver.Histogram {
	all := new(driver.Histogram)
	for i := range t.intervals {
		if h := t.intervals[i][k]; h != nil {
			all.Merge(h)
		}
	}
	return all
}

// recorder counts the latencies of one goroutine, and adds them to the timeline when its next interval begins, so that
// recording takes no lock. The instants at which the requests of one goroutine are due never go back.
type recorder struct {
	to      *timeline
	at      int
	latency [kinds]driver.Histogram
}

// record counts a request that was due at an instant, counted from the start.
func (r *recorder) record(k kind, due, latency time.Duration) {
	if at := r.to.at(due); at != r.at {
		r.flush()
		r.at = at
	}
	r.latency[k].Record(latency)
}

// flush adds to the timeline what was counted since the last call.
func (r *recorder) flush() {
	for k := range r.latency {
		if h := &r.latency[k]; h.Count() > 0 {
			r.to.add(r.at, kind(k), h)
			*h = driver.Histogram{}
		}
	}
}
