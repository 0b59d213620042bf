package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/internal/sources"
	"github.com/gavel-ads/gavel/loadtest/scenarios"
)

// Every scenario file has valid flags, and the flags of the command line replace those of the file.
func TestScenarioFiles(t *testing.T) {
	keys := []string{"--auction-key", "a", "--management-key", "m"}
	names := scenarios.FileNames()
	for _, want := range []string{"storefront-mix", "banner-page", "search-page", "travel-page", "event-flood", "diurnal", "flash-crowd"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no scenario file %s", want)
		}
	}
	for _, name := range names {
		cfg, err := parseFlags(append(keys, name), &strings.Builder{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if cfg.name != name || !slices.Contains(scenarios.All, cfg.scenario) || cfg.plan.Duration() < 20*time.Second {
			t.Errorf("%s: sends %s for %v", name, cfg.scenario, cfg.plan.Duration())
		}
		cfg, err = parseFlags(append(keys, "--duration", "3s", name), &strings.Builder{})
		if err != nil || cfg.plan.Duration() != 3*time.Second {
			t.Errorf("%s with --duration 3s: %v", name, err)
		}
	}
}

// A file of the user is read as those of this repository are. What is wrong with it is said.
func TestScenarioFilesOfUsers(t *testing.T) {
	for text, want := range map[string]string{
		`{"traffic": "search", "flags": {"rate": "2000", "slots": "2"}}`: "",
		`{"traffic": "searches"}`:                          `traffic "searches": want auctions`,
		`{"traffic": "search", "flags": {"speed": "2"}}`:   `flag "speed"`,
		`{"traffic": "search", "flags": {"slots": "two"}}`: `flag "slots" with value "two"`,
		`{"traffic": "search", "rate": "2"}`:               `unknown field "rate"`,
		`traffic: search`:                                  "invalid character",
	} {
		path := filepath.Join(t.TempDir(), "mine.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := parseFlags([]string{"--auction-key", "a", "--management-key", "m", path}, &strings.Builder{})
		if want == "" && (err != nil || cfg.scenario != "search" || cfg.slots != 2) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %+v %v", text, cfg, err)
		}
	}
	if _, err := scenarios.Find(filepath.Join(t.TempDir(), "none.json")); err == nil || !strings.Contains(err.Error(), "storefront-mix") {
		t.Errorf("a missing file: %v", err)
	}
}

// A market without the ads of a page proves nothing about it, so a run on it fails.
func TestPagesWithoutWinnersAreAFault(t *testing.T) {
	for _, scenario := range []string{"search", "banners", "travel", "storefront"} {
		code, out, text := run(t, &fake{adless: true}, scenario)
		if code != exitFailed || !strings.Contains(strings.Join(out.Faults, "\n"), "had a winner") {
			t.Errorf("%s: exit %d, %q %s", scenario, code, out.Faults, text)
		}
	}
}

// Requests are spread over all listeners, and each has its own latencies.
func TestSeveralTargets(t *testing.T) {
	f := &fake{}
	first := startFake(t, f)
	second := httptest.NewServer(f)
	t.Cleanup(second.Close)
	code, out, text := run(t, f, "--auction", first.URL+","+second.URL, "--rate", "1000", "mixed")
	if code != exitOK || len(out.Targets) != 2 {
		t.Fatalf("exit %d, %+v %s", code, out, text)
	}
	sum := int64(0)
	for i, url := range []string{first.URL, second.URL} {
		target := out.Targets[i]
		sum += target.Requests
		if target.URL != url || target.Requests == 0 || target.Latency["p99"] == 0 {
			t.Errorf("%+v", target)
		}
	}
	if sum != out.Requests {
		t.Errorf("%d requests to the targets, %d in all", sum, out.Requests)
	}
	if code, _, text := run(t, f, "--auction", first.URL+",https://other", "mixed"); code != exitUsage || !strings.Contains(text, `"https://other"`) {
		t.Errorf("exit %d: %s", code, text)
	}
}

// TestEveryPageWinsOnANode sends the pages of a storefront to a real node: each kind has winners, and the reports agree with the events.
func TestEveryPageWinsOnANode(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts a node")
	}
	binary := filepath.Join(t.TempDir(), "gavel")
	sources.Program(t, "github.com/gavel-ads/gavel/node", binary)
	for _, scenario := range []string{"storefront-mix", "search-page", "banner-page", "travel-page"} {
		var out, progress strings.Builder
		code := command(t.Context(), []string{
			"--node", binary, "--products", "400", "--vendors", "4", "--campaigns", "8", "--bids", "50", "--duration", "2s", "--rate", "200",
			"--bare=false", scenario,
		}, &out, &progress)
		if code != exitOK || !strings.Contains(out.String(), "winners ") || !strings.Contains(out.String(), "the reports agree") {
			t.Errorf("%s: exit %d\n%s\n%s", scenario, code, progress.String(), out.String())
		}
	}
}
