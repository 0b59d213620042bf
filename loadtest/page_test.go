package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run with events has a line for each kind of request in its report, for the whole run and for its only second, and their sum is the
// requests that were sent.
func TestLatencyByKind(t *testing.T) {
	code, out, text := run(t, &fake{}, "--rate", "2000", "mixed")
	if code != exitOK {
		t.Fatalf("exit %d %s", code, text)
	}
	counted := map[string]int64{}
	for _, k := range out.Kinds {
		counted[k.Kind] = k.Requests
		if k.Latency["p50"] <= 0 || k.Latency["p50"] > k.Latency["p99"] || k.Latency["p99"] > k.Latency["max"] {
			t.Errorf("%s: %v", k.Kind, k.Latency)
		}
	}
	if counted["auctions"] == 0 || counted["events"] == 0 || counted["auctions"]+counted["events"] != out.Requests {
		t.Errorf("%v of %d requests", counted, out.Requests)
	}
	if counted["bare server"] == 0 || out.BareRatio <= 0 {
		t.Errorf("the bare server answered %d requests, ratio %g", counted["bare server"], out.BareRatio)
	}
	if len(out.Intervals) != 1 {
		t.Fatalf("%d intervals", len(out.Intervals))
	}
	for _, k := range out.Intervals[0].Kinds {
		if k.Requests != counted[k.Kind] {
			t.Errorf("the only interval has %d requests of %s, the run %d", k.Requests, k.Kind, counted[k.Kind])
		}
	}
	if _, out, _ = run(t, &fake{}, "--bare=false", "auctions"); len(out.Kinds) != 1 || out.BareRatio != 0 {
		t.Errorf("without a bare server: %+v", out.Kinds)
	}
}

// Changes are due while the scenario is sent: at most 15 in 150 ms, fewer when the machine is busy. The report has those that were made.
func TestChangesBesideTheScenario(t *testing.T) {
	f := &fake{}
	code, out, text := run(t, f, "--changes", "100", "mixed")
	if code != exitOK || f.changes < 1 || f.changes > 15 {
		t.Fatalf("exit %d, %d changes, %+v %s", code, f.changes, out, text)
	}
	reported := int64(0)
	for _, k := range out.Kinds {
		if k.Kind == "management" {
			reported = k.Requests
		}
	}
	if reported != int64(f.changes) {
		t.Errorf("%d changes were made, the report has %d", f.changes, reported)
	}
}

// metricsText is the metrics of a node that has used CPU for a number of seconds.
func metricsText(seconds int) string {
	return fmt.Sprintf(`# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total %d
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 1.048576e+08
# TYPE go_gc_duration_seconds summary
go_gc_duration_seconds_sum %g
go_gc_duration_seconds_count %d
`, seconds, float64(seconds)/1_000, seconds)
}

func TestPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	code, _, text := run(t, &fake{metrics: metricsText}, "--rate", "500", "--duration", "2500ms", "--html", file, "mixed")
	if code != exitOK {
		t.Fatalf("exit %d %s", code, text)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Latency by percentile", "p99 over time", "Requests over time", "CPU of the nodes", "Resident memory of the nodes",
		"Pauses for garbage collection", "<td>auctions</td>", "<td>events</td>", "<td>bare server</td>", "the reports agree", ">99.9 %<",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, never := range []string{"<script", "NaN", "Inf", "src="} {
		if strings.Contains(string(page), never) {
			t.Errorf("the page has %q", never)
		}
	}
}

// A page that shows what nobody measured would be a lie, so metrics that cannot be read are a fault of the run.
func TestMetricsThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		metrics func(int) string
		want    string
	}{
		"no text":    {func(int) string { return "{}" }, "the metrics cannot be read"},
		"one is not": {func(int) string { return "process_cpu_seconds_total 1\n" }, "/metrics has no process_resident_memory_bytes"},
	} {
		file := filepath.Join(t.TempDir(), "report.html")
		code, out, _ := run(t, &fake{metrics: c.metrics}, "--html", file, "auctions")
		if code != exitFailed || !strings.Contains(strings.Join(out.Faults, "\n"), c.want) {
			t.Errorf("%s: exit %d, faults %q", name, code, out.Faults)
		}
	}
}
