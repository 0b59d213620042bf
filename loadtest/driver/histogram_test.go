package driver_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

// The results are compared with a sorted slice: every quantile lies at or above the true one and within 1/128 of it.
func TestQuantilesAgainstSortedValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h driver.Histogram
	var all []int64
	for range 50_000 {
		v := int64(math.Exp(r.Float64() * math.Log(1e12))) // 1 ns to 1,000 s, evenly distributed over the powers of two.
		all = append(all, v)
		h.Record(time.Duration(v))
	}
	slices.Sort(all)
	for _, q := range []float64{1e-6, .001, .25, .5, .9, .99, .999, .99999, 1} {
		want := all[int(math.Ceil(q*float64(len(all))))-1]
		got := int64(h.Quantile(q))
		if got < want || float64(got) > float64(want)*(1+1.0/128)+1 {
			t.Errorf("quantile %g is %d, sorted values say %d", q, got, want)
		}
	}
	if int64(h.Min()) != all[0] || int64(h.Max()) != all[len(all)-1] || h.Count() != 50_000 {
		t.Errorf("min %d max %d count %d", h.Min(), h.Max(), h.Count())
	}
}

func TestEveryDurationHasABucket(t *testing.T) {
	var h driver.Histogram
	for shift := range 63 {
		for _, v := range []int64{1<<shift - 1, 1 << shift, 1<<shift + 1} {
			h.Record(time.Duration(v))
		}
	}
	h.Record(math.MaxInt64)
	h.Record(-time.Second)
	if h.Count() != 63*3+2 || h.Max() != math.MaxInt64 || h.Min() != 0 || h.Quantile(1) != math.MaxInt64 {
		t.Fatalf("count %d min %d max %d p100 %d", h.Count(), h.Min(), h.Max(), h.Quantile(1))
	}
}

func TestMergeIsRecordingEverythingInOne(t *testing.T) {
	var left, right, one, empty driver.Histogram
	for i := range 10_000 {
		d := time.Duration(i*i) * time.Nanosecond
		one.Record(d)
		if i%3 == 0 {
			left.Record(d)
		} else {
			right.Record(d)
		}
	}
	right.Merge(&left)
	right.Merge(&empty)
	if right != one {
		t.Fatal("the merged histogram is not the one that recorded everything")
	}
	empty.Merge(&one)
	if empty != one {
		t.Fatal("merging into an empty histogram lost something")
	}
}

func TestAboveCountsWholeBuckets(t *testing.T) {
	var h driver.Histogram
	for i := range 1_000 {
		h.Record(time.Duration(i+1) * time.Millisecond)
	}
	if n := h.Above(500 * time.Millisecond); n < 495 || n > 500 {
		t.Fatalf("%d durations above 500 ms, want 500 less at most one bucket", n)
	}
	if n := h.Above(time.Hour); n != 0 {
		t.Fatalf("%d durations above an hour", n)
	}
}

func TestEmpty(t *testing.T) {
	var h driver.Histogram
	if h.Quantile(.5) != 0 || h.Mean() != 0 || h.Min() != 0 || h.Max() != 0 {
		t.Fatal("an empty histogram has values")
	}
}

func TestSLO(t *testing.T) {
	targets, err := driver.ParseSLO("p50=1ms, p99.9=20ms,max=1s")
	if err != nil || len(targets) != 3 {
		t.Fatalf("%v %v", targets, err)
	}
	var h driver.Histogram
	if targets[0].Met(&h) {
		t.Error("nothing recorded meets a target")
	}
	for range 999 {
		h.Record(900 * time.Microsecond)
	}
	h.Record(500 * time.Millisecond)
	for i, want := range []bool{true, true, true} {
		if targets[i].Met(&h) != want {
			t.Errorf("%s met: %v", targets[i].Name, !want)
		}
	}
	h.Record(2 * time.Second)
	for i, want := range []bool{true, false, false} {
		if targets[i].Met(&h) != want {
			t.Errorf("%s met: %v", targets[i].Name, !want)
		}
	}
	for _, text := range []string{"p99", "p=1s", "p0=1s", "p101=1s", "99=1s", "p99=5", "p99=-1s", "avg=1s"} {
		if got, err := driver.ParseSLO(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}
