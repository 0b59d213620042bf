package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/scenarios"
)

// run calls the command against a fake node with a small market.
func run(t *testing.T, f *fake, args ...string) (code int, out outcome, errors string) {
	t.Helper()
	server := startFake(t, f)
	all := append([]string{
		"--auction", server.URL, "--manage", server.URL, "--auction-key", "a", "--management-key", "m", "--json",
		"--products", "200", "--vendors", "4", "--campaigns", "4", "--bids", "50", "--tokens", "2000", "--workers", "4",
		"--duration", "150ms",
	}, args...)
	var stdout, stderr bytes.Buffer
	code = command(t.Context(), all, &stdout, &stderr)
	if stdout.Len() > 0 {
		if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
			t.Fatalf("%v in %s", err, stdout.String())
		}
	}
	return code, out, stderr.String()
}

func TestEveryScenarioAgreesWithTheReports(t *testing.T) {
	for _, scenario := range scenarios.All {
		for _, rate := range []string{"0", "2000"} {
			code, out, text := run(t, &fake{}, "--rate", rate, scenario)
			if code != exitOK || len(out.Faults) > 0 || !out.Compared || out.Requests == 0 {
				t.Fatalf("%s at rate %s: exit %d, %+v %s", scenario, rate, code, out, text)
			}
			if (scenario == "clicks") != (out.Clicks > 0 && out.Clicks == out.Events) {
				t.Errorf("%s: %d clicks in %d events", scenario, out.Clicks, out.Events)
			}
			if (scenario == "clicks" || scenario == "sales") && out.Charged != out.Clicks {
				t.Errorf("%d charged, %d acknowledged", out.Charged, out.Clicks)
			}
			if out.Checked == 0 {
				t.Errorf("%s: no answer was checked", scenario)
			}
			for _, p := range out.Pages {
				if p.Requests == 0 || p.Winners == 0 {
					t.Errorf("%s: %d winners in %d answers for %s", scenario, p.Winners, p.Requests, p.Page)
				}
			}
			if want := map[string]int{"mixed": 1, "search": 1, "banners": 1, "travel": 1, "storefront": 4}[scenario]; len(out.Pages) != want {
				t.Errorf("%s has %d kinds of pages, want %d", scenario, len(out.Pages), want)
			}
		}
	}
}

func TestUnknownOutcomesAreRepeatedAndCountedOnce(t *testing.T) {
	for name, f := range map[string]*fake{"503": {unknownIn: 3}, "cut": {dropIn: 3}} {
		code, out, text := run(t, f, "--duration", "1m", "--tokens", "1000", "--events", "10", "clicks") // It ends when the tokens are used up.
		if code != exitOK || out.Settled == 0 || !out.Starved {
			t.Fatalf("%s: exit %d, %+v %s", name, code, out, text)
		}
		// 100 bodies of 10 clicks, whatever their first outcome was: each is charged once.
		if out.Charged != 1_000 || out.Clicks+int64(out.Settled)*10 != 1_000 {
			t.Errorf("%s: %d charged, %d acknowledged, %d bodies resolved", name, out.Charged, out.Clicks, out.Settled)
		}
	}
}

func TestDifferencesAreAFault(t *testing.T) {
	for name, tc := range map[string]struct {
		fake *fake
		word string
	}{
		"acknowledged and lost": {&fake{lose: 7}, "charged clicks"},
		"counted twice":         {&fake{unknownIn: 2, double: true}, "clicks: "},
		"wrong winner":          {&fake{strange: true}, "was not asked for"},
	} {
		scenario := "clicks"
		if name == "wrong winner" {
			scenario = "auctions"
		}
		code, out, _ := run(t, tc.fake, "--events", "10", scenario)
		if code != exitFailed || !strings.Contains(strings.Join(out.Faults, "\n"), tc.word) {
			t.Errorf("%s: exit %d, faults %q", name, code, out.Faults)
		}
	}
}

// A server that takes 20 ms with one connection at 200 requests a second falls behind: the last request of 150 ms is sent
// some 450 ms late, and its latency has to say so. A closed loop would report 20 ms for all of them.
func TestLatencyCountsFromTheIntendedTime(t *testing.T) {
	code, out, text := run(t, &fake{delay: 20 * time.Millisecond}, "--rate", "200", "--workers", "1", "--slo", "p50=30ms", "auctions")
	if code != exitSLO || len(out.Missed) != 1 {
		t.Fatalf("exit %d, %+v %s", code, out, text)
	}
	if out.Requests != 30 || out.Latency["max"] < 400*time.Millisecond {
		t.Errorf("%d requests, longest %v", out.Requests, out.Latency["max"])
	}
}

func TestUsage(t *testing.T) {
	keys := []string{"--auction-key", "a", "--management-key", "m"}
	for name, args := range map[string][]string{
		"no scenario":      keys,
		"unknown scenario": append([]string{}, append(keys, "clics")...),
		"no keys":          {"--auction-key", "", "--management-key", "", "clicks"},
		"bad shape":        append([]string{"--shape", "6x1"}, append(keys, "clicks")...),
		"bad target":       append([]string{"--slo", "p99"}, append(keys, "clicks")...),
		"bad rate":         append([]string{"--rate", "fast"}, append(keys, "clicks")...),
		"too many events":  append([]string{"--events", "51"}, append(keys, "clicks")...),
	} {
		var stdout, stderr bytes.Buffer
		if code := command(t.Context(), args, &stdout, &stderr); code != exitUsage || stderr.Len() == 0 {
			t.Errorf("%s: exit %d, %q", name, code, stderr.String())
		}
	}
}

func TestTextReport(t *testing.T) {
	server := startFake(t, &fake{})
	var stdout, stderr bytes.Buffer
	code := command(t.Context(), []string{
		"--auction", server.URL, "--manage", server.URL, "--auction-key", "a", "--management-key", "m", "--tokens", "500",
		"--products", "100", "--campaigns", "2", "--vendors", "2", "--bids", "50", "--duration", "5s", "clicks",
	}, &stdout, &stderr)
	for _, want := range []string{"charges acked      500 ", "answered 200", "latency p99.9", "the reports agree"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("exit %d, no %q in:\n%s%s", code, want, stdout.String(), stderr.String())
		}
	}
}
