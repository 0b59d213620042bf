package proposal

import (
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// bounds are the upper bounds of the buckets in which durations are counted: 1, 2 and 5 in each decade. Shorter durations
// count in the first bucket, longer ones in one more than there are bounds.
var bounds = [...]time.Duration{
	50 * time.Microsecond, 100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 50 * time.Second,
}

// Latencies is a histogram of durations since the start.
type Latencies struct {
	// Buckets[i] counts the durations longer than Bound(i-1) and at most Bound(i); the last one counts all longer ones.
	Buckets [len(bounds) + 1]uint64
	Total   time.Duration
}

// Bound is the upper bound of bucket i in seconds. That of the last bucket is infinite. REQUIRES: i is an index of
// Buckets.
func (l *Latencies) Bound(i int) float64 {
	if i == len(bounds) {
		return math.Inf(1)
	}
	return bounds[i].Seconds()
}

// latency counts durations for Latencies. It is safe for concurrent use.
type latency struct {
	buckets [len(Latencies{}.Buckets)]atomic.Uint64
	nanos   atomic.Int64
}

func (l *latency) add(d time.Duration) {
	i, _ := slices.BinarySearch(bounds[:], d)
	l.buckets[i].Add(1)
	l.nanos.Add(int64(d))
}

func (l *latency) read() (all Latencies) {
	for i := range l.buckets {
		all.Buckets[i] = l.buckets[i].Load()
	}
	all.Total = time.Duration(l.nanos.Load())
	return all
}
