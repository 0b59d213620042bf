package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// simulated runs gavel simulate on a tiny market.
func simulated(t *testing.T, args ...string) (code int, out, messages string) {
	t.Helper()
	var o, e strings.Builder
	p := &process{out: &o, err: &e}
	code = p.run(append([]string{"simulate", "--campaigns", "8", "--requests", "200", "--seeds", "1", "--categories", "2"}, args...))
	return code, o.String(), e.String()
}

func TestSimulate(t *testing.T) {
	dir := t.TempDir()
	file, plots := filepath.Join(dir, "result.json"), filepath.Join(dir, "plots")
	code, out, messages := simulated(t, "--policies", "gavel,none", "--nodes", "2", "--json", file, "--plots", plots, "--partition", "1@12h+60s", "--surge", "15h+1h=3")
	if code != exitSuccess || messages != "" {
		t.Fatalf("%d\n%s\n%s", code, out, messages)
	}
	for _, want := range []string{"8 campaigns", "none + hold", "Value", "After the events", "overspend"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Rows []struct {
			Policy string
			Mean   map[string]struct{ Mean float64 }
		}
	}
	if err := json.Unmarshal(text, &result); err != nil || len(result.Rows) != 3 || result.Rows[0].Policy != "gavel" {
		t.Fatalf("%v: %s", err, text)
	}
	if m, found := result.Rows[0].Mean["overspend"]; !found || m.Mean != 0 {
		t.Error("the billed overspend is not 0")
	}
	if _, err := os.Stat(filepath.Join(plots, "ks.svg")); err != nil {
		t.Error(err)
	}
}

// The progress bar is written on a terminal only.
func TestSimulateProgress(t *testing.T) {
	var out, messages strings.Builder
	p := &process{out: &out, err: &messages, terminal: true}
	if code := p.run([]string{"simulate", "--campaigns", "4", "--requests", "50", "--seeds", "1", "--policies", "none", "--no-bound"}); code != exitSuccess {
		t.Fatal(code, messages.String())
	}
	if !strings.Contains(messages.String(), "##############################") || !strings.Contains(messages.String(), "5 of 5 runs") {
		t.Errorf("%q", messages.String())
	}
}

// A wrong flag is a usage error that says what is wrong; nothing is simulated.
func TestSimulateRefusals(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--seeds", "5-1"}, "no list"},
		{[]string{"--seeds", "1-99999"}, "at most 10000"},
		{[]string{"--nodes", "0"}, "0 nodes"},
		{[]string{"--lag", "-1s"}, "lag"},
		{[]string{"--partition", "4@1h+1s"}, "names no node"},
		{[]string{"--kill", "1@1h"}, "no time of the day"},
		{[]string{"--leader-loss", "23h+2h"}, "no time of the day"},
		{[]string{"--surge", "12h+1h"}, "no factor"},
		{[]string{"--click-rate", "2"}, "click rate"},
		{[]string{"--profile", "round"}, "profile"},
		{[]string{"--watch", "x"}, "--traffic"},
		{[]string{"--traffic", filepath.Join(t.TempDir(), "none.json")}, "no such file"},
	} {
		code, out, messages := simulated(t, c.args...)
		if code != exitUsage || !strings.Contains(messages, c.want) || out != "" {
			t.Errorf("%v: %d, %q, printed %q", c.args, code, messages, out)
		}
	}
	if code, _, messages := simulated(t, "--policies", "fastest"); code != exitFailed || !strings.Contains(messages, "mirror-descent") {
		t.Errorf("%d, %q", code, messages)
	}
}

const recordingText = `{"format":"gavel-recording-1","from":"2026-03-01T12:00:00Z","to":"2026-03-02T12:00:00Z","every":500,"omitted":1,
 "offsetSeconds":0,"reserveCpc":0,"reserveCpm":0,"campaigns":[{"id":"c-1","vendor":0,"charge":"CPC","budget":5000000,"clickRate":0.05},
  {"id":"c-2","vendor":1,"charge":"CPC","budget":5000000,"clickRate":0.05}],
 "auctions":[{"at":1772445600000,"slots":1,"bids":[[0,800000,1073741824],[1,700000,1073741824]]},
  {"at":1772427600000,"slots":2,"bids":[[0,500000,1073741824],[1,500000,1073741824]]}]}`

// A recording is exported from a node and simulated with another budget.
func TestRecordExport(t *testing.T) {
	var asked string
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.RequestURI + " " + r.Header.Get("Authorization")
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write([]byte(recordingText))
	}))
	defer node.Close()
	file := filepath.Join(t.TempDir(), "day.json")
	run := func(args ...string) (int, string) {
		var out strings.Builder
		p := &process{out: &out, err: &out, environ: []string{"GAVEL_MANAGE=" + node.URL, "GAVEL_MANAGE_KEY=secret"}}
		return p.run(args), out.String()
	}
	code, out := run("record", "export", file)
	if code != exitSuccess || asked != "GET /public/v1/auctions/recorded Bearer secret" || !strings.Contains(out, "2 auctions of 2 campaigns, one request in 500") {
		t.Fatalf("%d, %s, asked %s", code, out, asked)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != recordingText {
		t.Errorf("%v: %s", err, text)
	}
	if code, out = run("record", "export", "-"); code != exitSuccess || out != recordingText {
		t.Errorf("%d, %s", code, out)
	}
	if code, out = run("record", "export", "--key", "wrong", file); code != exitFailed || !strings.Contains(out, "401") {
		t.Errorf("%d, %s", code, out)
	}
	code, out = run("simulate", "--seeds", "1", "--policies", "gavel", "--traffic", file, "--set-budget", "c-1=20", "--scale-bids", "c-2=0.5")
	if code != exitSuccess || !strings.Contains(out, "Campaigns (means over the seeds)") || !strings.Contains(out, "20.00") {
		t.Errorf("%d\n%s", code, out)
	}
	if code, out = run("simulate", "--traffic", file, "--set-budget", "c-3=20"); code != exitUsage || !strings.Contains(out, "no campaign c-3") {
		t.Errorf("%d\n%s", code, out)
	}
	if code, out = run("simulate", "--traffic", file, "--set-budget", "c-1=none"); code != exitUsage || !strings.Contains(out, "must be a number") {
		t.Errorf("%d\n%s", code, out)
	}
}
