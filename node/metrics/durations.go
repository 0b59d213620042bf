package metrics

import (
	"math"
	"time"
)

// Durations are how long requests took, counted in the buckets of both histograms.
type Durations struct{ words [bucketWords]uint64 }

// Durations returns how long the requests of some operations took since the start of the node. operations are positions in the
// vocabulary. It reads every stripe, which takes some 100 µs.
func (m *Metrics) Durations(operations ...int) (d Durations) {
	for _, operation := range operations {
		start := m.layout.seconds + operation*histogramWords
		for i := range d.words {
			d.words[i] += sum(m.stripes, start+i)
		}
	}
	return d
}

// Since returns the durations that were counted after an earlier reading.
func (d *Durations) Since(earlier *Durations) (since Durations) {
	for i := range d.words {
		since.words[i] = d.words[i] - earlier.words[i]
	}
	return since
}

// Quantile returns a duration that a share q of the counted ones do not exceed: the upper bound of the bucket, at most 9 % too long. It
// reports false when nothing was counted.
func (d *Durations) Quantile(q float64) (time.Duration, bool) {
	var count uint64
	for _, n := range d.words {
		count += n
	}
	if count == 0 {
		return 0, false
	}
	rank := max(1, uint64(math.Ceil(q*float64(count))))
	var seen uint64
	for i, n := range d.words {
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
