package metrics_test

import (
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/gavel-ads/gavel/node/metrics"
)

func newMetrics() *metrics.Metrics {
	return metrics.New(metrics.Vocabulary{
		Operations: []string{"auctions", "events"},
		Codes:      []metrics.Code{{Name: "ok"}, {Name: "bad_request", Status: "400"}, {Name: "invalid_json", Status: "400"}},
		Reasons:    []string{"inactive", "budget"},
		EventKinds: []string{"clicks"},
		Outcomes:   []string{"counted", "charged"},
	}, []string{"201", "200"})
}

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
}

func TestCountersAddUpOverStripes(t *testing.T) {
	m := newMetrics()
	var all sync.WaitGroup
	for range 200 { // More workers than stripes.
		s := m.Stripe()
		all.Go(func() {
			for range 10 {
				s.Request(0, 0, time.Millisecond)
				s.Request(1, 1, time.Millisecond)
				s.Request(1, 2, time.Millisecond)
				s.Auctions(5, 3, []uint32{0, 7})
				s.Event(0, 1, "EUR", 250, 0)
				s.Event(0, 0, "EUR", 0, 50)
				s.Event(0, 1, "JPY", 7, 3)
			}
			s.Unauthorized()
			s.Forbidden()
			s.Panic()
			s.RefusedFrame()
		})
	}
	all.Wait()
	wantLines(t, scrape(t, m),
		`gavel_requests_total{operation="auctions",status="201"} 2000`,
		`gavel_requests_total{operation="events",status="400"} 4000`,
		`gavel_requests_total{operation="events",status="200"} 0`,
		`gavel_errors_total{code="bad_request",status="400"} 2000`,
		`gavel_errors_total{code="invalid_json",status="400"} 2000`,
		`gavel_auctions_total 10000`, `gavel_winners_total 6000`,
		`gavel_losses_total{reason="inactive"} 0`, `gavel_losses_total{reason="budget"} 14000`,
		`gavel_events_total{kind="clicks",outcome="charged"} 4000`,
		`gavel_events_total{kind="clicks",outcome="counted"} 2000`,
		`gavel_charged_micros_total{currency="EUR"} 500000`, `gavel_clipped_micros_total{currency="EUR"} 100000`,
		`gavel_charged_micros_total{currency="JPY"} 14000`, `gavel_clipped_micros_total{currency="JPY"} 6000`,
		`gavel_key_check_failures_total{status="401"} 200`, `gavel_key_check_failures_total{status="403"} 200`,
		`gavel_panics_total 200`, `gavel_framing_refusals_total 200`,
	)
}

// Currencies beyond the bound are counted together, and no money is lost.
func TestCurrenciesAreBounded(t *testing.T) {
	m := newMetrics()
	s := m.Stripe()
	for i := range 100 {
		s.Event(0, 1, fmt.Sprintf("X%02d", i), 1, 0)
	}
	text := scrape(t, m)
	wantLines(t, text, `gavel_charged_micros_total{currency="X30"} 1`, `gavel_charged_micros_total{currency="other"} 69`)
	if n := strings.Count(text, "gavel_charged_micros_total{"); n != 32 {
		t.Errorf("%d series", n)
	}
}

// The classic buckets of a scrape are cumulative and exact at their bounds: 1, 2 and 5 in each decade from 1 µs to 50 s.
func TestClassicBuckets(t *testing.T) {
	m := newMetrics()
	s := m.Stripe()
	for _, d := range []time.Duration{
		-1, 0, 900, 1000, // At most 1 µs.
		1001, 2000, 2001, // Just above, 2 µs, just above.
		20 * time.Millisecond, 20*time.Millisecond + 1,
		time.Second, time.Second + 1, 50 * time.Second, 50*time.Second + 1, time.Hour,
	} {
		s.Request(0, 0, d)
	}
	bucket := func(bound string) string {
		return `gavel_request_seconds_bucket{operation="auctions",le="` + bound + `"}`
	}
	text := scrape(t, m)
	wantLines(t, text,
		bucket("1e-06")+" 4", bucket("2e-06")+" 6", bucket("5e-06")+" 7", bucket("0.01")+" 7", bucket("0.02")+" 8", bucket("0.05")+" 9",
		bucket("0.5")+" 9", bucket("1")+" 10", bucket("2")+" 11", bucket("20")+" 11", bucket("50")+" 12", bucket("+Inf")+" 14",
		`gavel_request_seconds_count{operation="auctions"} 14`,
		`gavel_request_seconds_count{operation="events"} 0`,
	)
	m.ManagementRequest("list_campaigns", "200", "r1", time.Millisecond)
	for _, found := range regexp.MustCompile(`_bucket{[^}]*le="([^"]+)"`).FindAllStringSubmatch(scrape(t, m), -1) {
		if !regexp.MustCompile(`^(\+Inf|0?\.?0*[125]0*|[125]e-0[1-9])$`).MatchString(found[1]) {
			t.Errorf("%s: the bound is not 1, 2 or 5 of a decade", found[0])
		}
	}
}

// The native buckets hold every duration between their bounds: bucket i of schema 3 ends at 2^(i/8) seconds.
func TestNativeBuckets(t *testing.T) {
	m := newMetrics()
	s := m.Stripe()
	durations := []time.Duration{1500, 20 * time.Microsecond, 21 * time.Microsecond, 3 * time.Millisecond, 40 * time.Second}
	want := map[int]int64{}
	for _, d := range durations {
		s.Request(0, 0, d)
		want[int(math.Ceil(math.Log2(d.Seconds())*8))]++
	}
	h := gathered(t, m, "gavel_request_seconds", "auctions").GetHistogram()
	if h.GetSchema() != 3 || h.GetSampleCount() != uint64(len(durations)) || len(h.GetBucket()) == 0 {
		t.Fatalf("not both native and classic: %v", h)
	}
	got, index, count, delta := map[int]int64{}, 0, int64(0), 0
	for _, span := range h.GetPositiveSpan() {
		index += int(span.GetOffset())
		for range span.GetLength() {
			count += h.GetPositiveDelta()[delta]
			delta++
			if count > 0 {
				got[index] = count
			}
			index++
		}
	}
	for i, n := range want {
		if got[i] != n {
			t.Errorf("bucket %d holds %d, want %d", i, got[i], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("buckets %v, want %v", got, want)
	}
}

func gathered(t *testing.T, m *metrics.Metrics, name, operation string) *dto.Metric {
	t.Helper()
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			if f.GetName() == name && len(metric.GetLabel()) == 1 && metric.GetLabel()[0].GetValue() == operation {
				return metric
			}
		}
	}
	t.Fatalf("no %s of %s", name, operation)
	return nil
}

func TestNodeMetrics(t *testing.T) {
	m := newMetrics()
	if strings.Contains(scrape(t, m), "gavel_raft_") {
		t.Error("there are metrics of a node that nobody has described")
	}
	m.OnScrape(func() metrics.Node {
		return metrics.Node{
			Groups: []metrics.Group{
				{
					ID: 1, Leader: true, Ready: true, Term: 7, First: 1, Last: 90, Commit: 89, Applied: 88, Snapshots: 2, SnapshotsPutOff: 3,
					LeaderChanges: 4, Refused: 5, Overdelivered: 11, OldestEntry: 2 * time.Minute,
					Propose: metrics.Durations{Cumulative: map[float64]uint64{0.5: 2, 1: 3}, Count: 4, Sum: 6 * time.Second},
					Peers:   []metrics.Peer{{Node: "n2", Lag: 7, Contact: time.Second}, {Node: "n3", Lag: 90, Contact: -1}},
				},
				{ID: 2, LastContact: 1500 * time.Millisecond},
			},
			Proposals: metrics.Proposals{Batches: 10, Commands: 200, Bytes: 3000, Fsyncs: 10, FsyncTime: 2 * time.Second, DiskStalls: 1},
			Databases: []metrics.Database{{Name: "state", DiskBytes: 5, WriteStalls: 3, BackgroundErrors: 2, L0Sublevels: 1}},
			Cache:     metrics.Cache{Hits: 6, Misses: 7, Bytes: 8, BytesMax: 9},
			Reaped:    2, StateChecks: 11, StateMismatches: 1, OldestCall: time.Second,
			Transit: []metrics.Transit{{Marketplace: 3, Transfers: 2, Micros: 5_000_000, Oldest: 9 * time.Second}},
			Mails:   &metrics.Mails{Queued: 5, Sent: 3, Retried: 2, Failed: 1},
			Backups: metrics.Backups{Sent: 51, Failed: 52, Last: time.Unix(53, 0)}, Archive: metrics.Archive{Sent: 54, Failed: 55, Gaps: 56, Last: time.Unix(57, 0)},
			Exports: &metrics.Exports{Rows: 31, Files: 32, Failures: 33, Lag: 34 * time.Second},
			Sinks:   []metrics.Sink{{Name: "kafka", Sent: 41, Failures: 42, Lines: 43, Lag: 44 * time.Second}},
			Market:  metrics.Market{Version: 9}, AuditWaiting: 3,
			Pacing:        metrics.Pacing{Ticks: 1, Changes: 2, Unproposed: 3, TickTime: 4 * time.Second, Campaigns: 5, ByReturn: 13, ReportsSent: 6, ReportsFailed: 7, ReportsRefused: 8, ReportsLate: 9, Deferred: 10, Hours: 12},
			AuctionCounts: metrics.AuctionCounts{Proposed: 21, Failed: 22, Dropped: 23, Weight: 24},
			Background:    []metrics.Background{{Kind: "report", Running: 1, Waiting: 2, Refused: 3, CPU: 4 * time.Second}},
			Turns:         metrics.Turns{Waiting: 5, CPU: 6 * time.Second, Refused: 7},
		}
	})
	m.ManagementRequest("list_campaigns", "200", "r1", time.Millisecond)
	m.SetBuild("v1.2.3")
	wantLines(t, scrape(t, m),
		`gavel_raft_leader{group="1"} 1`, `gavel_raft_leader{group="2"} 0`, `gavel_raft_applied_index{group="1"} 88`,
		`gavel_raft_last_contact_seconds{group="2"} 1.5`, `gavel_raft_snapshots_total{group="1"} 2`,
		`gavel_raft_snapshots_put_off_total{group="1"} 3`,
		`gavel_propose_commands_total 200`, `gavel_fsync_seconds_total 2`, `gavel_disk_stalls_total 1`,
		`gavel_pebble_disk_bytes{database="state"} 5`, `gavel_pebble_cache_hits_total 6`, `gavel_pebble_cache_misses_total 7`,
		`gavel_pebble_cache_bytes 8`, `gavel_pebble_cache_max_bytes 9`,
		`gavel_view_version 9`,
		`gavel_audit_entries_waiting 3`,
		`gavel_pacing_ticks_total 1`, `gavel_pacing_changes_total 2`, `gavel_pacing_proposals_failed_total 3`, `gavel_pacing_tick_seconds_total 4`,
		`gavel_pacing_campaigns 5`, `gavel_pacing_campaigns_limited_by_return 13`, `gavel_pacing_reports_sent_total 6`, `gavel_pacing_reports_failed_total 7`,
		`gavel_pacing_reports_refused_total 8`, `gavel_pacing_reports_late_total 9`, `gavel_pacing_report_campaigns_deferred_total 10`,
		`gavel_pacing_overdelivery_micros_total{group="1"} 11`, `gavel_pacing_traffic_learned_total 12`,
		`gavel_auction_counts_total 21`, `gavel_auction_counts_failed_total 22`, `gavel_auction_counts_dropped_total 23`, `gavel_auction_loss_weight 24`,
		`gavel_raft_leader_changes_total{group="1"} 4`, `gavel_raft_refused_commands_total{group="1"} 5`,
		`gavel_raft_oldest_log_age_seconds{group="1"} 120`, `gavel_raft_propose_seconds_bucket{group="1",le="0.5"} 2`,
		`gavel_raft_propose_seconds_bucket{group="1",le="+Inf"} 4`, `gavel_raft_propose_seconds_sum{group="1"} 6`,
		`gavel_raft_peer_lag{group="1",peer="n2"} 7`, `gavel_raft_peer_lag{group="1",peer="n3"} 90`,
		`gavel_raft_peer_contact_seconds{group="1",peer="n2"} 1`,
		`gavel_pebble_write_stalls_total{database="state"} 3`, `gavel_pebble_background_errors_total{database="state"} 2`,
		`gavel_pebble_l0_sublevels{database="state"} 1`, `gavel_snapshot_tmp_reaped_total 2`, `gavel_state_checks_total 11`,
		`gavel_state_hash_mismatch_total 1`, `gavel_disk_oldest_call_seconds 1`,
		`gavel_transfers_in_transit{marketplace="3"} 2`, `gavel_transfers_in_transit_micros{marketplace="3"} 5e+06`,
		`gavel_transfers_in_transit_oldest_seconds{marketplace="3"} 9`,
		`gavel_backups_total{result="sent"} 51`, `gavel_backups_total{result="failed"} 52`, `gavel_backup_last_seconds 53`,
		`gavel_log_segments_total{result="sent"} 54`, `gavel_log_segments_total{result="failed"} 55`, `gavel_log_segments_total{result="gap"} 56`,
		`gavel_log_segment_last_seconds 57`,
		`gavel_export_rows_total 31`, `gavel_export_files_total 32`, `gavel_export_failures_total 33`, `gavel_export_lag_seconds 34`,
		`gavel_sink_sent_total{sink="kafka"} 41`, `gavel_sink_failures_total{sink="kafka"} 42`,
		`gavel_sink_lag_records{sink="kafka"} 43`, `gavel_sink_lag_seconds{sink="kafka"} 44`,
		`gavel_mails_queued_total 5`, `gavel_mails_total{result="sent"} 3`, `gavel_mails_total{result="retried"} 2`, `gavel_mails_total{result="failed"} 1`,
		`gavel_background_running{kind="report"} 1`, `gavel_background_waiting{kind="report"} 2`,
		`gavel_background_refused_total{kind="report"} 3`, `gavel_background_cpu_seconds_total{kind="report"} 4`,
		`gavel_build_info{goversion="`+runtime.Version()+`",version="v1.2.3"} 1`,
		`gavel_management_cpu_waiting 5`, `gavel_management_cpu_seconds_total 6`, `gavel_management_refused_total 7`,
		`gavel_management_requests_total{operation="list_campaigns",status="200"} 1`,
	)
}

// everyMetric returns metrics of which each has a series.
func everyMetric() *metrics.Metrics {
	m := newMetrics()
	m.SetBuild("v1")
	s := m.Stripe()
	s.Event(0, 1, "EUR", 1, 1)
	s.Request(0, 1, 1)
	m.OnScrape(func() metrics.Node {
		return metrics.Node{
			Groups:    []metrics.Group{{OldestEntry: 1, Peers: make([]metrics.Peer, 1)}},
			Databases: make([]metrics.Database, 1), Peers: metrics.Peers{Rejects: make([]metrics.Reject, 1)},
			Disk: metrics.Disk{Watched: true}, Transit: make([]metrics.Transit, 1), Backups: metrics.Backups{Last: time.Unix(1, 0)}, Archive: metrics.Archive{Last: time.Unix(1, 0)}, Mails: &metrics.Mails{}, Exports: &metrics.Exports{},
			Sinks:      make([]metrics.Sink, 1),
			Background: make([]metrics.Background, 1), Listeners: make([]metrics.Listener, 1), Certificates: make([]metrics.Certificate, 1),
		}
	})
	m.ManagementRequest("x", "200", "r2", 0)
	return m
}

// everyFamily returns all metrics of the program.
func everyFamily(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	families, err := everyMetric().Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// The names of counters, and only of counters, end with _total. Every help is a sentence that can be read without the
// name: it says what is counted, and in which unit.
func TestConventions(t *testing.T) {
	ours := 0
	for _, f := range everyFamily(t) {
		if !strings.HasPrefix(f.GetName(), "gavel_") {
			continue
		}
		ours++
		if counter := f.GetType() == dto.MetricType_COUNTER; counter != strings.HasSuffix(f.GetName(), "_total") {
			t.Errorf("%s is a %v", f.GetName(), f.GetType())
		}
		if !strings.HasSuffix(f.GetHelp(), ".") || len(strings.Fields(f.GetHelp())) < 7 {
			t.Errorf("%s: %q is not a sentence that stands alone", f.GetName(), f.GetHelp())
		}
		for suffix, unit := range map[string]string{"_seconds": "Seconds ", "_bytes": "bytes ", "_micros": "millionths of the major unit"} {
			name := strings.TrimSuffix(f.GetName(), "_total")
			if strings.HasSuffix(name, suffix) && !strings.Contains(strings.Replace(f.GetHelp(), "Bytes", "bytes", 1), unit) {
				t.Errorf("%s: %q does not name the unit", f.GetName(), f.GetHelp())
			}
		}
		for _, label := range f.GetMetric()[0].GetLabel() {
			if name := label.GetName(); strings.HasPrefix(name, "go") || name == "le" {
				continue
			} else if !strings.Contains(f.GetHelp(), name) && !strings.Contains(f.GetHelp(), map[string]string{"code": "errCode"}[name]) {
				t.Errorf("%s: %q does not explain the label %s", f.GetName(), f.GetHelp(), name)
			}
		}
	}
	if ours < 75 {
		t.Errorf("only %d metrics", ours)
	}
}

// The runbook, the guides and the README name only metrics and labels that exist.
func TestDocumentsNameExistingMetrics(t *testing.T) {
	labels := map[string]map[string]bool{}
	for _, f := range everyFamily(t) {
		labels[f.GetName()] = map[string]bool{}
		for _, label := range f.GetMetric()[0].GetLabel() {
			labels[f.GetName()][label.GetName()] = true
		}
	}
	documents, err := filepath.Glob("../operator/guides/*.md")
	if err != nil || len(documents) == 0 {
		t.Fatalf("%d guides, %v", len(documents), err)
	}
	named := 0
	for _, document := range append(documents, "../operator/RUNBOOK.md", "../../README.md", "../DESIGN.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`\b(gavel_[a-z0-9_]+)(?:\{([a-z]+)=)?`).FindAllSubmatch(text, -1) {
			name, label := string(found[1]), string(found[2])
			if strings.HasPrefix(name, "gavel_auc") || strings.HasPrefix(name, "gavel_mgt") {
				continue // The beginning of a key.
			}
			named++
			if labels[name] == nil || label != "" && !labels[name][label] {
				t.Errorf("%s names %s, which does not exist", document, found[0])
			}
		}
	}
	if named < 25 {
		t.Errorf("only %d names were found", named)
	}
}

// A scraper that takes OpenMetrics gets the id of a request with the bucket that it fell into.
func TestExemplarsNameRequests(t *testing.T) {
	m := newMetrics()
	m.ManagementRequest("list_campaigns", "200", "request-7", 3*time.Millisecond)
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, r)
	want := regexp.MustCompile(`gavel_management_request_seconds_bucket\{operation="list_campaigns",le="0.005"\} 1 # \{request_id="request-7"\} 0.003`)
	if !want.MatchString(w.Body.String()) {
		t.Errorf("no exemplar in\n%s", w.Body)
	}
}
