package metrics

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Durations are counted so that one observation adds to one word, and a scrape derives two histograms from the words,
// both exact: a native one of schema 3, with eight buckets per power of two, each at most 9 % wide, from 1 µs to 64 s;
// and a classic one with the bounds 1, 2, 5, 10 … µs up to 50 s, which people read. A word therefore counts the durations
// between two neighbours among the bounds of both: a native bucket that contains a classic bound has two words.
const (
	schema      = 3
	perOctave   = 1 << schema
	octaveFirst = -20 // 2^-20 s = 0.95 µs: durations up to it are in the zero bucket.
	octaveLast  = 6   // 2^6 s = 64 s: longer durations are in the last bucket.

	nativeBuckets  = (octaveLast-octaveFirst)*perOctave + 1 // The zero bucket is first.
	classicBuckets = 24                                     // Three bounds in each of eight decades.
	bucketWords    = nativeBuckets + classicBuckets
	sumWord        = bucketWords // Sum of all durations, in nanoseconds.
	histogramWords = bucketWords + 1
)

// bounds are the upper bounds of the native buckets of one octave, as fractions of its upper end, in [0.5, 1).
var bounds = func() (b [perOctave]float64) {
	for i := range b {
		b[i] = math.Exp2(float64(i)/perOctave) / 2
	}
	return b
}()

// classicBounds are the bounds of the classic histogram.
var classicBounds = func() (b [classicBuckets]time.Duration) {
	unit := time.Microsecond
	for i := 0; i < classicBuckets; i += 3 {
		b[i], b[i+1], b[i+2] = unit, 2*unit, 5*unit
		unit *= 10
	}
	return b
}()

// nativeBucket is where a native bucket is counted: up to split in the word first, above it in the word after it. A
// bucket without a classic bound has an infinite split.
type nativeBucket struct {
	first int32
	split time.Duration
}

var nativeWords = func() (all [nativeBuckets]nativeBucket) {
	for i := range all {
		all[i] = nativeBucket{split: math.MaxInt64}
	}
	for _, bound := range classicBounds {
		all[nativeBucketOf(bound)].split = bound
	}
	word := int32(0)
	for i := range all {
		all[i].first = word
		word++
		if all[i].split != math.MaxInt64 {
			word++
		}
	}
	return all
}()

// nativeBucketOf returns the index of the native bucket that a duration belongs to.
func nativeBucketOf(d time.Duration) int {
	fraction, exponent := math.Frexp(float64(d) * 1e-9)
	if d <= 0 || exponent <= octaveFirst {
		return 0
	}
	within := 0
	for _, bound := range bounds { // A fixed loop over 8 values without a branch that depends on the data.
		if bound < fraction {
			within++
		}
	}
	return min((exponent-1-octaveFirst)*perOctave+within, nativeBuckets-1)
}

// bucketOf returns the index of the word that counts a duration.
func bucketOf(d time.Duration) int {
	b := &nativeWords[nativeBucketOf(d)]
	if d > b.split {
		return int(b.first) + 1
	}
	return int(b.first)
}

// histogram is one duration metric in both forms. The exposition formats of Prometheus carry both in one message, but
// the library creates only one form at a time, so Write combines the two.
type histogram struct{ native, classic prometheus.Metric }

// newHistogram returns a histogram of the given words, which are sums over the stripes.
func newHistogram(desc *prometheus.Desc, words func(i int) uint64, created time.Time, labels ...string) histogram {
	var count uint64
	positive := make(map[int]int64)
	cumulative := make(map[float64]uint64, classicBuckets)
	zero := words(0)
	for i := range nativeWords {
		b := &nativeWords[i]
		n := words(int(b.first))
		count += n
		if b.split != math.MaxInt64 {
			cumulative[b.split.Seconds()] = count
			above := words(int(b.first) + 1)
			count, n = count+above, n+above
		}
		if n > 0 && i > 0 {
			positive[i+octaveFirst*perOctave] = int64(n) // A count of requests.
		}
	}
	seconds := float64(words(sumWord)) / 1e9
	return histogram{
		native: prometheus.MustNewConstNativeHistogram(desc, count, seconds, positive, nil, zero, schema,
			math.Exp2(octaveFirst), created, labels...),
		classic: prometheus.MustNewConstHistogram(desc, count, seconds, cumulative, labels...),
	}
}

// Desc describes the metric.
func (h histogram) Desc() *prometheus.Desc { return h.native.Desc() }

// Write encodes the metric.
func (h histogram) Write(out *dto.Metric) error {
	var classic dto.Metric
	if err := h.classic.Write(&classic); err != nil {
		return err
	}
	if err := h.native.Write(out); err != nil {
		return err
	}
	out.Histogram.Bucket = classic.GetHistogram().GetBucket()
	return nil
}
