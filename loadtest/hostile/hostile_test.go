//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/internal/sources"
	"github.com/gavel-ads/gavel/loadtest/hostile/attack"
)

// The run starts its own program as the process of the attackers, which is the test binary here.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == attackersCommand {
		os.Exit(attackersProcess(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestHostile is a short run with all attackers. Latencies are not compared: other tests run beside it.
//
//	HOSTILE_MINUTES=0.4 go test ./loadtest/hostile -run TestHostile -timeout 30m
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("attacks a real process for a minute")
	}
	minutes := os.Getenv("HOSTILE_MINUTES")
	if minutes == "" {
		t.Skip("SKIPPED: HOSTILE_MINUTES is not set; 0.4 is a run of half a minute")
	}
	sources.Build(t, "github.com/gavel-ads/gavel/node") // The run builds the node in another process, which the test cache does not see.
	args := []string{"--minutes", minutes, "--pairs", "1", "--seed", "7", "--rate", "200", "--workers", "8", "--quick", "--ratio", "0"}
	o, err := parse(args, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if err := possible(o); err != nil {
		t.Skipf("SKIPPED: this machine cannot make the run: %v", err)
	}
	file := filepath.Join(t.TempDir(), "report.json")
	var out, progress bytes.Buffer
	code := command(t.Context(), append(args, "--json", file), &out, &progress)
	t.Logf("%s\n%s", progress.String(), out.String())
	if code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	var rep report
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &rep)
	}
	if err != nil || len(rep.Checks) < 10 || len(rep.Attackers) != len(attack.Kinds()) {
		t.Errorf("%d checks, %d attackers, %v", len(rep.Checks), len(rep.Attackers), err)
	}
}

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // A part of the error; empty: there is none.
	}{
		{"", ""},
		{"--minutes 60 --seed 7 --memory 512MiB --only idle,quota", ""},
		{"--minutes 0", "--minutes 0"},
		{"--memory lots", `--memory "lots"`},
		{"--memory 0GiB", "--memory"},
		{"--files 10", "--files 10"},
		{"--only flood", `no attacker "flood"`},
		{"--ratio 0.5", "--ratio 0.5"},
		{"--pairs -1", "--pairs -1"},
		{"--rate -1", "--rate -1"},
		{"--workers 0", "--workers 0"},
		{"more", `unexpected argument "more"`},
	} {
		o, err := parse(strings.Fields(c.args), &bytes.Buffer{})
		switch {
		case c.want == "" && (err != nil || o.seed == 0 || o.connections <= o.files):
			t.Errorf("%q: %v, %+v", c.args, err, o)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: got %v, want %q", c.args, err, c.want)
		}
	}
	var help bytes.Buffer
	if code := command(t.Context(), []string{"--help"}, &help, &help); code != exitOK || !strings.Contains(help.String(), "framing") {
		t.Errorf("help ends with %d: %s", code, help.String())
	}
	if code := command(t.Context(), []string{"--files", "100000000"}, &help, &help); code != exitSkipped {
		t.Errorf("a run with more files than the machine allows ends with %d", code)
	}
}

// All windows with attackers together are as long as requested, and each has one without on both sides.
func TestWindows(t *testing.T) {
	for _, c := range []struct {
		length time.Duration
		pairs  int
	}{{time.Hour, 15}, {3 * time.Minute, 3}, {10 * time.Second, 1}} {
		all := windowsOf(c.length, c.pairs)
		var attacked, at time.Duration
		for i, w := range all {
			if w.Begin != at || w.Attack != (i%2 == 1) || w.Counted < w.Begin || w.Counted >= w.End || w.Attack && w.Counted != w.Begin {
				t.Errorf("%v: window %d is %+v", c, i, w)
			}
			if w.Attack {
				attacked += w.End - w.Begin
			}
			if windowAt(all, w.Begin) != i || windowAt(all, w.End-1) != i {
				t.Errorf("%v: window %d is not found", c, i)
			}
			at = w.End
		}
		if attacked != c.length || len(all) != 2*c.pairs+1 {
			t.Errorf("%v: %v under attack in %d windows", c, attacked, len(all))
		}
		if windowAt(all, at+time.Hour) != len(all)-1 {
			t.Error("what comes after the end has no window")
		}
	}
}

func TestStatusOfAProcess(t *testing.T) {
	u, err := parseStatus([]byte("Name:\tgavel\nVmPeak:\t 9 kB\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\nThreads:\t5\n"))
	if err != nil || u.RSS != 1<<20 || u.Peak != 2<<20 {
		t.Errorf("%+v %v", u, err)
	}
	if _, err := parseStatus([]byte("VmRSS:\t 1024 kB\n")); err == nil {
		t.Error("half a status is taken")
	}
	if u, err := usageOf(os.Getpid()); err != nil || u.RSS == 0 || u.Files < 3 {
		t.Errorf("%+v %v", u, err)
	}
	if n, err := parseBytes("1GiB"); err != nil || n != 1<<30 {
		t.Errorf("%d %v", n, err)
	}
}

// The audit log is read over all its pages, and missing entries are named. An entry is without an answer when its status says so, whatever name
// the campaign had when the answer was made.
func TestMissingAuditEntriesAreFound(t *testing.T) {
	const entries, perPage = 250, 100
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("next_page"))
		var page struct {
			Entries  []map[string]any `json:"entries"`
			HasMore  bool             `json:"hasMore"`
			NextPage string           `json:"nextPage"`
		}
		for i := from; i < min(from+perPage, entries); i++ {
			if i != 77 && i != 249 {
				page.Entries = append(page.Entries, entryOf(i))
			}
		}
		page.HasMore, page.NextPage = from+perPage < entries, strconv.Itoa(from+perPage)
		_ = json.NewEncoder(w).Encode(page)
	}))
	defer server.Close()
	api := attack.NewClient(server.Listener.Addr().String(), "key", attack.NewSources(0))
	found, err := auditEntries(t.Context(), api)
	if err != nil || len(found) != entries-2 {
		t.Fatalf("%d found, %v", len(found), err)
	}
	var marks []string
	for i := range entries {
		marks = append(marks, fmt.Sprintf("mark-%d", i))
	}
	missing, unanswered := compareMarks(found, marks)
	if !slices.Equal(missing, []string{"mark-77", "mark-249"}) || unanswered != 2 {
		t.Errorf("missing are %v, %d have no answer", missing, unanswered)
	}
}

// entryOf returns entry i of the log. Two of the entries do not say that the change was made, one leaves out what was answered, and one
// has the name of a later change.
func entryOf(i int) map[string]any {
	e := map[string]any{
		"path": fmt.Sprintf("/campaigns/c?mark=mark-%d", i), "status": 200, "after": map[string]any{"name": fmt.Sprintf("mark-%d", i)},
	}
	switch i {
	case 5:
		e["status"], e["after"] = 0, nil
	case 6:
		e["status"] = 503
	case 7:
		e["after"] = map[string]any{"omittedBytes": 5_000}
	case 8:
		e["after"] = map[string]any{"name": "mark-48"}
	}
	return e
}
