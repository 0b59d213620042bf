//go:build !race

package metrics_test

import (
	"testing"
	"time"
)

func TestCountingDoesNotAllocate(t *testing.T) {
	s := newMetrics().Stripe()
	lost := []uint32{1, 0}
	if n := testing.AllocsPerRun(100, func() {
		s.Request(0, 0, 20*time.Microsecond)
		s.Auctions(5, 3, lost)
		s.Event(0, 1, "EUR", 250, 50)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	s := newMetrics().Stripe()
	b.ReportAllocs()
	for b.Loop() {
		s.Request(0, 0, 20*time.Microsecond)
	}
}
