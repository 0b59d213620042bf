package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // A part of the error; empty: there is none.
	}{
		{"", ""},
		{"-peers redis,etcd-3 -connections 1,64 -batches 50 -rounds 1", ""},
		{"-peers redis,oracle", `no peer "oracle"`},
		{"-connections 65", `"65": want numbers from 1 to 64`},
		{"-batches 0,50", `"0": want numbers from 1 to 50`},
		{"-rounds 0", "must be above 0"},
		{"-peer-url http://127.0.0.1:1/a", "belong together"},
		{"more", `unexpected argument "more"`},
	} {
		_, err := parse(strings.Fields(c.args), &strings.Builder{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: got %v, want %q", c.args, err, c.want)
		}
	}
}

// In each round every peer is measured in every cell, and another peer is the first.
func TestSchedule(t *testing.T) {
	peers := []string{"a", "b", "c"}
	firsts := map[string]bool{}
	for round := range 3 {
		all := schedule(peers, []int{1, 50}, []int{16, 64}, round)
		seen := map[cell]bool{}
		for i, c := range all {
			seen[c] = true
			if i%3 == 0 {
				firsts[c.peer] = true
			}
			if first := all[i/3*3]; c.batch != first.batch || c.connections != first.connections {
				t.Errorf("round %d: %+v is not beside %+v", round, c, first)
			}
		}
		if len(all) != 12 || len(seen) != 12 {
			t.Errorf("round %d has %d cells, %d of them different", round, len(all), len(seen))
		}
	}
	if len(firsts) != 3 {
		t.Errorf("only %v are ever first", firsts)
	}
}

// A peer that has lost or repeated something is found.
func TestCountsAreCompared(t *testing.T) {
	acked := counts{100, 100}
	for _, c := range []struct {
		got   counts
		doubt int64
		want  int
	}{
		{counts{100, 100}, 0, 0},
		{counts{99, 99}, 0, 2},
		{counts{100, 99}, 0, 1},
		{counts{100, 101}, 0, 1},
		{counts{101, 101}, 1, 0},
		{counts{102, 101}, 1, 1},
	} {
		if faults := compareCounts("p", c.got, acked, c.doubt); len(faults) != c.want {
			t.Errorf("%+v with %d in doubt: %q", c.got, c.doubt, faults)
		}
	}
}

// scripted is a client that takes a time for each request, and charges less, fails or repeats as told.
type scripted struct {
	takes    time.Duration
	short    int // How many events of each request are not charged.
	fails    int // The number of the request that fails; 0: none.
	again    bool
	requests atomic.Int64
}

var errScripted = errors.New("scripted")

func (c *scripted) charge(n int) (int, error) {
	time.Sleep(c.takes)
	if c.requests.Add(1) == int64(c.fails) {
		return 0, errScripted
	}
	return n - c.short, nil
}

func (c *scripted) repeat() error {
	if c.again {
		return errRepeatCharged
	}
	return nil
}

func (c *scripted) close() {}

func measured(t *testing.T, clients []client, rate string, batch int) *sample {
	t.Helper()
	var reads time.Duration
	m := &meter{clients: clients, batch: batch, cpu: func() (time.Duration, error) {
		reads += 30 * time.Millisecond
		return reads, nil
	}}
	plan, err := driver.ParsePlan(rate, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.run(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A request that had to wait for a free connection has waited since it was due.
func TestOpenLoopCountsFromTheIntendedInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast := measured(t, []client{&scripted{takes: time.Millisecond}}, "100", 1)
		if p := fast.Latency.Max(); fast.Events != 100 || p != time.Millisecond {
			t.Errorf("%d events, the slowest took %v", fast.Events, p)
		}
		// 100 requests a second on one connection that needs 20 ms for each: the last one waits for a second.
		slow := measured(t, []client{&scripted{takes: 20 * time.Millisecond}}, "100", 1)
		if p := slow.Latency.Max(); slow.Events != 100 || p != 1010*time.Millisecond || slow.Elapsed != 2*time.Second {
			t.Errorf("%d events in %v, the slowest took %v", slow.Events, slow.Elapsed, p)
		}
	})
}

func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := measured(t, []client{&scripted{takes: 10 * time.Millisecond}, &scripted{takes: 10 * time.Millisecond}}, "0", 50)
		if s.Events != 2*100*50 || s.CPU != 30*time.Millisecond || perSecond(s) != 10_000 || s.Latency.Quantile(.99) < 10*time.Millisecond {
			t.Errorf("%d events, %v CPU, %v a second", s.Events, s.CPU, perSecond(s))
		}
	})
}

// What is not charged, and what fails, is counted as such and is a fault of the run.
func TestFaultsOfAPeerAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cell{"redis", 5, 1}
		s := &started{candidate: peerNamed("redis")}
		s.tally(c, measured(t, []client{&scripted{takes: 10 * time.Millisecond, short: 1}}, "0", 5))
		if s.acked != (counts{500, 400}) || s.doubt != 0 || len(s.faults) != 1 || !strings.Contains(s.faults[0], "100 events were not charged") {
			t.Errorf("%+v %q", s.acked, s.faults)
		}
		s = &started{candidate: peerNamed("redis")}
		s.tally(c, measured(t, []client{&scripted{takes: 10 * time.Millisecond, fails: 3}}, "0", 5))
		if s.acked != (counts{10, 10}) || s.doubt != 5 || len(s.faults) != 1 || !strings.Contains(s.faults[0], "scripted") {
			t.Errorf("%+v, %d in doubt, %q", s.acked, s.doubt, s.faults)
		}
		warm := (&meter{clients: []client{&scripted{}, &scripted{again: true}}, batch: 5}).warm()
		if !errors.Is(warm.Failure, errRepeatCharged) || warm.Events != 10 {
			t.Errorf("%d events, %v", warm.Events, warm.Failure)
		}
		used := &sample{}
		if used.send(usedUp{}, 5) || used.Unknown != 0 || used.Failure != nil {
			t.Errorf("that tokens are used up is a fault: %+v", used.Failure)
		}
	})
}

type usedUp struct{}

func (usedUp) charge(int) (int, error) { return 0, errUsedUp }
func (usedUp) repeat() error           { return nil }
func (usedUp) close()                  {}

func TestCPUOfAProcessTree(t *testing.T) {
	text := "17 (post master) S 1 17 17 0 -1 4194560 100 200 0 0 5 7 11 13 20 0 1 0 100 0"
	u, err := parseStat([]byte(text))
	if err != nil || u != (usage{1, 360 * time.Millisecond}) {
		t.Errorf("%+v %v", u, err)
	}
	if _, err := parseStat([]byte("17 (short) S 1")); err == nil {
		t.Error("a line without times is read")
	}
	all := map[int]usage{1: {0, 1}, 17: {1, 10}, 18: {17, 100}, 19: {18, 1_000}, 20: {1, 10_000}}
	for _, c := range []struct {
		roots []int
		want  time.Duration
	}{{[]int{17}, 1_110}, {[]int{17, 20}, 11_110}, {[]int{17, 18}, 1_110}, {nil, 0}} {
		if sum, err := sumTree(all, c.roots); err != nil || sum != c.want {
			t.Errorf("%v: %d %v, want %d", c.roots, sum, err, c.want)
		}
	}
	if _, err := sumTree(all, []int{21}); err == nil {
		t.Error("a root that does not exist is no error")
	}
}

func TestDiskUsage(t *testing.T) {
	dir := t.TempDir()
	if n, err := diskUsage(dir); err != nil || n != 0 {
		t.Errorf("an empty directory has %d bytes, %v", n, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "b", "file"), make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	// Some file systems allocate when they write back, so that a new file may have no blocks yet.
	if n, err := diskUsage(dir); err != nil || n != 0 && (n < 100_000 || n > 200_000) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// events are samples of a peer with so many events in a second, each of which took a time and some CPU.
func events(n int64, latency, cpu time.Duration) *sample {
	s := &sample{Events: n, Elapsed: time.Second, CPU: time.Duration(n) * cpu}
	s.Latency.Record(latency)
	return s
}

// The ratios say how much faster Gavel is, and what it costs, against Gavel of as many nodes.
func TestRatios(t *testing.T) {
	r := &result{Versions: map[string]string{}}
	for _, c := range []struct {
		peer    string
		closed  [3]int64 // Of three rounds.
		latency time.Duration
		cpu     time.Duration
	}{
		{"redis", [3]int64{1_000, 5_000, 2_000}, time.Millisecond, 20 * time.Microsecond},
		{"gavel", [3]int64{3_000, 3_000, 9_000}, 2 * time.Millisecond, 10 * time.Microsecond},
		{"etcd-3", [3]int64{100, 100, 100}, 10 * time.Millisecond, 500 * time.Microsecond},
		{"gavel-3", [3]int64{1_000, 1_000, 1_000}, 5 * time.Millisecond, 50 * time.Microsecond},
	} {
		for _, n := range c.closed {
			r.record(cell{c.peer, 1, 16}, events(n, c.latency, c.cpu), events(500, c.latency, c.cpu))
		}
	}
	r.compare()
	near := func(a, b float64) bool { return a > b*0.99 && a < b*1.01 }
	for _, c := range []struct {
		peer                   string
		perSecond, faster, cpu float64
		p50                    float64
	}{
		{"gavel", 3_000, 0, 0, 0}, {"redis", 2_000, 1.5, 0.5, 2}, {"gavel-3", 1_000, 0, 0, 0}, {"etcd-3", 100, 10, 0.1, 0.5},
	} {
		x := rowOf(r.Cells, cell{c.peer, 1, 16})
		if x.PerSecond != c.perSecond || c.faster != 0 && (!near(x.GavelFaster, c.faster) || !near(x.GavelCPU, c.cpu) || !near(x.GavelP50, c.p50)) {
			t.Errorf("%s: %+v", c.peer, []float64{x.PerSecond, x.GavelFaster, x.GavelCPU, x.GavelP50})
		}
	}
	if first := r.Cells[0].Peer; first != "gavel" {
		t.Errorf("the table begins with %s", first)
	}
	r.Skipped, r.Faults = []string{"etcd: there is none"}, []string{"redis: it has 99 events"}
	r.Peers = []peerSummary{{Peer: "redis", Durable: "fsync before the answer", CountsCompare: false}}
	var text strings.Builder
	if err := r.write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SKIPPED: etcd: there is none", "FAULT: redis: it has 99 events", "DIFFERENT", "1.50", "fsync before the answer"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, text.String())
		}
	}
	path := filepath.Join(t.TempDir(), "out.json")
	if err := r.writeJSON(path); err != nil {
		t.Fatal(err)
	}
	if written, err := os.ReadFile(path); err != nil || !strings.Contains(string(written), `"Peer": "etcd-3"`) {
		t.Errorf("%v: %s", err, written)
	}
}

// A peer without Gavel beside it has no ratios, and no figure is divided by 0.
func TestRatiosWithoutGavel(t *testing.T) {
	r := &result{Versions: map[string]string{}}
	r.record(cell{"redis", 1, 16}, events(10, time.Millisecond, 0), events(10, time.Millisecond, 0))
	r.compare()
	if x := r.Cells[0]; x.GavelFaster != 0 || x.GavelCPU != 0 || x.PerSecond != 10 {
		t.Errorf("%+v", x)
	}
}

// A peer that is not installed is named with its package and left out.
func TestMissingPeersAreSkipped(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, name := range []string{"redis", "etcd"} {
		_, err := start(t.Context(), &options{}, name, t.TempDir())
		if lacks, is := errors.AsType[*missing](err); !is || !strings.Contains(lacks.Error(), "apt-get install "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var out, progress strings.Builder
	code := command(t.Context(), []string{"-peers", "redis,etcd", "-dir", t.TempDir()}, &out, &progress)
	if code != exitOK || strings.Count(out.String(), "SKIPPED: ") != 2 {
		t.Errorf("exit code %d: %s%s", code, out.String(), progress.String())
	}
}

// Every event of a run has its own id, also those of connections with the same number.
func TestIDsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i := range 6 {
		s := newSource(i % 2)
		for range 100 {
			id, campaign := s.next()
			seen[string(id)] = true
			if first := i % 2 * campaignsEach; campaign < first || campaign >= first+campaignsEach {
				t.Errorf("connection %d charges campaign %d", i%2, campaign)
			}
		}
	}
	if len(seen) != 600 {
		t.Errorf("%d different ids of 600", len(seen))
	}
}

// Gavel is the first candidate of each number of nodes, because ratios are against it.
func TestGavelIsComparedWith(t *testing.T) {
	if !slices.Contains(names(), "redis") || gavelOf(1) != "gavel" || gavelOf(3) != "gavel-3" {
		t.Error(fmt.Sprint(names(), gavelOf(1), gavelOf(3)))
	}
}
