//go:build linux

package main

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/scenarios"
)

// answers is a scenario whose requests are answered at once: every second body of events with 503, unless all are accepted.
type answers struct {
	asked  int
	events atomic.Int64
	take   atomic.Bool
}

func (*answers) Prepare(context.Context, *scenarios.Env) error { return nil }
func (a *answers) Worker(int) scenarios.Worker                 { return a }
func (a *answers) Next(r *scenarios.Request) bool {
	*r = scenarios.Request{Path: scenarios.EventsPath, Clicks: 1}
	if a.asked++; a.asked%2 == 0 {
		*r = scenarios.Request{Path: scenarios.AuctionsPath}
	}
	return true
}
func (*answers) Answer(*scenarios.Request, []byte) {}
func (*answers) Close()                            {}
func (a *answers) Post(path string, _ []byte) (int, []byte, error) {
	if path == scenarios.EventsPath && !a.take.Load() && a.events.Add(1)%2 == 1 {
		return 503, nil, nil
	}
	return 200, []byte("{}"), nil
}

func storefrontOf(t *testing.T, a *answers, start time.Time) *storefront {
	t.Helper()
	plan, err := driver.ParsePlan("1000", 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	return &storefront{
		plan: plan, windows: []window{{End: time.Minute}}, scenario: a, start: start,
		dial: func() (scenarios.Poster, error) { return a, nil },
	}
}

// Each request of the plan is counted once, and what was not acknowledged is repeated until it is.
func TestStorefrontCountsEachRequestOnce(t *testing.T) {
	a := &answers{}
	s := storefrontOf(t, a, time.Now())
	got, err := s.run(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if got.auctions[200] != 100 || got.events[200] != 50 || got.events[503] != 50 || got.latency[0].Count() != 100 || got.acked.Clicks != 50 {
		t.Errorf("auctions %v, events %v, %d latencies, %+v", got.auctions, got.events, got.latency[0].Count(), got.acked)
	}
	a.take.Store(true)
	if n, err := got.resolveUnknown(t.Context(), s.dial); err != nil || n != 50 || got.acked.Clicks != 100 {
		t.Errorf("%d settled, %v, %+v", n, err, got.acked)
	}
}

// An auction for which no connection was free is not sent and counts as one without an answer, in the window in which it was due.
func TestStorefrontGivesUpWhatIsTooLate(t *testing.T) {
	a := &answers{}
	s := storefrontOf(t, a, time.Now().Add(-2*answerMax))
	got, err := s.run(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if a.asked != 0 || got.auctions[0] != 200 || got.latency[0].Count() != 200 || got.latency[0].Min() < answerMax {
		t.Errorf("%d sent, auctions %v, %d latencies from %v", a.asked, got.auctions, got.latency[0].Count(), got.latency[0].Min())
	}
}
