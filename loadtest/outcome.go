package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

// outcome is the report of a run. Durations are nanoseconds in JSON.
type outcome struct {
	Scenario     string
	Workers      int
	Elapsed      time.Duration
	Requests     int64
	Status       map[int]int64 // Answers by status; 0: there was no answer.
	Clicks       int64         // Acknowledged before the clock stopped; each is a charge.
	Events       int64         // Acknowledged before the clock stopped, of all kinds.
	Settled      int           // Unknown outcomes that a repeat resolved, after the clock stopped.
	Checked      int64         // Answers decoded and checked in full.
	Latency      map[string]time.Duration
	Lag          map[string]time.Duration // How late idle workers woke: the generator's own error.
	GeneratorCPU time.Duration
	ServerCPU    time.Duration // 0 without --pid.
	Starved      bool          // The tokens ran out before the plan ended.
	Charged      int64         // Clicks charged in this run, by the node's reports.
	Compared     bool          // The reports were read and compared.
	Faults       []string      // Wrong answers, refusals, differences between reports and acknowledgements.
	Missed       []string      // Targets missed.
	Kinds        []kindLatency
	BareRatio    float64 // The p99 of all requests divided by that of the bare server; 0 without one.
	Intervals    []intervalLatency
	Targets      []targetLatency `json:",omitempty"` // Of several listeners.
	Pages        []pageWinners   `json:",omitempty"`
	// Freshness is the time from an acknowledgement to a report that has it; empty without --fresh.
	Freshness map[string]time.Duration `json:",omitempty"`

	total    *tally
	timeline *timeline
	observed []usage
	settings *config
}

// points are the quantiles in the report.
var points = []struct {
	name string
	q    float64
}{{"p50", .5}, {"p90", .9}, {"p99", .99}, {"p99.9", .999}, {"p99.99", .9999}, {"max", 1}}

// fill sets the report from the tally of all workers. Rates divide by the time until the last answer, not by the planned duration.
func (o *outcome) fill(start time.Time, t *tally) {
	o.total = t
	o.Elapsed = t.finished.Sub(start)
	o.Requests, o.Status, o.Checked, o.Starved = t.sent, t.status, t.checked, t.starved
	o.Clicks = t.acked.Clicks
	o.Events = t.acked.Clicks + t.acked.Impressions + t.others
	o.Latency, o.Lag = map[string]time.Duration{}, map[string]time.Duration{}
	for _, p := range points {
		o.Latency[p.name], o.Lag[p.name] = t.latency.Quantile(p.q), t.lag.Quantile(p.q)
	}
	o.Pages = t.pages
	o.Faults = append(append(o.Faults, t.wrong...), t.withoutWinners()...)
}

// fillFreshness adds how long reports lagged behind.
func (o *outcome) fillFreshness(lag *driver.Histogram) {
	o.Freshness = map[string]time.Duration{}
	for _, p := range points {
		o.Freshness[p.name] = lag.Quantile(p.q)
	}
}

// compare compares the reports with everything that was acknowledged, repeats included.
func (o *outcome) compare(before, after driver.Totals) {
	o.Compared = true
	o.Charged = after.ChargedClicks - before.ChargedClicks
	o.Faults = append(o.Faults, driver.CompareTotals(before, after, o.total.acked)...)
}

// lagMax is the p99 of how late idle workers wake above which the latencies are partly the generator's own.
const lagMax = time.Millisecond

// checkTargets checks the targets.
func (o *outcome) checkTargets(cfg *config) {
	for _, s := range cfg.slo {
		if !s.Met(&o.total.latency) {
			o.Missed = append(o.Missed, fmt.Sprintf("%s is %v, target %v", s.Name, o.total.latency.Quantile(s.Quantile), s.Limit))
		}
	}
}

func (o *outcome) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(o)
	}
	_, err := io.WriteString(w, o.text())
	return err
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Microsecond) }

func (o *outcome) text() string {
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	seconds := o.Elapsed.Seconds()
	line("scenario           %s, %d workers, %.2f s", o.Scenario, o.Workers, seconds)
	line("requests           %d (%.0f/s)", o.Requests, float64(o.Requests)/seconds)
	line("charges acked      %d (%.0f/s)", o.Clicks, float64(o.Clicks)/seconds)
	line("events acked       %d (%.0f/s)", o.Events, float64(o.Events)/seconds)
	for _, status := range slices.Sorted(maps.Keys(o.Status)) {
		name := strconv.Itoa(status)
		if status == 0 {
			name = "no answer"
		}
		line("  answered %-9s %d", name, o.Status[status])
	}
	line("unknown, resolved  %d", o.Settled)
	for _, p := range points {
		line("latency %-10s %v", p.name, rounded(o.Latency[p.name]))
	}
	for _, k := range o.Kinds {
		line("  %-16s %d, p50 %v, p99 %v, longest %v", k.Kind, k.Requests, rounded(k.Latency["p50"]), rounded(k.Latency["p99"]), rounded(k.Latency["max"]))
	}
	for _, t := range o.Targets {
		line("  %-16s %d, p50 %v, p99 %v, longest %v", t.URL, t.Requests, rounded(t.Latency["p50"]), rounded(t.Latency["p99"]), rounded(t.Latency["max"]))
	}
	for _, p := range o.Pages {
		line("winners %-10s %d in %d answers", p.Page, p.Winners, p.Requests)
	}
	if o.Freshness != nil {
		line("event to report    p50 %v, p99 %v, longest %v", rounded(o.Freshness["p50"]), rounded(o.Freshness["p99"]), rounded(o.Freshness["max"]))
	}
	if o.BareRatio > 0 {
		line("p99 / bare server  %.2f", o.BareRatio)
	}
	line("generator lag p99  %v", rounded(o.Lag["p99"]))
	line("generator CPU      %v (%.2f cores)", o.GeneratorCPU.Round(time.Millisecond), o.GeneratorCPU.Seconds()/seconds)
	if o.ServerCPU > 0 {
		perRequest := o.ServerCPU / time.Duration(max(o.Requests, 1))
		line("server CPU         %v (%.2f cores, %v a request)", o.ServerCPU, o.ServerCPU.Seconds()/seconds, perRequest)
	}
	if o.Lag["p99"] > lagMax {
		line("the generator woke late, so these latencies are partly its own")
	}
	if o.Starved {
		line("the tokens ran out before the end of the duration; ask for more with --tokens")
	}
	line("answers checked    %d", o.Checked)
	if o.Compared {
		line("charged, reported  %d", o.Charged)
	}
	for _, f := range o.Faults {
		line("FAULT   %s", f)
	}
	for _, m := range o.Missed {
		line("MISSED  %s", m)
	}
	if o.Compared && len(o.Faults) == 0 {
		line("the reports agree with what was acknowledged")
	}
	return b.String()
}
