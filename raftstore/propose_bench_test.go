package raftstore_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// BenchmarkPropose measures durable commands: every iteration is one acknowledged command of 64 bytes on a real disk.
func BenchmarkPropose(b *testing.B) {
	for _, callers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			c := config(nil, 1)
			c.Dir = b.TempDir()
			s := open(b, c)
			defer closeStore(b, s)
			g := s.Group(1)
			before := g.Status()
			b.ReportAllocs()
			b.ResetTimer()
			var left atomic.Int64
			left.Store(int64(b.N))
			var all sync.WaitGroup
			for caller := range callers {
				cmd := fmt.Appendf(nil, "%064d", caller)
				all.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := g.Propose(b.Context(), cmd); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.StopTimer()
			entries := g.Status().ProposedEntries - before.ProposedEntries
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
			b.ReportMetric(float64(entries)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}
