package proposal

import (
	"math"
	"testing"
	"time"
)

// Each duration counts in the first bucket whose bound is not below it.
func TestLatenciesCountInTheirBuckets(t *testing.T) {
	for _, d := range []time.Duration{-1, 0, 1, 50_000, 50_001, 100 * time.Microsecond, time.Second, time.Second + 1, 50 * time.Second, 51 * time.Second, time.Hour} {
		var l latency
		l.add(d)
		all := l.read()
		for i, n := range all.Buckets {
			within := d.Seconds() <= all.Bound(i) && (i == 0 || d.Seconds() > all.Bound(i-1))
			if (n == 1) != within {
				t.Errorf("%s: bucket %d, up to %v s, has %d", d, i, all.Bound(i), n)
			}
		}
	}
}

func TestBoundsOfLatencies(t *testing.T) {
	var l Latencies
	last := len(l.Buckets) - 1
	if l.Bound(0) != 0.000_05 || l.Bound(13) != 1 || l.Bound(last-1) != 50 || !math.IsInf(l.Bound(last), 1) {
		t.Errorf("%v %v %v %v", l.Bound(0), l.Bound(13), l.Bound(last-1), l.Bound(last))
	}
}
