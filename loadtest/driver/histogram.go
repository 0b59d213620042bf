package driver

import (
	"math"
	"math/bits"
	"time"
)

const (
	// subBits halves the error with each step: a bucket is at most 2^-subBits of its value wide, here 0.8 %.
	subBits = 7
	sub     = 1 << subBits
	// buckets covers every int64: the first 2*sub values have a bucket each, and every further power of two has sub.
	buckets = (63-subBits)*sub + sub
)

// Histogram counts durations in buckets of nanoseconds: constant work to record, a bounded relative error, exact counts, exact
// minimum and maximum. It is like Gil Tene's HdrHistogram: the bucket of a value is its
// highest set bit and the subBits bits after it. Values up to 2*sub ns are exact; above, a quantile is reported as the
// upper edge of its bucket, so it is never too low and at most 1/128 too high.
//
// The zero value is ready. A histogram belongs to one goroutine; workers keep one each and Merge at the end, so that
// recording takes no lock and shares no cache line. Durations below 0 count as 0.
type Histogram struct {
	counts   [buckets]int64
	count    int64
	sum      float64
	min, max int64
}

// bucketOf returns the bucket of a value >= 0.
func bucketOf(v int64) int {
	if v < 2*sub {
		return int(v)
	}
	shift := bits.Len64(uint64(v)) - subBits - 1
	return shift*sub + int(v>>shift)
}

// upperEdge returns the largest value of a bucket.
func upperEdge(b int) int64 {
	if b < 2*sub {
		return int64(b)
	}
	shift := b/sub - 1
	return (int64(b%sub+sub)+1)<<shift - 1
}

// Record counts one duration.
func (h *Histogram) Record(d time.Duration) {
	v := max(0, int64(d))
	h.counts[bucketOf(v)]++
	if h.count == 0 || v < h.min {
		h.min = v
	}
	h.max = max(h.max, v)
	h.count++
	h.sum += float64(v)
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(o *Histogram) {
	if o.count == 0 {
		return
	}
	for i, n := range o.counts {
		h.counts[i] += n
	}
	if h.count == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	h.count += o.count
	h.sum += o.sum
}

// Count is the number of durations recorded.
func (h *Histogram) Count() int64 { return h.count }

// Min is the shortest duration recorded, exactly; 0 when nothing was recorded.
func (h *Histogram) Min() time.Duration { return time.Duration(h.min) }

// Max is the longest duration recorded, exactly; 0 when nothing was recorded.
func (h *Histogram) Max() time.Duration { return time.Duration(h.max) }

// Mean is the average, 0 when nothing was recorded.
func (h *Histogram) Mean() time.Duration {
	if h.count == 0 {
		return 0
	}
	return time.Duration(h.sum / float64(h.count))
}

// Quantile returns the duration that a share q of the recorded ones do not exceed, for 0 < q <= 1; 0 when nothing was
// recorded. It is the value of rank ceil(q*count), widened to the upper edge of its bucket but never beyond Max.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.count == 0 {
		return 0
	}
	// The millionth keeps 99.9/100, which is a little above 0.999 in binary, from asking for the next rank.
	rank := int64(math.Ceil(q*float64(h.count) - 1e-6))
	rank = min(max(rank, 1), h.count)
	var seen int64
	for b, n := range h.counts {
		if seen += n; seen >= rank {
			return time.Duration(min(upperEdge(b), h.max))
		}
	}
	return h.Max()
}

// Above returns how many recorded durations lie in buckets wholly above a limit.
func (h *Histogram) Above(limit time.Duration) int64 {
	var n int64
	for b := bucketOf(max(0, int64(limit))) + 1; b < buckets; b++ {
		n += h.counts[b]
	}
	return n
}
