//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/internal/sources"
	"github.com/gavel-ads/gavel/loadtest/nemesis/check"
	"github.com/gavel-ads/gavel/loadtest/nemesis/environment"
	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
	"github.com/gavel-ads/gavel/loadtest/shop"
)

// TestNemesis is a short run with gentle faults. Go caches its result until something changes that is built into the node.
//
//	NEMESIS_MINUTES=10 NEMESIS_SEED=7 go test ./loadtest/nemesis -run TestNemesis -timeout 30m    as root, on Linux
func TestNemesis(t *testing.T) {
	if testing.Short() {
		t.Skip("breaks real processes for minutes")
	}
	if err := environment.Check(false); err != nil {
		t.Skipf("SKIPPED: this machine cannot make a run: %v", err)
	}
	sources.Build(t, "github.com/gavel-ads/gavel/node") // The run builds the node in another process, which the test cache does not see.
	setting := func(name, otherwise string) string {
		if text := os.Getenv(name); text != "" {
			return text
		}
		return otherwise
	}
	minutes, nodes, seed := setting("NEMESIS_MINUTES", "3"), setting("NEMESIS_NODES", "3"), setting("NEMESIS_SEED", "0")
	var out, progress bytes.Buffer
	file := filepath.Join(t.TempDir(), "report.json")
	code := command(t.Context(), []string{
		"--minutes", minutes, "--nodes", nodes, "--seed", seed, "--gentle", "--rate", "80", "--install=false", "--json", file,
		"--first", strings.Join(requiredFaults, ","),
	}, &out, &progress)
	t.Logf("%s\n%s", progress.String(), out.String())
	if code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	var rep report
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &rep)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range requiredFaults {
		if rep.Faults[name].Count == 0 {
			t.Errorf("the run had no fault of kind %s", name)
		}
	}
	for _, v := range rep.Checks {
		if strings.HasPrefix(v.Check, "no campaign on a node cut off") && v.Checked == 0 {
			t.Errorf("%s: nothing was compared", v.Check)
		}
	}
	if rep.Events < 1_000 || rep.Charged < 100 {
		t.Errorf("%d events, %d charged: the load is too small", rep.Events, rep.Charged)
	}
}

// requiredFaults are the kinds of faults that every short run has first, whatever its seed draws after them.
var requiredFaults = []string{"kill-leader", "cut-leader", "rolling", "wipe"}

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // A part of the error; empty: there is none.
	}{
		{"", ""},
		{"--minutes 60 --nodes 5 --seed 7 --faults kill-one,loss", ""},
		{"--nodes 4", "--nodes 4: want 1, 3 or 5"},
		{"--minutes 0", "--minutes 0"},
		{"--rate 0", "--rate 0"},
		{"--faults kill-one --first wipe,kill-one", ""},
		{"--nodes 1 --first wipe", "--first: wipe needs 3 nodes"},
		{"--first flood", `no kind "flood"`},
		{"--faults kill-one,earthquake", `no kind "earthquake"`},
		{"more", `unexpected argument "more"`},
	} {
		o, err := parse(strings.Fields(c.args), &bytes.Buffer{})
		switch {
		case c.want == "" && (err != nil || o.seed == 0):
			t.Errorf("%q: %v, seed %d", c.args, err, o.seed)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: got %v, want %q", c.args, err, c.want)
		}
	}
	var help bytes.Buffer
	if code := command(t.Context(), []string{"--help"}, &help, &help); code != exitOK || !strings.Contains(help.String(), "power-all") {
		t.Errorf("help ends with %d: %s", code, help.String())
	}
}

// The schedule follows from the seed, respects the size of the cluster, and never has two faults of one domain together.
func TestSchedule(t *testing.T) {
	draw := func(seed uint64, nodes int) (all []string) {
		r := rand.New(rand.NewPCG(seed, 1))
		for range 2_000 {
			first := pickKind(r, kindNames(), nodes, "")
			second := pickKind(r, kindNames(), nodes, first)
			a, b := kinds[first], kinds[second]
			if nodes < a.least || second != "" && (nodes < b.least || a.domain == b.domain || a.domain == alone || b.domain == alone) {
				t.Fatalf("%s with %s on %d nodes", first, second, nodes)
			}
			all = append(all, first, second)
		}
		return all
	}
	seen := map[string]bool{}
	for _, name := range draw(1, 5) {
		seen[name] = true
	}
	for name := range kinds {
		if !seen[name] {
			t.Errorf("%s is never drawn", name)
		}
	}
	if !slices.Equal(draw(7, 3), draw(7, 3)) || slices.Equal(draw(7, 3), draw(8, 3)) {
		t.Error("the schedule does not follow from the seed")
	}
	draw(1, 1)
	if got := pickKind(rand.New(rand.NewPCG(1, 1)), []string{"wipe"}, 3, "kill-one"); got != "" {
		t.Errorf("%s beside a kill", got)
	}
}

func TestReport(t *testing.T) {
	h := history.New()
	for i := range 100 {
		h.Faults = append(h.Faults, history.Fault{Kind: "kill-leader", Begin: time.Duration(i) * time.Minute, Settled: time.Duration(i)*time.Minute + time.Second})
		h.Writes = append(h.Writes, history.Write{Invoke: time.Duration(i) * time.Minute, Return: time.Duration(i)*time.Minute + time.Duration(i+1)*time.Millisecond})
	}
	h.Faults = append(h.Faults, history.Fault{Kind: "loss", Begin: 99 * time.Minute, Settled: 100 * time.Minute})
	check.Measure(h)
	lines := faultLines(h)
	if l := lines["kill-leader"]; l.Count != 100 || l.Alone != 99 || l.GapMedian != 50 || l.GapP99 != 99 || l.GapMax != 99 {
		t.Errorf("%+v", l)
	}
	if l := lines["loss"]; l.Count != 1 || l.Alone != 0 {
		t.Errorf("%+v", l)
	}
	rep := &report{Seed: 7, Faults: lines, Operations: operations(h), Checks: []check.Result{{Check: "nothing is lost", Violations: []string{"LOST an event"}, Count: 1}}}
	var text bytes.Buffer
	rep.write(&text)
	for _, want := range []string{"seed 7", "kill-leader", "LOST an event"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, text.String())
		}
	}
}

func TestCertificatesAndKindsAreComplete(t *testing.T) {
	dir := t.TempDir()
	if err := writeCertificates(dir, []string{"n1", "n2"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"authority.pem", "n1.pem", "n1.key", "n2.pem", "n2.key"} {
		if text, err := os.ReadFile(dir + "/" + name); err != nil || !strings.HasPrefix(string(text), "-----BEGIN ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, k := range maps.All(kinds) {
		if k.bound == nil && !slices.Contains([]string{"kill-all", "power-all", "loss", "slow-disk", "transfer-storm"}, name) {
			t.Errorf("%s has no bound of its write gap", name)
		}
		if k.do == nil || k.weight < 1 || k.least < 1 || k.domain == "" {
			t.Errorf("%s: %s", name, fmt.Sprint(strconv.Itoa(k.weight), k.domain))
		}
	}
}

func TestAuditIsComparedWithTheReport(t *testing.T) {
	vendor := &history.Vendor{ID: "v"}
	c := &history.Campaign{ID: "c", Name: "campaign", Vendor: vendor}
	vendor.Campaigns = []*history.Campaign{c}
	h := history.New()
	h.Vendors = []*history.Vendor{vendor}
	final := &check.FinalState{
		Reports: map[*history.Campaign]history.ReportRead{c: {Numbers: history.Numbers{
			Total: [3]int64{5, 3, 9}, Charged: [3]int64{0, 2, 4}, Spent: [3]shop.Micros{0, 30, 40},
		}}},
		Balances: map[*history.Vendor]shop.Micros{vendor: 30},
	}
	h.Reversed = []history.Reversal{{Outcome: history.OK}, {Outcome: history.Refused}, {Outcome: history.Refused, Doubtful: true}}
	const honest = `{"groups":[{"reversals":1},{"reversals":0}],
		"campaigns":[{"id":"c","spentMicros":70,"impressions":5,"clicks":3,"chargedClicks":2,"chargedPurchases":4}],
		"wallets":[{"vendor":"v","balanceMicros":10},{"vendor":"v","balanceMicros":20}]}`
	if compared, faults := compareAudit([]byte(honest), h, final); compared != 2 || faults != nil {
		t.Errorf("%d compared, %q", compared, faults)
	}
	for _, planted := range [][2]string{
		{"70", "71"},
		{`"impressions":5`, `"impressions":4`},
		{`"chargedClicks":2`, `"chargedClicks":3`},
		{`"chargedPurchases":4`, `"chargedPurchases":5`},
		{`"reversals":1`, `"reversals":0`},
		{`"reversals":0`, `"reversals":2`},
		{"20", "19"},
		{`"id":"c"`, `"id":"d"`},
		{`"vendor":"v"`, `"vendor":"w"`},
		{"[{", "{"},
	} {
		if _, faults := compareAudit([]byte(strings.Replace(honest, planted[0], planted[1], 1)), h, final); faults == nil {
			t.Errorf("%s instead of %s: not found", planted[1], planted[0])
		}
	}
}
