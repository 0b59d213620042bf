package metrics

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Durations are counted in the buckets of a native Prometheus histogram of schema 3: eight buckets per power of two,
// each at most 9 % wide, from 1 µs to 64 s. An observation adds to one word. At a scrape the same words become a native
// histogram, and a classic one whose bounds are the powers of two; both are exact.
const (
	schema      = 3
	perOctave   = 1 << schema
	octaveFirst = -20 // 2^-20 s = 0.95 µs: durations up to it are in the zero bucket.
	octaveLast  = 6   // 2^6 s = 64 s: longer durations are in the last bucket.

	bucketWords    = (octaveLast-octaveFirst)*perOctave + 1 // The zero bucket is first.
	sumWord        = bucketWords                            // Sum of all durations, in nanoseconds.
	histogramWords = bucketWords + 1
)

// bounds are the upper bounds of the buckets of one octave, as fractions of its upper end, in [0.5, 1).
var bounds = func() (b [perOctave]float64) {
	for i := range b {
		b[i] = math.Exp2(float64(i)/perOctave) / 2
	}
	return b
}()

// bucketOf returns the index of the word that counts a duration.
func bucketOf(d time.Duration) int {
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
	return min((exponent-1-octaveFirst)*perOctave+within, bucketWords-1)
}

// histogram is one duration metric in both forms. The exposition formats of Prometheus carry both in one message, but
// the library creates only one form at a time, so Write combines the two.
type histogram struct{ native, classic prometheus.Metric }

// newHistogram returns a histogram of the given words, which are sums over the stripes.
func newHistogram(desc *prometheus.Desc, words func(i int) uint64, created time.Time, labels ...string) histogram {
	var count uint64
	positive := make(map[int]int64)
	cumulative := make(map[float64]uint64, octaveLast-octaveFirst+1)
	zero := words(0)
	count += zero
	cumulative[math.Exp2(octaveFirst)] = count
	for i := 1; i < bucketWords; i++ {
		if n := words(i); n > 0 {
			positive[i+octaveFirst*perOctave] = int64(n) // A count of requests.
			count += n
		}
		if i%perOctave == 0 {
			cumulative[math.Exp2(float64(octaveFirst+i/perOctave))] = count
		}
	}
	delete(cumulative, math.Exp2(octaveLast)) // The last bucket holds larger durations as well, so only +Inf is exact.
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
