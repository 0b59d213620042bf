//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
	"github.com/gavel-ads/gavel/loadtest/hostile/attack"
)

// report is the result of a run. Durations are nanoseconds in JSON.
type report struct {
	Options    runOptions
	Machine    machine
	LoadBefore string // Load average.
	LoadAfter  string
	LimitedBy  string  // The environment variable that set the memory limit.
	Peak       float64 // Requests a second of the storefront in a closed loop; 0 when the rate was given.
	Rate       float64 // Requests of the storefront a second.

	Ended     string // How the process ended before the run ended it; empty: it did not.
	Killed    string // Why the run killed it; empty: it did not.
	Samples   int
	PeakRSS   int64
	PeakFiles int

	Auctions, EventBodies map[int]int64 // Answers by status; 0: there was no answer.
	EventsUnsent          int64         // Bodies of events for which no connection was free.
	Refused               []string      // The first refusals and wrong answers.
	Checked               int64         // Answers decoded and checked in full.
	Lag                   time.Duration // p99 of how late idle workers of the storefront woke.
	First                 quantiles     // The window before the first attack.
	Calm, Attacked        quantiles     // All windows together.
	Pairs                 []pair

	Events       int64 // Acknowledged impressions and clicks.
	Settled      int   // Bodies of unknown outcome that a repeat resolved.
	EventsRead   bool
	EventsNote   string
	EventsDiffer []string
	Audits       []auditLine

	Bystander       map[string]*attempts
	BystanderChange time.Duration // The slowest change of the bystander.
	BystanderSlow   []slowTry
	Attackers       []attack.Result

	Checks     []check
	Violations int
}

// runOptions are the settings that a reader of the report needs.
type runOptions struct {
	AttackMinutes float64
	Pairs         int
	Seed          uint64
	Files         int
	MemoryBytes   int64
	Connections   int
	Workers       int
	Quick         bool
	Only          []string `json:",omitempty"`
}

func summary(o options) runOptions {
	return runOptions{o.length.Minutes(), o.pairs, o.seed, o.files, o.memory, o.connections, o.workers, o.quick, o.only}
}

// quantiles are those of the latencies of auctions, and of the bare server in the same time.
type quantiles struct {
	Count             int64
	P50, P99, P999    time.Duration
	BareP50, BareP99  time.Duration
	histogram, bareOf *driver.Histogram
}

func quantilesOf(auctions, bare *driver.Histogram) quantiles {
	return quantiles{
		auctions.Count(), auctions.Quantile(.5), auctions.Quantile(.99), auctions.Quantile(.999),
		bare.Quantile(.5), bare.Quantile(.99), auctions, bare,
	}
}

// pair is a window with attackers beside the windows without them before and after it.
type pair struct {
	Calm, Attacked   quantiles
	Ratio, BareRatio float64 // The ratios of the p99.
}

// auditLine is the comparison of one audit log with the changes that were answered 2xx.
type auditLine struct {
	Marketplace string
	Changes     int // Changes that were answered 2xx.
	Read        bool
	Lost        int
	Unanswered  int      // Entries that do not say what was answered.
	Some        []string `json:",omitempty"`
	Note        string   `json:",omitempty"`
}

// fill sets the report from what was measured.
func (rep *report) fill(windows []window, t *tally, b *bare, by *bystander) {
	rep.Auctions, rep.EventBodies, rep.Refused, rep.Checked, rep.Lag = t.auctions, t.events, t.refused, t.checked, t.lag.Quantile(.99)
	rep.EventsUnsent = t.unsent
	rep.Bystander, rep.BystanderChange, rep.BystanderSlow = by.done, by.changes.Max(), by.slow
	var all [2][2]driver.Histogram // First without, then with attackers; first of auctions, then of the bare server.
	for i, w := range windows {
		k := 0
		if w.Attack {
			k = 1
			rep.Pairs = append(rep.Pairs, pairOf(t.latency[i-1:i+2], b.latency[i-1:i+2]))
		}
		all[k][0].Merge(&t.latency[i])
		all[k][1].Merge(&b.latency[i])
	}
	rep.First = quantilesOf(&t.latency[0], &b.latency[0])
	rep.Calm, rep.Attacked = quantilesOf(&all[0][0], &all[0][1]), quantilesOf(&all[1][0], &all[1][1])
}

// pairOf compares the middle one of three windows with the other two together.
func pairOf(auctions, bare []driver.Histogram) pair {
	var calm, calmBare driver.Histogram
	for _, i := range []int{0, 2} {
		calm.Merge(&auctions[i])
		calmBare.Merge(&bare[i])
	}
	p := pair{Calm: quantilesOf(&calm, &calmBare), Attacked: quantilesOf(&auctions[1], &bare[1])}
	p.Ratio, p.BareRatio = ratio(p.Attacked.P99, p.Calm.P99), ratio(p.Attacked.BareP99, p.Calm.BareP99)
	return p
}

// ratio is 0 when either side has no latencies.
func ratio(a, b time.Duration) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func (rep *report) write(path string, stdout io.Writer) error {
	if path != "-" {
		rep.text(stdout)
	}
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(rep, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if path == "-" {
		_, err = stdout.Write(text)
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// text prints the report for people.
func (rep *report) text(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(format string, a ...any) { _, _ = fmt.Fprintf(t, format+"\n", a...) } // A failed write to a closed terminal does not matter.
	m, o := rep.Machine, rep.Options
	line("machine: %s, %d cores, load average %s before, %s after, %s, tree at %s, node %s", m.CPU, m.Cores, rep.LoadBefore, rep.LoadAfter, m.Go, m.Commit, m.Version)
	line("%.3g minutes under attack in %d windows, seed %d, %d files, %d MiB by %s", o.AttackMinutes, o.Pairs, o.Seed, o.Files, o.MemoryBytes>>20, rep.LimitedBy)
	line("peak %.0f requests a second; storefront %.0f requests a second, %d workers, woken late by %v at p99", rep.Peak, rep.Rate, o.Workers, round(rep.Lag))
	line("\nattacker\titem\tcounts")
	for _, a := range rep.Attackers {
		var counts []string
		for _, name := range slices.Sorted(maps.Keys(a.Counts)) {
			counts = append(counts, fmt.Sprintf("%s %d", name, a.Counts[name]))
		}
		line("%s\t%d\t%s", a.Name, a.Item, strings.Join(counts, ", "))
		for _, e := range a.Errors {
			line("\t\t  %.200s", e)
		}
	}
	line("\nhonest tenant\ttried\tunder attack\tfailed\trepeated\tthe first failure")
	for _, kind := range slices.Sorted(maps.Keys(rep.Bystander)) {
		b := rep.Bystander[kind]
		line("%s\t%d\t%d\t%d\t%d\t%s", kind, b.Tried, b.Attacked, b.Failed, b.Repeated, b.First)
		for _, reason := range slices.Sorted(maps.Keys(b.Reasons)) {
			line("\t\t\t\t%d\t%s", b.Reasons[reason], reason)
		}
	}
	line("its slowest change took %v; %d operations took %v or longer", round(rep.BystanderChange), len(rep.BystanderSlow), slowFrom)
	for _, s := range rep.BystanderSlow {
		line("  %s\t%v after the start\t%v", s.Kind, s.At.Round(time.Second), s.Took.Round(time.Millisecond))
	}
	line("\nauctions\tcount\tp50\tp99\tp99.9\tbare server p50\tbare server p99\tratio of p99\tof the bare server")
	row := func(name string, q quantiles, r, b float64) {
		line("%s\t%d\t%v\t%v\t%v\t%v\t%v\t%.2f\t%.2f", name, q.Count, round(q.P50), round(q.P99), round(q.P999), round(q.BareP50), round(q.BareP99), r, b)
	}
	for i, p := range rep.Pairs {
		row(fmt.Sprintf("pair %d, without", i+1), p.Calm, 1, 1)
		row(fmt.Sprintf("pair %d, attacked", i+1), p.Attacked, p.Ratio, p.BareRatio)
	}
	row("all, without", rep.Calm, 1, 1)
	row("all, attacked", rep.Attacked, ratio(rep.Attacked.P99, rep.Calm.P99), ratio(rep.Attacked.BareP99, rep.Calm.BareP99))
	line("\nauctions answered %s; bodies of events answered %s, %d not sent because no connection was free; %d answers checked in full",
		statuses(rep.Auctions), statuses(rep.EventBodies), rep.EventsUnsent, rep.Checked)
	line("\ncheck\texercised\tresult\t")
	for _, c := range rep.Checks {
		result := "holds"
		if c.Violation != "" {
			result = "VIOLATED"
		}
		line("%s\t%d\t%s\t%s", c.Name, c.Exercised, result, c.Note)
	}
	_ = t.Flush() // As above.
	for _, c := range rep.Checks {
		if c.Violation != "" {
			_, _ = fmt.Fprintf(w, "\nVIOLATION: %s\n  %s\n", c.Name, c.Violation)
		}
	}
	_, _ = fmt.Fprintf(w, "\n%d violations\n", rep.Violations)
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

func statuses(by map[int]int64) string {
	var all []string
	for _, status := range slices.Sorted(maps.Keys(by)) {
		name := strconv.Itoa(status)
		if status == 0 {
			name = "no answer"
		}
		all = append(all, fmt.Sprintf("%s: %d", name, by[status]))
	}
	return strings.Join(all, ", ")
}
