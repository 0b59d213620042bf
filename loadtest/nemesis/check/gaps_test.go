package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/check"
	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

var (
	killed  = &check.Bound{Promise: "killed", P99: 5 * time.Second, Few: true, Max: 10 * time.Second}
	paused  = &check.Bound{Promise: "paused", P99: 5 * time.Second, Max: 10 * time.Second}
	rolling = &check.Bound{Promise: "rolling", Max: 5 * time.Second, Singly: true}
	bounds  = map[string]*check.Bound{"kill": killed, "kill-again": killed, "pause": paused, "rolling": rolling, "power-all": nil}
)

// outage adds a fault of node 1, a minute after the one before, and a write that waited for its end.
func outage(h *history.History, kind string, gap, givenUp time.Duration) *history.Fault {
	begin := time.Duration(len(h.Faults)+1) * time.Minute
	w := history.Write{Invoke: begin + milli, Return: begin + milli + gap}
	if gap == history.Never {
		w.Return, w.GivenUp = history.Never, begin+givenUp
	}
	h.Writes = append(h.Writes, w)
	h.Faults = append(h.Faults, history.Fault{Kind: kind, Nodes: []int{0}, Begin: begin, Healed: begin + time.Second, Settled: begin + 5*time.Second})
	check.Measure(h)
	return &h.Faults[len(h.Faults)-1]
}

func gapsOf(h *history.History, nodes int, promise string) check.Result {
	for _, v := range check.Writable(h, nodes, bounds) {
		if strings.HasSuffix(v.Check, promise) {
			return v
		}
	}
	panic(promise)
}

func TestGap(t *testing.T) {
	h := history.New()
	h.Writes = []history.Write{
		{Invoke: 500 * milli, Return: 5 * time.Second},  // It began before the fault.
		{Invoke: 1100 * milli, Return: 2600 * milli},    // This write has the gap.
		{Invoke: 2 * time.Second, Return: 2001 * milli}, // It is quick.
		{Invoke: 3100 * milli, Return: 9 * time.Second}, // It began after the fault.
	}
	h.Faults = []history.Fault{{Kind: "kill", Begin: time.Second, Settled: 3 * time.Second}}
	check.Measure(h)
	if f := h.Faults[0]; !f.Alone || f.Gap != 1500*milli || f.Net != f.Gap {
		t.Errorf("%+v", f)
	}
	if all := check.Gaps(h)["kill"]; len(all) != 1 || all[0] != 1500*milli {
		t.Errorf("%v", all)
	}
	// Stalls overlap each other, and the next fault begins while the write still waits. Each moment counts once.
	h.Stalls = []history.Stall{{From: 1200 * milli, Until: 1600 * milli}, {From: 1500 * milli, Until: 1700 * milli}, {From: 0, Until: 1150 * milli}}
	if hung := check.Hung(h.Stalls, 1100*milli, 1650*milli); hung != 500*milli {
		t.Errorf("hung for %v", hung)
	}
	h.Faults[0].Settled = 2 * time.Second
	h.Faults = append(h.Faults, history.Fault{Kind: "pause", Begin: 2500 * milli, Settled: 4 * time.Second})
	check.Measure(h)
	if f := h.Faults[0]; !f.Alone || f.Gap != 1500*milli || f.Net != 850*milli {
		t.Errorf("%+v", f)
	}
	h.Faults[1].Begin = 2 * time.Second
	if check.Measure(h); h.Faults[0].Alone || h.Faults[1].Alone || len(check.Gaps(h)) != 0 {
		t.Error("faults that touch are alone")
	}
}

func TestWritable(t *testing.T) {
	h := history.New()
	outage(h, "kill", 5*time.Second, 0)
	outage(h, "kill-again", time.Second, 0)
	outage(h, "pause", 10*time.Second, 0)
	outage(h, "rolling", 5*time.Second, 0).Nodes = []int{0, 1, 2}
	outage(h, "power-all", time.Minute/2, 0)
	outage(h, "earthquake", time.Minute/2, 0)
	for promise, checked := range map[string]int{"killed": 2, "paused": 1, "rolling": 1} {
		if v := gapsOf(h, 3, promise); v.Count != 0 || v.Checked != checked {
			t.Errorf("%+v", v)
		}
		if v := gapsOf(h, 1, promise); v.Checked != 0 {
			t.Errorf("a bound is checked of a single node that is down, which is no minority: %+v", v)
		}
	}
	if v := gapsOf(h, 3, "killed"); !strings.Contains(v.Note, "p99 at most 5s") || !strings.Contains(v.Note, "worst 5s: kill of") {
		t.Error(v.Note)
	}

	f := outage(h, "kill", 6*time.Second, 0)
	if v := gapsOf(h, 3, "killed"); v.Count != 1 || !strings.Contains(v.Violations[0], "want at most 5s") {
		t.Errorf("%+v", v)
	}
	f.Nodes = []int{0, 1}
	if v := gapsOf(h, 3, "killed"); v.Count != 0 {
		t.Errorf("a bound is checked of two nodes of three, which are no minority: %+v", v)
	}
	if v := gapsOf(h, 5, "killed"); v.Count != 1 {
		t.Errorf("no bound is checked of two nodes of five, which are a minority: %+v", v)
	}
	h.Stalls = []history.Stall{{From: f.Begin + time.Second, Until: f.Begin + 2*time.Second}}
	check.Measure(h)
	if v := gapsOf(h, 5, "killed"); v.Count != 0 || !strings.Contains(v.Note, "(6s with") {
		t.Errorf("the time in which the machine hung is counted: %+v", v)
	}
	outage(h, "rolling", 5001*milli, 0)
	if v := gapsOf(h, 3, "rolling"); v.Count != 1 {
		t.Errorf("%+v", v)
	}
}

// One of a hundred gaps may exceed the bound of the p99, two may not. Of fewer faults the p99 is not checked unless the bound says so.
func TestP99OfAHundred(t *testing.T) {
	for _, c := range []struct {
		kind          string
		faults, above int
		want          int
	}{
		{"pause", 99, 5, 0},
		{"pause", 100, 1, 0},
		{"pause", 100, 2, 1},
		{"pause", 200, 2, 0},
		{"pause", 200, 3, 1},
		{"kill", 2, 1, 1},
		{"kill", 99, 1, 1},
		{"kill", 100, 1, 0},
	} {
		h := history.New()
		for i := range c.faults {
			net := time.Second
			if i < c.above {
				net = 6 * time.Second
			}
			h.Faults = append(h.Faults, history.Fault{Kind: c.kind, Nodes: []int{0}, Alone: true, Gap: net, Net: net})
		}
		promise := map[string]string{"pause": "paused", "kill": "killed"}[c.kind]
		if v := gapsOf(h, 3, promise); v.Count != c.want {
			t.Errorf("%s: %+v", fmt.Sprint(c), v)
		}
	}
}
