package metrics_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the dashboards of configs/grafana")

// panel is a graph of a dashboard: its title, the unit of its axis in Grafana's names, and its queries with their legends.
type panel struct {
	title, unit string
	queries     []query
}

type query struct{ expr, legend string }

// row is a titled line of panels.
type row struct {
	title  string
	panels []panel
}

// one is a panel with a single query.
func one(title, unit, expr, legend string) panel { return panel{title, unit, []query{{expr, legend}}} }

const byNode = "{{instance}}"

// operatorRows are what the person who runs the cluster looks at.
var operatorRows = []row{
	{"Nodes", []panel{
		one("Ready nodes", "none", `sum(gavel_ready)`, "ready"),
		one("CPU", "percentunit", `rate(process_cpu_seconds_total{job="gavel"}[5m])`, byNode),
		{"Memory", "bytes", []query{{`process_resident_memory_bytes{job="gavel"}`, byNode}, {`gavel_memory_limit_bytes`, byNode + " limit"}}},
		one("Open files", "none", `process_open_fds{job="gavel"}`, byNode),
		{"Connections", "none", []query{{`gavel_connections`, byNode + " {{listener}}"}, {`gavel_connections_max`, byNode + " {{listener}} maximum"}}},
		one("Time until certificates expire", "s", `gavel_certificate_not_after_seconds - time()`, byNode+" {{listener}}"),
	}},
	{"Replication", []panel{
		one("Leaders per group", "none", `sum by (group) (gavel_raft_leader)`, "group {{group}}"),
		one("Leader changes", "none", `increase(gavel_raft_leader_changes_total[10m])`, byNode+" group {{group}}"),
		one("Followers behind", "none", `gavel_raft_peer_lag`, "{{peer}} group {{group}}"),
		one("Commit, 99 of 100 within", "s", `histogram_quantile(0.99, sum by (instance, le) (rate(gavel_raft_propose_seconds_bucket[5m])))`, byNode),
		one("Age of replicas", "s", `max by (instance) (gavel_raft_staleness_seconds)`, byNode),
		one("Clock offset", "s", `gavel_clock_offset_seconds`, byNode),
		one("Snapshots received", "none", `increase(gavel_raft_install_snapshot_total[10m])`, byNode+" group {{group}}"),
		one("Connections refused on the peer port", "cps", `sum by (instance, why) (rate(gavel_peer_rejects_total[5m]))`, byNode+" {{why}}"),
	}},
	{"Disks", []panel{
		{"Free space", "bytes", []query{{`gavel_disk_free_bytes`, byNode}, {`gavel_disk_reserve_bytes`, byNode + " reserve"}}},
		one("Mean sync of the log", "s", `rate(gavel_fsync_seconds_total[5m]) / rate(gavel_fsyncs_total[5m])`, byNode),
		one("Oldest running call", "s", `gavel_disk_oldest_call_seconds`, byNode),
		one("Size of the databases", "bytes", `gavel_pebble_disk_bytes`, byNode+" {{database}}"),
		one("Sublevels of level 0", "none", `gavel_pebble_l0_sublevels`, byNode+" {{database}}"),
		one("Write stalls", "none", `increase(gavel_pebble_write_stalls_total[10m])`, byNode+" {{database}}"),
	}},
	{"Backups", []panel{
		one("Age of the newest backup", "s", `time() - max(max_over_time(gavel_backup_last_seconds[14d]))`, "newest"),
		one("Backups that failed", "none", `increase(gavel_backups_total{result="failed"}[1h])`, byNode),
		one("Backups that were sent", "none", `increase(gavel_backups_total{result="sent"}[1d])`, byNode),
		one("Age of the archived log", "s", `time() - max(max_over_time(gavel_log_segment_last_seconds[14d]))`, "newest"),
	}},
	{"Requests", []panel{
		one("Requests of /v2 by status", "reqps", `sum by (operation, status) (rate(gavel_requests_total[5m]))`, "{{operation}} {{status}}"),
		one("Requests of /v2, 99 of 100 within", "s", `histogram_quantile(0.99, sum by (operation, le) (rate(gavel_request_seconds_bucket[5m])))`, "{{operation}}"),
		one("Management requests by status", "reqps", `sum by (status) (rate(gavel_management_requests_total[5m]))`, "{{status}}"),
		one("Refused requests by errCode", "reqps", `sum by (code) (rate(gavel_errors_total[5m]))`, "{{code}}"),
		one("CPU of reports, explanations and forecasts", "percentunit", `sum by (kind) (rate(gavel_background_cpu_seconds_total[5m]))`, "{{kind}}"),
		one("Memory of request bodies", "bytes", `gavel_body_bytes`, byNode),
	}},
}

// marketplaceRows are what the person who runs the marketplaces looks at.
var marketplaceRows = []row{
	{"Auctions", []panel{
		one("Auctions", "ops", `sum(rate(gavel_auctions_total[5m]))`, "auctions"),
		one("Winners per auction", "none", `sum(rate(gavel_winners_total[5m])) / sum(rate(gavel_auctions_total[5m]))`, "winners"),
		one("Why bids lose", "ops", `sum by (reason) (rate(gavel_losses_total[5m]))`, "{{reason}}"),
		one("Campaigns left out as stale", "ops", `sum by (group) (rate(gavel_staleness_fenced_total[5m]))`, "group {{group}}"),
	}},
	{"Money", []panel{
		one("Charged per hour, in millionths of the currency's unit", "none", `sum by (currency) (increase(gavel_charged_micros_total[1h]))`, "{{currency}}"),
		one("Not charged because a budget was used up, per hour", "none", `sum by (currency) (increase(gavel_clipped_micros_total[1h]))`, "{{currency}}"),
		one("Delivered beyond budgets, per hour", "none", `sum(increase(gavel_pacing_overdelivery_micros_total[1h]))`, "micros"),
		one("Money between groups", "none", `gavel_transfers_in_transit_micros`, "marketplace {{marketplace}}"),
	}},
	{"Events", []panel{
		one("Events by kind", "ops", `sum by (kind) (rate(gavel_events_total[5m]))`, "{{kind}}"),
		one("Events by outcome", "ops", `sum by (outcome) (rate(gavel_events_total[5m]))`, "{{outcome}}"),
		one("Refused event requests", "reqps", `sum by (status) (rate(gavel_requests_total{operation="events",status!="200"}[5m]))`, "{{status}}"),
		one("Event requests, 99 of 100 within", "s", `histogram_quantile(0.99, sum by (le) (rate(gavel_request_seconds_bucket{operation="events"}[5m])))`, "events"),
	}},
	{"Pacing", []panel{
		one("Campaigns that pacing slows", "none", `sum(gavel_pacing_campaigns)`, "campaigns"),
		one("Decisions", "ops", `sum(rate(gavel_pacing_changes_total[5m]))`, "decisions"),
		one("Late reports", "ops", `rate(gavel_pacing_reports_late_total[5m])`, byNode),
	}},
}

// dashboard returns Grafana's JSON of the rows: three graphs in a line, each with its unit.
func dashboard(t *testing.T, uid, title string, rows []row) []byte {
	t.Helper()
	const width, height, perLine = 8, 8, 3
	panels, y := []any{}, 0
	for _, r := range rows {
		panels = append(panels, map[string]any{"type": "row", "title": r.title, "collapsed": false, "gridPos": map[string]int{"x": 0, "y": y, "w": 24, "h": 1}})
		y++
		for i, p := range r.panels {
			targets := []any{}
			for n, q := range p.queries {
				targets = append(targets, map[string]any{"refId": string(rune('A' + n)), "expr": q.expr, "legendFormat": q.legend, "datasource": source})
			}
			panels = append(panels, map[string]any{
				"type": "timeseries", "title": p.title, "datasource": source, "targets": targets,
				"gridPos":     map[string]int{"x": i % perLine * width, "y": y + i/perLine*height, "w": width, "h": height},
				"fieldConfig": map[string]any{"defaults": map[string]any{"unit": p.unit, "min": nil}, "overrides": []any{}},
			})
		}
		y += (len(r.panels) + perLine - 1) / perLine * height
	}
	for i, p := range panels {
		p.(map[string]any)["id"] = i + 1 //nolint:forcetypeassert // They are made above.
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(map[string]any{
		"uid": uid, "title": title, "tags": []string{"gavel"}, "schemaVersion": 39, "version": 1, "editable": true, "refresh": "30s",
		"time": map[string]string{"from": "now-3h", "to": "now"}, "panels": panels,
		"templating": map[string]any{"list": []any{map[string]any{"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// source is the variable that chooses the Prometheus of all panels.
var source = map[string]string{"type": "prometheus", "uid": "${source}"}

// The dashboards of configs/grafana are the tables above, and each query names metrics and labels that exist.
func TestDashboards(t *testing.T) {
	known := newExpressions(t)
	for _, d := range []struct {
		file, title string
		rows        []row
	}{{"operator", "Gavel: operation", operatorRows}, {"marketplace", "Gavel: marketplace", marketplaceRows}} {
		for _, r := range d.rows {
			for _, p := range r.panels {
				for _, q := range p.queries {
					if wrong, named := known.check(q.expr); len(wrong) > 0 || named == 0 {
						t.Errorf("%s, %s: %d metrics, %q", d.title, p.title, named, wrong)
					}
				}
			}
		}
		name, want := filepath.Join("../../configs/grafana", d.file+".json"), dashboard(t, "gavel-"+d.file, d.title, d.rows)
		if *rewrite {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what its table says: go test ./node/metrics -run TestDashboards -rewrite (%v)", name, err)
		}
	}
}
