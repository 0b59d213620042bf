package pacing_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/bench/pacing"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	"github.com/gavel-ads/gavel/bench/pacing/virtual"
	controller "github.com/gavel-ads/gavel/shard/pacing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata")

// options returns a comparison that takes about a second.
func options(policies ...string) *pacing.Options {
	return &pacing.Options{
		Seeds: []uint64{1, 2}, Policies: policies, Bound: true, Jobs: 2, Events: []int64{12 * scenario.Hour},
		Virtual: virtual.Config{Nodes: 2, LagMillis: 1000}, Controller: controller.Defaults(),
		Day: func(seed uint64, number int) (*scenario.Day, error) {
			c := scenario.Default(seed, 16)
			c.Number, c.Requests, c.Categories, c.BudgetClicks = number, 6000, 3, 8
			return scenario.New(&c), nil
		},
	}
}

func compare(t *testing.T, o *pacing.Options) (*pacing.Report, []byte) {
	t.Helper()
	r, err := pacing.Compare(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	return r, b.Bytes()
}

// The same options give the same bytes, also with another number of jobs, and those of testdata/tiny.json. The
// controller is not part of the file, because it has golden files of its own.
func TestSameSeedsSameBytes(t *testing.T) {
	policies := []string{"gavel", "none", "sgd"}
	if testing.Short() {
		policies = policies[:1]
	}
	_, first := compare(t, options(policies...))
	one := options(policies...)
	one.Jobs = 1
	if _, second := compare(t, one); !bytes.Equal(first, second) {
		t.Error("two comparisons with the same seeds differ")
	}
	_, got := compare(t, options("none", "ptr", "smart-pacing"))
	name := filepath.Join("testdata", "tiny.json")
	if *rewrite {
		if err := os.WriteFile(name, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOARCH == "amd64" && !bytes.Equal(got, want) { // Others may fuse a multiplication and an addition.
		t.Errorf("the result is not that of %s; if that is wanted, run the test with -rewrite and read the difference", name)
	}
}

// All policies run, with and without the hold; nothing is billed above a budget, and no policy exceeds the bound.
func TestAllPolicies(t *testing.T) {
	names := pacing.Names()
	if testing.Short() { // Hindsight alone takes 40 runs.
		names = []string{"gavel", "none", "pid-bid", "sgd"}
	}
	o := options(names...)
	o.Seeds = []uint64{3}
	steps, all := 0, 0
	o.Progress = func(done, of int) { steps, all = done, of }
	r, _ := compare(t, o)
	want := 0
	for _, name := range names {
		want += 2
		if strings.HasPrefix(name, "gavel") {
			want-- // The controller keeps the hold itself.
		}
	}
	if len(r.Rows) != want {
		t.Errorf("%d rows of %d policies", len(r.Rows), len(names))
	}
	if steps != all || all != len(r.Rows)+3 {
		t.Errorf("progress ended at %d of %d", steps, all)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if over := row.Mean["overspend"]; over.Count != 1 || over.Mean != 0 {
			t.Errorf("%s: overspend %+v", row.Name(), over)
		}
		if w := row.Mean["welfare"]; !(w.Mean > 0.3 && w.Mean <= 1) {
			t.Errorf("%s: liquid welfare is %g of its bound", row.Name(), w.Mean)
		}
		if row.Recovery == nil {
			t.Errorf("%s: no recovery", row.Name())
		}
	}
}

func TestText(t *testing.T) {
	r, _ := compare(t, options("none", "ptr"))
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"16 campaigns", "seeds 1-2", "none + hold", "Budgets: difference from none", "±", "After the events", "KS 10"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

func TestPlots(t *testing.T) {
	r, _ := compare(t, options("none", "ptr"))
	dir := filepath.Join(t.TempDir(), "plots")
	if err := r.WritePlots(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ks.svg", "spend-small.svg", "pacing-small.svg"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(text, []byte("<svg ")) || !bytes.Contains(text, []byte("ptr + hold")) || bytes.Contains(text, []byte("NaN")) {
			t.Errorf("%s is no chart: %.200s", name, text)
		}
	}
}

func TestRefusals(t *testing.T) {
	o := options("none")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := pacing.Compare(ctx, o); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := pacing.Compare(context.Background(), options("unknown")); err == nil || !strings.Contains(err.Error(), "mirror-descent") {
		t.Errorf("an unknown policy: %v", err)
	}
	o = options("none")
	o.Virtual.Nodes = 0
	if _, err := pacing.Compare(context.Background(), o); err == nil {
		t.Error("no node is accepted")
	}
	o = options("none")
	failed := errors.New("no day")
	o.Day = func(uint64, int) (*scenario.Day, error) { return nil, failed }
	if _, err := pacing.Compare(context.Background(), o); !errors.Is(err, failed) {
		t.Error(err)
	}
}
