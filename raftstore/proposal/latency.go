package proposal

import (
	"math"
	"sync/atomic"
	"time"
)

// Durations are counted in buckets whose bounds are powers of two of a second.
const (
	octaveFirst = -14 // 61 µs; shorter durations count in this bucket too.
	octaveLast  = 5   // 32 s; longer durations count in one more bucket.
)

// Latencies is a histogram of durations since the start.
type Latencies struct {
	// Buckets[i] counts the durations longer than Bound(i-1) and at most Bound(i); the last one counts all longer ones.
	Buckets [octaveLast - octaveFirst + 2]uint64
	Total   time.Duration
}

// Bound is the upper bound of bucket i in seconds. That of the last bucket is infinite. REQUIRES: i is an index of
// Buckets.
func (l *Latencies) Bound(i int) float64 {
	if i == len(l.Buckets)-1 {
		return math.Inf(1)
	}
	return math.Exp2(float64(octaveFirst + i))
}

// latency counts durations for Latencies. It is safe for concurrent use.
type latency struct {
	buckets [len(Latencies{}.Buckets)]atomic.Uint64
	nanos   atomic.Int64
}

func (l *latency) add(d time.Duration) {
	fraction, octave := math.Frexp(d.Seconds()) // fraction × 2^octave, fraction in [0.5, 1).
	if fraction == 0.5 {
		octave--
	}
	if d <= 0 {
		octave = octaveFirst
	}
	l.buckets[min(max(octave-octaveFirst, 0), len(l.buckets)-1)].Add(1)
	l.nanos.Add(int64(d))
}

func (l *latency) read() (all Latencies) {
	for i := range l.buckets {
		all.Buckets[i] = l.buckets[i].Load()
	}
	all.Total = time.Duration(l.nanos.Load())
	return all
}
