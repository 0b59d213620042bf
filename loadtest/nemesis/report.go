//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/gavel-ads/gavel/loadtest/nemesis/check"
	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

// searchMax bounds the search for a linearization of one part of the history.
const searchMax = 20 * time.Second

// report is the result of a run. Durations are milliseconds in JSON.
type report struct {
	Seed          uint64                    `json:"seed"`
	Nodes         int                       `json:"nodes"`
	Minutes       float64                   `json:"minutes"`
	Operations    map[string]map[string]int `json:"operations"` // Kind, then outcome, then how many.
	Events        int                       `json:"events"`     // Acknowledged, repeats included.
	Charged       int64                     `json:"charged"`
	Uncharged     int64                     `json:"uncharged"` // Reported tokens for which no money was left.
	Faults        map[string]faultLine      `json:"faults"`
	Exits         int                       `json:"expectedExits"`
	StallExits    int                       `json:"exitsOfAHungMachine"` // The disk of this machine hung, by the disk probe.
	SlowestSync   float64                   `json:"slowestSyncMillis"`   // Of the disk probe, whose disk no fault is injected into.
	MachineHung   float64                   `json:"machineHungMillis"`   // All stalls that the disk probe saw, of the disk and of the processors.
	UnknownBodies int                       `json:"unknownBodies"`
	Resolved      int                       `json:"unknownBodiesResolved"`
	Checks        []check.Result            `json:"checks"`
	Violations    int                       `json:"violations"`
	KeptIn        string                    `json:"kept,omitempty"` // The directory of logs and history.
}

// faultLine sums up the faults of one kind: how many, and how long the slowest small write took that began while one was in force.
type faultLine struct {
	Count          int     `json:"count"`
	Alone          int     `json:"alone"` // Faults without another beside them; only these count in the write gaps.
	GapMedian      float64 `json:"writeGapMedianMillis"`
	GapP99         float64 `json:"writeGapP99Millis"`
	GapMax         float64 `json:"writeGapMaxMillis"`
	Worst          string  `json:"worst"` // The fault with that gap.
	Auctions       int     `json:"auctionsOnLiveNodes"`
	AuctionsFailed int     `json:"auctionsFailed"`
}

// evaluate runs every check on the history and sums up the run. Without a final state the checks that need one are left out.
func (r *run) evaluate(final *check.FinalState) *report {
	h := r.h
	check.Measure(h)
	rep := &report{Seed: r.o.seed, Nodes: r.o.nodes, Minutes: r.o.length.Minutes(), Operations: operations(h), Faults: faultLines(h)}
	rep.Checks = []check.Result{
		check.Findings(h), check.Unknown(h), check.Serving(h), check.Full(h), check.Digests(h), check.Reads(h),
		check.Linearizable(h, searchMax), check.Stale(h, r.o.staleness, r.o.slack),
	}
	rep.Checks = append(rep.Checks, check.Writable(h, r.o.nodes, bounds())...)
	if final != nil {
		rep.Checks = append(rep.Checks, check.Events(h, final), check.Charges(h, final), check.Balances(h, final),
			check.Overdelivery(h, final, r.o.staleness, r.o.slack), check.Sales(h, final), check.PurchaseCharges(h, final),
			check.Reversals(h), check.Sums(h, final))
		rep.countCharges(h, final)
	}
	if r.audits != nil {
		rep.Checks = append(rep.Checks, *r.audits)
	}
	for i := range rep.Checks {
		rep.Checks[i].RequireCompared()
		rep.Violations += rep.Checks[i].Count
	}
	for _, b := range h.Bodies {
		if b.Acked != history.Never {
			rep.Events += len(b.Events)
		}
		if b.Unknown > 0 {
			rep.UnknownBodies++
			if b.Acked != history.Never {
				rep.Resolved++
			}
		}
	}
	for _, n := range r.supervisor.nodes {
		rep.Exits += n.faultExits
		rep.StallExits += n.stallExits
	}
	rep.SlowestSync = millisOf(r.supervisor.diskProbe.slowestSync())
	for _, s := range h.Stalls {
		rep.MachineHung += millisOf(s.Until - s.From)
	}
	return rep
}

// countCharges counts how many reported tokens were charged and how many were not.
func (rep *report) countCharges(h *history.History, final *check.FinalState) {
	reported := map[*history.Token]bool{}
	for _, b := range h.Bodies {
		for _, e := range b.Events {
			if e.Pays() {
				reported[e.Token] = true
			}
		}
	}
	for _, r := range final.Reports {
		for _, n := range r.Charged {
			rep.Charged += n
		}
	}
	rep.Uncharged = int64(len(reported)) - rep.Charged
}

// operations counts the operations of each kind by outcome.
func operations(h *history.History) map[string]map[string]int {
	all := map[string]map[string]int{}
	count := func(kind string, outcome fmt.Stringer, n int) {
		if all[kind] == nil {
			all[kind] = map[string]int{}
		}
		all[kind][outcome.String()] += n
	}
	for _, b := range h.Bodies {
		outcome := history.OK
		if b.Acked == history.Never {
			outcome = history.Unknown
		}
		count("event bodies", outcome, 1)
		count("event attempts", history.Unknown, b.Unknown)
		count("event attempts", history.OK, b.Attempts-b.Unknown)
		for _, e := range b.Events {
			if e.Array == history.Purchase {
				count(map[bool]string{false: "purchases", true: "returns"}[e.ReturnOf != nil], outcome, 1)
			}
		}
	}
	for _, c := range h.Changes {
		count("budget changes", c.Outcome, 1)
	}
	for _, p := range h.Payments {
		kind := "deposits"
		if p.Amount < 0 {
			kind = "burns"
		}
		count(kind, p.Outcome, 1)
	}
	for _, x := range h.Reversed {
		count("reversals", x.Outcome, 1)
	}
	for _, a := range h.Auctions {
		outcome := history.OK
		if a.Status != 201 {
			outcome = history.Unknown
		}
		count("auctions watched", outcome, 1)
	}
	count("reads", history.OK, len(h.Budgets)+len(h.Wallets)+len(h.Reports))
	return all
}

// faultLines sums up the faults of each kind.
func faultLines(h *history.History) map[string]faultLine {
	lines := map[string]faultLine{}
	gaps, shares := check.Gaps(h), check.FailedAuctions(h)
	for _, f := range h.Faults {
		l := lines[f.Kind]
		l.Count++
		if worst := millisOf(f.Gap); f.Alone && worst >= l.GapMax {
			l.GapMax, l.Worst = worst, fmt.Sprintf("%s at %v", f.Target, f.Begin.Round(time.Second))
		}
		lines[f.Kind] = l
	}
	for kind, l := range lines {
		l.Alone = len(gaps[kind])
		l.GapMedian, l.GapP99 = millis(gaps[kind], 0.5), millis(gaps[kind], 0.99)
		l.Auctions, l.AuctionsFailed = shares[kind].Asked, shares[kind].Failed
		lines[kind] = l
	}
	return lines
}

// millis is a quantile of ascending durations in milliseconds: the least one that at least this share of them does not exceed.
func millis(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := int(share * float64(len(sorted)))
	if float64(at) == share*float64(len(sorted)) && at > 0 {
		at--
	}
	return millisOf(sorted[at])
}

func millisOf(d time.Duration) float64 { return float64(d.Microseconds()) / 1_000 }

// write prints the report for people.
func (rep *report) write(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(format string, a ...any) { _, _ = fmt.Fprintf(t, format+"\n", a...) } // A failed write to a closed terminal does not matter.
	line("\nnemesis: %d nodes, %.3g minutes, seed %d", rep.Nodes, rep.Minutes, rep.Seed)
	line("\noperations\tok\trefused\tunknown")
	for _, kind := range slices.Sorted(maps.Keys(rep.Operations)) {
		of := rep.Operations[kind]
		line("%s\t%d\t%d\t%d", kind, of["ok"], of["refused"], of["unknown"])
	}
	line("\n%d events acknowledged, %d tokens charged, %d reported with nothing left to charge", rep.Events, rep.Charged, rep.Uncharged)
	line("%d bodies had an unknown outcome for a time, %d of them were resolved by retry", rep.UnknownBodies, rep.Resolved)
	line("%d times a process ended itself as a fault of its disk requires, %d times because this machine's disk hung, whose slowest sync took %.0f ms",
		rep.Exits, rep.StallExits, rep.SlowestSync)
	line("the machine itself hung for %.0f ms: syncs of %v and more, sleeps that ended %v or more late", rep.MachineHung, stallAfter, lateAfter)
	line("\nfault\tcount\talone\twrite gap p50 ms\tp99\tmax\tauctions on live nodes\tfailed\tthe longest gap")
	for _, kind := range slices.Sorted(maps.Keys(rep.Faults)) {
		f := rep.Faults[kind]
		line("%s\t%d\t%d\t%.0f\t%.0f\t%.0f\t%d\t%d\t%s", kind, f.Count, f.Alone, f.GapMedian, f.GapP99, f.GapMax, f.Auctions, f.AuctionsFailed, f.Worst)
	}
	line("\ncheck\tcompared\tviolations\t")
	for _, v := range rep.Checks {
		line("%s\t%d\t%d\t%s", v.Check, v.Checked, v.Count, v.Note)
	}
	_ = t.Flush() // As above.
	for _, v := range rep.Checks {
		for _, f := range v.Violations {
			_, _ = fmt.Fprintf(w, "\nVIOLATION: %s\n  %s\n", v.Check, f)
		}
	}
	if rep.KeptIn != "" {
		_, _ = fmt.Fprintf(w, "\nlogs and history: %s\n", rep.KeptIn)
	}
}

func (rep *report) writeJSON(path string, stdout io.Writer) error {
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

// archive writes the history beside the logs when a check was violated or --keep was given, and removes a temporary directory otherwise.
func (r *run) archive(rep *report) error {
	if rep.Violations == 0 && !r.o.keep {
		if r.o.dir == "" {
			return os.RemoveAll(r.dir)
		}
		return nil
	}
	rep.KeptIn = r.dir
	f, err := os.OpenFile(filepath.Join(r.dir, "history.jsonl"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(r.h.Dump(f), f.Close(), rep.writeJSON(filepath.Join(r.dir, "report.json"), nil))
}
