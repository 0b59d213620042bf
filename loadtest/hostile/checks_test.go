//go:build linux

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/hostile/attack"
)

// goodReport is the report of a run in which every promise held and was exercised.
func goodReport() *report {
	q := func(d time.Duration) quantiles {
		var h, b driver.Histogram
		for range 1_000 {
			h.Record(d)
			b.Record(time.Millisecond)
		}
		return quantilesOf(&h, &b)
	}
	rep := &report{
		Samples: 100, PeakRSS: 500 << 20, PeakFiles: 900, Auctions: map[int]int64{201: 10}, EventBodies: map[int]int64{200: 2},
		First: q(time.Millisecond), Calm: q(time.Millisecond), Attacked: q(2 * time.Millisecond), Events: 10, EventsRead: true,
		Audits:    []auditLine{{Marketplace: "changes", Changes: 5, Read: true}, {Marketplace: bystanderName, Changes: 5, Read: true}},
		Bystander: map[string]*attempts{"change": {Tried: 2, Attacked: 1}, "file": {Tried: 2, Attacked: 1}, "segment": {Tried: 2, Attacked: 1}},
	}
	for range 3 {
		rep.Pairs = append(rep.Pairs, pair{Calm: rep.Calm, Attacked: rep.Attacked, Ratio: 1.9, BareRatio: 1})
	}
	for _, k := range attack.Kinds() {
		r := attack.Result{Name: k.Name, Counts: map[string]int64{"sent": 1}}
		for _, name := range k.Must {
			r.Counts[name] = 1
		}
		rep.Attackers = append(rep.Attackers, r)
	}
	return rep
}

var checked = options{memory: 1 << 30, files: 1_024, ratioMax: 2}

func TestAGoodRunHasNoViolation(t *testing.T) {
	rep := goodReport()
	rep.evaluate(checked, attack.Kinds())
	if rep.Violations != 0 || len(rep.Checks) != 11 {
		t.Errorf("%+v", rep.Checks)
	}
	var text strings.Builder
	rep.text(&text)
	for _, want := range []string{"0 violations", "the process never ends", "framing"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, text.String())
		}
	}
}

// Each planted violation is found by its check, and by no other.
func TestEachViolationIsFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		plant func(*report)
		check string
	}{
		{"the process ended", func(r *report) { r.Ended = "exit status 1\ntoo many open files" }, "the process never ends"},
		{"the run killed it", func(r *report) { r.Ended, r.Killed = "signal: killed", "killed at 3 GiB" }, "the process never ends"},
		{"memory", func(r *report) { r.PeakRSS = 1 << 30 }, "the memory stays below the limit"},
		{"files", func(r *report) { r.PeakFiles = 1_024 }, "the open files stay below the limit"},
		{"two slow pairs", func(r *report) { r.Pairs[0].Ratio, r.Pairs[2].Ratio = 2.1, 2.1 }, "p99 of auctions at most 2 times that without attackers"},
		{"a pair without latencies", func(r *report) { r.Pairs[1].Ratio = 0 }, "p99 of auctions at most 2 times that without attackers"},
		{"no pair", func(r *report) { r.Pairs = nil }, "p99 of auctions at most 2 times that without attackers"},
		{"a machine too slow for the rate", func(r *report) { r.First.P99 = time.Second }, "p99 of auctions at most 2 times that without attackers"},
		{"attacks that last", func(r *report) { r.Calm.P99 = time.Second }, "p99 of auctions at most 2 times that without attackers"},
		{"an auction answered 503", func(r *report) { r.Auctions[503] = 1 }, "every auction is answered with success"},
		{"an auction not answered", func(r *report) { r.Auctions[0] = 1 }, "every auction is answered with success"},
		{"a wrong answer", func(r *report) { r.Refused = []string{"rank 2, want 1"} }, "every auction is answered with success"},
		{"no auction under attack", func(r *report) { r.Attacked.Count = 0 }, "every auction is answered with success"},
		{"events differ", func(r *report) { r.EventsDiffer = []string{"clicks: -1"} }, "no acknowledged event is lost"},
		{"events stay unknown", func(r *report) { r.EventsNote = "unknown" }, "no acknowledged event is lost"},
		{"reports not read", func(r *report) { r.EventsRead = false }, "no acknowledged event is lost"},
		{"no event", func(r *report) { r.Events = 0 }, "no acknowledged event is lost"},
		{"an audit entry lost", func(r *report) { r.Audits[0].Lost = 1 }, "no audit entry is lost"},
		{"an audit entry without its answer", func(r *report) { r.Audits[0].Unanswered = 1 }, "no audit entry is lost"},
		{"an audit log not read", func(r *report) { r.Audits[1].Read = false }, "no audit entry is lost"},
		{"no audited change", func(r *report) { r.Audits[0].Changes = 0 }, "no audit entry is lost"},
		{"only one audit log", func(r *report) { r.Audits = r.Audits[1:] }, "no audit entry is lost"},
		{"an upload failed", func(r *report) { r.Bystander["file"].Failed = 1 }, "uploads of an honest tenant go through"},
		{"no upload under attack", func(r *report) { r.Bystander["segment"].Attacked = 0 }, "uploads of an honest tenant go through"},
		{"a change failed", func(r *report) { r.Bystander["change"].Failed = 1 }, "changes of an honest tenant go through"},
		{"an attacker sent nothing", func(r *report) { clear(r.Attackers[2].Counts) }, "every attack was made"},
		{"an attacker is missing", func(r *report) { r.Attackers = r.Attackers[1:] }, "every attack was made"},
		{"a token of another vendor", func(r *report) { r.Attackers[0].Counts["token of another vendor"] = 1 }, "no attack got what it must not get"},
		{"a smuggled request", func(r *report) { r.Attackers[9].Counts["smuggled request served"] = 1 }, "no attack got what it must not get"},
	} {
		rep := goodReport()
		c.plant(rep)
		rep.evaluate(checked, attack.Kinds())
		var found []string
		for _, got := range rep.Checks {
			if got.Violation != "" {
				found = append(found, got.Name)
			}
		}
		if len(found) != 1 || found[0] != c.check || rep.Violations != 1 {
			t.Errorf("%s: found by %q, want %q", c.name, found, c.check)
		}
	}
}

func TestNoSampleIsAViolation(t *testing.T) {
	rep := goodReport()
	rep.Samples = 0
	rep.evaluate(checked, attack.Kinds())
	if rep.Violations != 3 { // The checks of the process, its memory and its files.
		t.Errorf("%+v", rep.Checks)
	}
}

// One pause of the machine does not decide, and a pair compares a window with the windows before and after it.
func TestPairs(t *testing.T) {
	rep := goodReport()
	rep.Pairs[1].Ratio = 50
	if c := rep.checkLatency(checked); c.Violation != "" {
		t.Error(c.Violation)
	}
	if m := median([]float64{1, 3}); m != 3 {
		t.Errorf("the median of two is %v", m)
	}
	auctions, bare := make([]driver.Histogram, 3), make([]driver.Histogram, 3)
	for i, d := range []time.Duration{10, 40, 20} {
		auctions[i].Record(d * time.Millisecond)
		bare[i].Record(time.Millisecond)
	}
	if p := pairOf(auctions, bare); p.Calm.Count != 2 || p.Calm.P99 != 20*time.Millisecond || p.Ratio != 2 || p.BareRatio != 1 {
		t.Errorf("%+v", p)
	}
}

func TestWhyAProcessEnded(t *testing.T) {
	for text, want := range map[string]string{
		"one\ngavel: accept4: too many open files\nstop: late\n":              "gavel: accept4: too many open files",
		"a\n{\"msg\":\"process_exiting\",\"stacks\":\"...\"}\nmore\nand more": `{"msg":"process_exiting","stacks":"..."}`,
		"panic: nil map\n\ngoroutine 1\nmain.go:1\n":                          "panic: nil map",
		"a\nb\nc\n": "b; c",
		"":          "",
	} {
		if got := lastLines(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
