//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

// A fault that owned a process caused its end, also when the supervisor learns of the end after the fault has released the process.
func TestOwnerCausesTheEndOfItsProcess(t *testing.T) {
	var c ownership
	first, second := make(chan struct{}), make(chan struct{})
	if c.caused(first) {
		t.Error("an end without an owner is explained")
	}
	c.acquire()
	close(first) // SIGTERM, and the process ends.
	if !c.release(first) || !c.caused(first) {
		t.Error("the end of a process that was owned is a finding")
	}
	if c.caused(second) {
		t.Error("the end of the next process is explained as well")
	}
	c.acquire() // This fault ends no process.
	if !c.caused(second) || !c.release(second) {
		t.Error("there was one owner, and its release was not the last")
	}
	close(second)
	if c.caused(second) {
		t.Error("the end of a process after its release is explained")
	}
	c.acquire()
	c.acquire()
	if c.release(second) || !c.release(second) {
		t.Error("of two owners the second release is not the last")
	}
}

// The end of the log of a process, and why it ended, are read from the log since its last start only.
func TestEndings(t *testing.T) {
	const failed = `{"time":"2026-01-01T00:00:00Z","level":"ERROR","msg":"process_exiting","reason":"disk is slow","err":"x","stacks":"` + "goroutine 1" + `"}`
	const duplicate = `{"level":"ERROR","msg":"process_exiting","reason":"another process runs with this node's id","advice":"stop one of the two","err":"x"}`
	long := strings.Repeat("x", 1_000)
	for _, c := range []struct {
		name, log, reason, said string
	}{
		{"a hung disk", "---- nemesis: start at 1\n" + `{"level":"INFO","msg":"hello"}` + "\n" + failed + "\n", "disk is slow", "hello"},
		{"a copy", duplicate + "\n", "another process runs with this node's id", "stop one"},
		{"of the start before", "---- nemesis: start at 1\n" + failed + "\n---- nemesis: start at 2\nbye\n", "", "bye"},
		{"a panic", "---- nemesis: start at 1\npanic: oh\n" + strings.Repeat("goroutine\n", 50), "", "panic: oh"},
		{"a long line", long, "", long[:logLineMax]},
		{"nothing", "", "", ""},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		e := readEnding(nil, path)
		if e.reason != c.reason || !strings.Contains(e.String(), c.said) || strings.Contains(e.logEnd, long) {
			t.Errorf("%s: %q in\n%s", c.name, e.reason, e)
		}
	}
	if e := readEnding(nil, filepath.Join(t.TempDir(), "none")); !strings.Contains(e.logEnd, "no such file") {
		t.Error(e)
	}
}

// Only exit code 70 with a reason that the fault allows is by design.
func TestEndsByDesign(t *testing.T) {
	for _, c := range []struct {
		e    ending
		kind []string
		want bool
	}{
		{ending{code: 70, reason: "disk is slow"}, hangReasons, true},
		{ending{code: 70, reason: "storage call does not return"}, hangReasons, true},
		{ending{code: 70, reason: "pebble"}, failureReasons, true},
		{ending{code: 70, reason: "pebble"}, hangReasons, false},
		{ending{code: 70, reason: "disk is slow"}, failureReasons, false},
		{ending{code: 70, reason: "data is corrupt"}, failureReasons, false},
		{ending{code: 70}, hangReasons, false},
		{ending{code: 2, reason: "disk is slow"}, hangReasons, false},
		{ending{code: 0}, hangReasons, false},
	} {
		if got := c.e.byDesign(c.kind); got != c.want {
			t.Errorf("%+v for %v: %v", c.e, c.kind, got)
		}
	}
}

func TestDiskProbeRecordsThatTheDiskHung(t *testing.T) {
	at := func(seconds float64) time.Time {
		return time.Unix(1_000, 0).Add(time.Duration(seconds * float64(time.Second)))
	}
	w := diskProbe{h: history.New()}
	w.begin(at(0))
	w.end(at(1))
	w.begin(at(2))
	if w.hungRecently(at(3)) || !w.hungRecently(at(4)) {
		t.Error("a sync of one second counts as hung, or one of two does not")
	}
	w.end(at(5))
	if !w.hungRecently(at(15)) || w.hungRecently(at(15.1)) || w.slowestSync() != 3*time.Second {
		t.Errorf("the slowest took %v", w.slowestSync())
	}
	w.begin(at(6))
	w.end(at(6.2))
	if s := w.h.Stalls; len(s) != 2 || s[0].Until-s[0].From != time.Second || s[1].Until-s[1].From != 3*time.Second {
		t.Errorf("stalls of 1 s and 3 s are recorded as %v", s)
	}
}
