//go:build unix

package auction_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/gavel-ads/gavel/shard/auction"
)

// BenchmarkLarge compares ten million bids with a hundred thousand, one bid for each product, over requests of five
// auctions of a hundred ids. It reports the heap, the CPU time of one full garbage collection (the least of five), and
// the CPU time for each product id (the quarter percentile over slices of twenty requests, because other load on the
// machine can only increase it). It takes 2 GB and a minute, so it runs only with LARGE=1:
//
//	LARGE=1 GOMAXPROCS=1 go test ./shard/auction -run '^$' -bench Large -benchtime 4000x
func BenchmarkLarge(b *testing.B) {
	if os.Getenv("LARGE") == "" {
		b.Skip("LARGE is not set")
	}
	const auctions, ids, slice = 5, 100, 20
	for _, bids := range []int{100_000, 10_000_000} {
		runtime.GC()
		before := heap()
		m := loaded(bids)
		v := m.View()
		runtime.GC()
		held := heap() - before
		var collections []int64
		for range 5 {
			from := cpuNanos(b)
			runtime.GC()
			collections = append(collections, cpuNanos(b)-from)
		}
		requests := someRequests(v, 2048, auctions, ids, bids)
		tick := params(100, 1)
		var res auction.Results
		var sc auction.Scratch
		b.Run(fmt.Sprintf("bids=%d", bids), func(b *testing.B) {
			var rounds []int64
			i, from := 0, cpuNanos(b)
			for b.Loop() {
				auction.Run(v, tick, requests[i%len(requests)], &res, &sc)
				if i++; i%slice == 0 {
					now := cpuNanos(b)
					rounds = append(rounds, now-from)
					from = now
				}
			}
			slices.Sort(rounds)
			if len(rounds) > 0 {
				b.ReportMetric(float64(rounds[len(rounds)/4])/(slice*auctions*ids), "cpu-ns/id")
			}
			b.ReportMetric(float64(held)/1e6, "MB")
			b.ReportMetric(float64(slices.Min(collections))/1e6, "gc-cpu-ms")
		})
		runtime.KeepAlive(m)
	}
}

// heap returns the number of bytes of heap objects.
func heap() int64 {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc) // Below 2^63.
}

// cpuNanos returns the CPU time of the process so far, user and system.
func cpuNanos(b *testing.B) int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
