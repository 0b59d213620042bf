package metrics

import (
	"math"
	"time"
)

// Latencies are how long requests took, counted in the buckets of both histograms.
type Latencies struct{ words [bucketWords]uint64 }

// Latencies returns how long the requests of some operations took since the start of the node. operations are positions in the
// vocabulary. It reads every stripe, which takes some 100 µs.
func (m *Metrics) Latencies(operations ...int) (l Latencies) {
	for _, operation := range operations {
		start := m.layout.seconds + operation*histogramWords
		for i := range l.words {
			l.words[i] += sum(m.stripes, start+i)
		}
	}
	return l
}

// Since returns the durations that were counted after an earlier reading.
func (l *Latencies) Since(earlier *Latencies) (since Latencies) {
	for i := range l.words {
		since.words[i] = l.words[i] - earlier.words[i]
	}
	return since
}

// Quantile returns a duration that a share q of the counted ones do not exceed: the upper bound of the bucket, at most 9 % too long. It
// reports false when nothing was counted.
func (l *Latencies) Quantile(q float64) (time.Duration, bool) {
	var count uint64
	for _, n := range l.words {
		count += n
	}
	if count == 0 {
		return 0, false
	}
	rank := max(1, uint64(math.Ceil(q*float64(count))))
	var seen uint64
	for i, n := range l.words {
		if seen += n; seen >= rank {
			return wordBounds[i], true
		}
	}
	return wordBounds[bucketWords-1], true
}

// wordBounds are the longest durations that each word counts.
var wordBounds = func() (all [bucketWords]time.Duration) {
	for i := range nativeWords {
		b := &nativeWords[i]
		end := time.Duration(math.Exp2(float64(octaveFirst)+float64(i)/perOctave) * float64(time.Second))
		all[b.first] = min(end, b.split)
		if b.split != math.MaxInt64 {
			all[b.first+1] = end
		}
	}
	return all
}()
