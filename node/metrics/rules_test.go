package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const prometheusDir = "../../configs/prometheus"

// ruleFile is what the tests read of a file of Prometheus rules.
type ruleFile struct {
	Groups []struct {
		Rules []struct {
			Alert       string
			Expr        string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
}

func readYAML(t *testing.T, name string, into any) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(prometheusDir, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(text)
}

// expressions checks that the metrics and labels of PromQL expressions exist.
type expressions struct {
	labels map[string]map[string]bool // By metric.
	types  map[string]bool            // The metrics that are histograms.
}

func newExpressions(t *testing.T) expressions {
	t.Helper()
	e := expressions{map[string]map[string]bool{}, map[string]bool{}}
	for _, f := range everyFamily(t) {
		e.types[f.GetName()] = f.GetMetric()[0].GetHistogram() != nil
		e.labels[f.GetName()] = map[string]bool{"instance": true, "job": true, "le": e.types[f.GetName()]} // Prometheus adds the first two.
		for _, label := range f.GetMetric()[0].GetLabel() {
			e.labels[f.GetName()][label.GetName()] = true
		}
	}
	e.labels["up"] = map[string]bool{"job": true, "instance": true}
	return e
}

var (
	selector    = regexp.MustCompile(`\b((?:gavel|go|process)_[a-z0-9_]+|up\b)(?:\{([^}]*)\})?`)
	labelInside = regexp.MustCompile(`([a-z_]+)\s*[=!]`)
)

// check returns what is wrong with the metrics that an expression names, and how many it names.
func (e expressions) check(expression string) (wrong []string, named int) {
	for _, found := range selector.FindAllStringSubmatch(expression, -1) {
		name := found[1]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, ok := strings.CutSuffix(name, suffix); ok && e.types[base] {
				name = base
			}
		}
		named++
		if e.labels[name] == nil {
			wrong = append(wrong, found[1]+" does not exist")
			continue
		}
		for _, label := range labelInside.FindAllStringSubmatch(found[2], -1) {
			if !e.labels[name][label[1]] {
				wrong = append(wrong, found[1]+" has no label "+label[1])
			}
		}
	}
	return wrong, named
}

// Every alert names metrics that exist, a section of the runbook, and who is to act; and rules_test.yml has a case for it.
func TestAlertRules(t *testing.T) {
	var rules ruleFile
	readYAML(t, "rules.yml", &rules)
	var cases struct{ Tests []struct{ Name string } }
	readYAML(t, "rules_test.yml", &cases)
	tested := map[string]bool{}
	for _, c := range cases.Tests {
		tested[c.Name] = true
	}
	runbook, err := os.ReadFile("../operator/RUNBOOK.md")
	if err != nil {
		t.Fatal(err)
	}
	known, alerts := newExpressions(t), 0
	for _, group := range rules.Groups {
		for _, r := range group.Rules {
			alerts++
			wrong, named := known.check(r.Expr)
			if len(wrong) > 0 || named == 0 {
				t.Errorf("%s names %d metrics: %q", r.Alert, named, wrong)
			}
			if !strings.Contains(string(runbook), "\n## "+r.Annotations["runbook"]+"\n") {
				t.Errorf("%s: the runbook has no section %q", r.Alert, r.Annotations["runbook"])
			}
			if s := r.Labels["severity"]; s != "page" && s != "ticket" || !strings.HasSuffix(r.Annotations["summary"], ".") {
				t.Errorf("%s: severity %q, summary %q", r.Alert, s, r.Annotations["summary"])
			}
			if !tested[r.Alert] {
				t.Errorf("rules_test.yml has no case for %s", r.Alert)
			}
		}
	}
	if alerts < 25 {
		t.Errorf("only %d alerts", alerts)
	}
}

// A name or a label that does not exist is found, so the tests above and below assert something.
func TestExpressionsAreChecked(t *testing.T) {
	known := newExpressions(t)
	for expression, faults := range map[string]int{
		`rate(gavel_request_seconds_bucket{operation="auctions",le="0.1"}[5m]) + gavel_ready`: 0,
		`gavel_requests_total{operation="a"} / gavel_requests`:                                1,
		`gavel_requests_total{listener="a"} > gavel_ready_bucket`:                             2,
	} {
		if wrong, _ := known.check(expression); len(wrong) != faults {
			t.Errorf("%s: %q, want %d faults", expression, wrong, faults)
		}
	}
}

// promtool accepts the rules and the scrape configuration, each alert fires on its series, and none on a healthy cluster.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("SKIPPED: promtool is not installed; on Debian: apt-get install prometheus")
	}
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"check", "config", "prometheus.yml"}, {"test", "rules", "rules_test.yml"}} {
		if testing.Short() && args[0] == "test" { // It evaluates a day of series.
			continue
		}
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = prometheusDir
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, text)
		}
	}
	page := httptest.NewRecorder()
	everyMetric().Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	cmd.Stdin = page.Body
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, text)
	}
}
