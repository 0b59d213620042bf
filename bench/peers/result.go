package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// result is the result of a run.
type result struct {
	Machine  string
	Started  time.Time
	Rounds   int
	Versions map[string]string
	Cells    []*row
	Peers    []peerSummary
	Auctions []*row `json:",omitempty"`
	Skipped  []string
	Faults   []string
}

// row is the result of one cell over all rounds.
type row struct {
	Peer               string
	Batch, Connections int
	PerSecond          float64 // The median of the rounds, in a closed loop.
	PerSecondRounds    []float64
	CPUMicros          float64 // Of the peer's processes, for an event, in a closed loop.
	P50, P99           time.Duration
	OpenRate           float64       // Events a second of the open loop.
	OpenP50, OpenP99   time.Duration // Latency from the intended instant.
	OpenCPUMicros      float64
	LagP99             time.Duration // How late the generator woke in the open loop.
	GavelFaster        float64       // Gavel's events a second divided by the peer's.
	GavelCPU           float64       // Gavel's CPU of an event divided by the peer's.
	GavelP50           float64       // Gavel's p50 of the open loop divided by the peer's.
	closed, open       sample
}

// peerSummary is what a peer is and what the whole run cost it.
type peerSummary struct {
	Peer          string
	Version       string
	Durable       string
	Once          string
	Replicated    string
	Events        int64
	DiskPerEvent  float64 // Bytes that the directories of all nodes grew by, divided by the events.
	CountsCompare bool    // Its own count equals what was acknowledged.
}

func newResult(o *options) *result {
	return &result{Machine: machine(), Started: time.Now().UTC().Truncate(time.Second), Rounds: o.rounds, Versions: map[string]string{}}
}

// machine names the processor and the number of CPUs.
func machine() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // Where there is none, the architecture has to do.
	for line := range strings.Lines(string(text)) {
		if name, found := strings.CutPrefix(line, "model name"); found {
			return fmt.Sprintf("%s, %d CPUs", strings.Trim(name, "\t :\n"), runtime.NumCPU())
		}
	}
	return fmt.Sprintf("%s, %d CPUs", runtime.GOARCH, runtime.NumCPU())
}

// record adds the samples of a round.
func (r *result) record(c cell, closed, open *sample) {
	r.Cells = recordIn(r.Cells, c, closed, open)
}

func recordIn(rows []*row, c cell, closed, open *sample) []*row {
	i := slices.IndexFunc(rows, func(x *row) bool { return x.Peer == c.peer && x.Batch == c.batch && x.Connections == c.connections })
	if i < 0 {
		i = len(rows)
		rows = append(rows, &row{Peer: c.peer, Batch: c.batch, Connections: c.connections})
	}
	x := rows[i]
	x.PerSecondRounds = append(x.PerSecondRounds, perSecond(closed))
	x.OpenRate = max(x.OpenRate, perSecond(open))
	x.closed.add(closed)
	x.open.add(open)
	return rows
}

// finish computes what follows from the samples.
func (x *row) finish() {
	sorted := slices.Sorted(slices.Values(x.PerSecondRounds))
	x.PerSecond = sorted[len(sorted)/2]
	x.CPUMicros, x.OpenCPUMicros = cpuMicros(&x.closed), cpuMicros(&x.open)
	x.P50, x.P99 = x.closed.Latency.Quantile(.5), x.closed.Latency.Quantile(.99)
	x.OpenP50, x.OpenP99 = x.open.Latency.Quantile(.5), x.open.Latency.Quantile(.99)
	x.LagP99 = x.open.Lag.Quantile(.99)
}

func cpuMicros(s *sample) float64 {
	return float64(s.CPU.Microseconds()) / float64(max(s.Events, 1))
}

// conclude compares the peer's own count with what it acknowledged, and sums the run up.
func (r *result) conclude(ctx context.Context, s *started) error {
	got, err := s.count(ctx)
	if err != nil {
		return fmt.Errorf("reading what it has counted: %w", err)
	}
	after, err := diskUsage(s.dir)
	if err != nil {
		return err
	}
	different := compareCounts(s.name, got, s.acked, s.doubt)
	r.Faults = append(append(r.Faults, s.faults...), different...)
	r.Peers = append(r.Peers, peerSummary{
		Peer: s.name, Version: r.Versions[s.name], Durable: s.Durable, Once: s.Once, Replicated: s.Replicated, Events: s.acked.Events,
		DiskPerEvent: float64(after-s.disk) / float64(max(s.acked.Events, 1)), CountsCompare: len(different) == 0,
	})
	return nil
}

// compare finishes the rows and compares each peer with Gavel of as many nodes.
func (r *result) compare() {
	for _, x := range append(slices.Clone(r.Cells), r.Auctions...) {
		x.finish()
	}
	for _, x := range r.Cells {
		compareRow(x, rowOf(r.Cells, cell{gavelOf(peerNamed(x.Peer).nodes), x.Batch, x.Connections}))
	}
	for _, x := range r.Auctions {
		compareRow(x, rowOf(r.Auctions, cell{gavelOf(1), x.Batch, x.Connections}))
	}
	order := names()
	slices.SortStableFunc(r.Cells, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.Batch, b.Batch), cmp.Compare(a.Connections, b.Connections),
			cmp.Compare(slices.Index(order, a.Peer), slices.Index(order, b.Peer)))
	})
}

func rowOf(rows []*row, c cell) *row {
	i := slices.IndexFunc(rows, func(x *row) bool { return x.Peer == c.peer && x.Batch == c.batch && x.Connections == c.connections })
	if i < 0 {
		return nil
	}
	return rows[i]
}

// compareRow sets the ratios of a row. Without Gavel in the run, or with a figure of 0, they stay 0.
func compareRow(x, g *row) {
	if g == nil || x == g {
		return
	}
	ratio := func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	}
	x.GavelFaster = ratio(g.PerSecond, x.PerSecond)
	x.GavelCPU = ratio(g.CPUMicros, x.CPUMicros)
	x.GavelP50 = ratio(float64(g.OpenP50), float64(x.OpenP50))
}

// write prints the result for people.
func (r *result) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(format string, a ...any) { _, _ = fmt.Fprintf(t, format+"\n", a...) } // Flush returns the error.
	line("%s; %d rounds; %s", r.Machine, r.Rounds, r.Started.Format(time.RFC3339))
	const head = "\tin a request\tconnections\tevents/s\tCPU µs\tp50\tp99\topen loop/s\tp50\tp99\tCPU µs\tGavel: faster\tCPU\tp50"
	if len(r.Cells) > 0 {
		line("\n" + head)
	}
	for _, x := range r.Cells {
		x.write(line)
	}
	if len(r.Auctions) > 0 {
		line("\nauctions" + head)
	}
	for _, x := range r.Auctions {
		x.write(line)
	}
	if len(r.Peers) > 0 {
		line("\n\tdurable after the answer\ta repeat is recognised\treplicated\tevents\tdisk bytes an event\town count\tversion")
	}
	for _, p := range r.Peers {
		line("%s\t%s\t%s\t%s\t%d\t%.0f\t%s\t%s", p.Peer, p.Durable, p.Once, p.Replicated, p.Events, p.DiskPerEvent,
			map[bool]string{true: "equal", false: "DIFFERENT"}[p.CountsCompare], p.Version)
	}
	for _, s := range r.Skipped {
		line("SKIPPED: %s", s)
	}
	for _, f := range r.Faults {
		line("FAULT: %s", f)
	}
	return t.Flush()
}

func (x *row) write(line func(string, ...any)) {
	ratio := func(v float64) string {
		if v == 0 {
			return "-"
		}
		return fmt.Sprintf("%.2f", v)
	}
	micros := func(d time.Duration) time.Duration { return d.Round(time.Microsecond) }
	line("%s\t%d\t%d\t%.0f\t%.1f\t%v\t%v\t%.0f\t%v\t%v\t%.1f\t%s\t%s\t%s", x.Peer, x.Batch, x.Connections, x.PerSecond, x.CPUMicros,
		micros(x.P50), micros(x.P99), x.OpenRate, micros(x.OpenP50), micros(x.OpenP99), x.OpenCPUMicros,
		ratio(x.GavelFaster), ratio(x.GavelCPU), ratio(x.GavelP50))
}

func (r *result) writeJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
