package metrics_test

import (
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/metrics"
)

// A quantile is that of the requests since an earlier reading, of the named operations, and at most 9 % too long.
func TestQuantilesOfDurations(t *testing.T) {
	m := metrics.New(metrics.Vocabulary{Operations: []string{"auctions", "events"}, Codes: []metrics.Code{{Name: "ok"}}}, []string{"201", "200"})
	s := m.Stripe()
	for range 100 {
		s.Request(0, 0, time.Second)
		s.Request(1, 0, time.Minute)
	}
	before := m.Latencies(0)
	other := m.Stripe()
	for i := range 100 {
		other.Request(0, 0, time.Duration(i+1)*time.Millisecond)
	}
	now := m.Latencies(0)
	since := now.Since(&before)
	for q, want := range map[float64]time.Duration{0.5: 50 * time.Millisecond, 0.99: 99 * time.Millisecond, 1: 100 * time.Millisecond, 0: time.Millisecond} {
		if got, ok := since.Quantile(q); !ok || got < want || float64(got) > 1.1*float64(want) {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	both := m.Latencies(0, 1)
	if got, _ := both.Quantile(1); got < time.Minute {
		t.Errorf("the longest of both operations is %v", got)
	}
	nothing := since.Since(&since)
	if got, ok := nothing.Quantile(0.5); ok {
		t.Errorf("nothing has the quantile %v", got)
	}
}
