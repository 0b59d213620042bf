//go:build linux

package main

import (
	"os"
	"strings"
	"testing"
)

func TestQuicken(t *testing.T) {
	const rules = `groups:
  - name: gavel-nodes
    rules:
      - alert: GavelDown
        expr: up == 0
        for: 1m
        labels: {severity: page}
      - alert: GavelNoAuctions
        expr: sum(increase(gavel_auctions_total[10m])) == 0 and sum(increase(gavel_auctions_total[1h] offset 10m)) > 0
        for: 10m
        labels: {severity: page}
      - alert: GavelSoon
        expr: rate(x[30s]) > 0
`
	want := strings.NewReplacer(
		"name: gavel-nodes", "name: quick-gavel-nodes", "for: 1m", "for: 5s", "for: 10m", "for: 50s", "[10m]", "[50s]", "[1h]", "[5m]",
		"offset 10m", "offset 50s", "[30s]", "[8s]", "{severity: page}", "{severity: page, speed: quick}",
	).Replace(rules)
	got, err := quicken(rules, 12)
	if err != nil || got != want {
		t.Fatalf("%v, got\n%s\nwant\n%s", err, got, want)
	}
	if _, err := quicken("expr: x[5parsecs]", 12); err == nil {
		t.Fatal("a window that Prometheus does not know was divided")
	}
}

// Each fault expects alerts that ship, and every alert of the shipped rules gets the label by which the quick ones are known.
func TestFaultsNameShippedAlerts(t *testing.T) {
	text, err := os.ReadFile("../../configs/prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	quick, err := quicken(string(text), 12)
	if err != nil {
		t.Fatal(err)
	}
	alerts := strings.Count(quick, "- alert: ")
	if marked := strings.Count(quick, "speed: quick}"); alerts == 0 || marked != alerts {
		t.Fatalf("%d of %d alerts have the label speed", marked, alerts)
	}
	for i, f := range faults {
		if len(f.lingers) > 0 && i < len(faults)-1 {
			t.Errorf("%s is not the last fault, and its alerts linger", f.name)
		}
		if len(f.expected) == 0 {
			t.Errorf("%s: expects nothing", f.name)
		}
		for _, name := range append(f.expected, f.allowed...) {
			if !strings.Contains(quick, "- alert: "+name+"\n") {
				t.Errorf("%s: the rules have no %s", f.name, name)
			}
		}
	}
}
