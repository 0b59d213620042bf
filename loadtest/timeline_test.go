package main

import (
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

func TestIntervalsOfATimeline(t *testing.T) {
	for _, c := range []struct {
		length, step time.Duration
		intervals    int
	}{
		{150 * time.Millisecond, time.Second, 1},
		{10 * time.Second, time.Second, 10},
		{10*time.Second + 1, time.Second, 11},
		{300 * time.Second, time.Second, 300},
		{301 * time.Second, 2 * time.Second, 151},
		{24 * time.Hour, 288 * time.Second, 300},
	} {
		line := newTimeline(c.length)
		if line.step != c.step || len(line.intervals) != c.intervals {
			t.Errorf("%v: %d intervals of %v, want %d of %v", c.length, len(line.intervals), line.step, c.intervals, c.step)
		}
		if at := line.at(c.length - 1); at != c.intervals-1 {
			t.Errorf("%v: the last instant is in interval %d of %d", c.length, at, c.intervals)
		}
		if line.at(-time.Second) != 0 || line.at(c.length+time.Hour) != c.intervals-1 {
			t.Errorf("%v: an instant outside has no interval", c.length)
		}
	}
}

// Two goroutines record requests of several seconds and kinds; the timeline has each of them in its second, under its kind, once.
func TestRecordersFillTheTimeline(t *testing.T) {
	line := newTimeline(5 * time.Second)
	one, two := &recorder{to: line}, &recorder{to: line}
	one.record(kindAuctions, 100*time.Millisecond, time.Millisecond)
	two.record(kindAuctions, 900*time.Millisecond, 3*time.Millisecond)
	one.record(kindEvents, 950*time.Millisecond, 2*time.Millisecond)
	two.record(kindBare, 3*time.Second, time.Microsecond)
	one.record(kindAuctions, 3*time.Second, 9*time.Millisecond)
	one.flush()
	two.flush()
	two.flush() // Nothing is left to add.

	count := func(h *driver.Histogram) int64 {
		if h == nil {
			return 0
		}
		return h.Count()
	}
	want := [5][kinds]int64{0: {kindAuctions: 2, kindEvents: 1}, 3: {kindAuctions: 1, kindBare: 1}}
	for i := range want {
		for k := range want[i] {
			if got := count(line.intervals[i][k]); got != want[i][k] {
				t.Errorf("second %d has %d requests of %s, want %d", i, got, kindNames[k], want[i][k])
			}
		}
	}
	if all := line.whole(kindAuctions); all.Count() != 3 || all.Max() != 9*time.Millisecond {
		t.Errorf("%d auctions, the longest %v", all.Count(), all.Max())
	}
	if line.requests() != 4 {
		t.Errorf("%d requests of the node, want 4", line.requests())
	}
}

func TestProgressBar(t *testing.T) {
	got := bar(15*time.Second, time.Minute, 1_234)
	if want := "[#######.......................] 15s of 1m0s, 1234 requests"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if full := bar(time.Minute, time.Minute, 0); full[:32] != "[##############################]" {
		t.Errorf("at the end: %q", full)
	}
}
