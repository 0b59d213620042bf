package daemon

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/demo"
	"github.com/gavel-ads/gavel/node/fsck"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

func smallHistory(days int) Options {
	return Options{Demo: &DemoOptions{Products: 2000, Vendors: 30, Campaigns: 90, HistoryDays: days}}
}

// The first start of a demo has a past: reports of earlier days with what shoppers did, an audit log of what the operator
// did. Today goes on as on any node, the ledger balances, no day has spent more than its budget, the log gives the same
// state again, and the next start writes no second history.
func TestTheDemoHasAHistory(t *testing.T) {
	cfg := testConfig(t.TempDir(), 2)
	today := time.Now().UTC()
	r := run(t, cfg, smallHistory(3))
	r.filled()
	if !strings.Contains(r.out.String(), "3 days of history") {
		t.Errorf("printed %s", r.out)
	}
	r.showsEarlierDays(today)
	r.showsTheOperator(today)
	r.chargesToday()
	r.stop()

	first := checkedDirectory(t, cfg.DataDir)
	balances(t, first)
	keepsDailyBudgets(t, cfg, today)

	r = run(t, cfg, smallHistory(3))
	r.filled()
	if strings.Contains(r.out.String(), "of history") {
		t.Errorf("a second start printed %s", r.out)
	}
	r.stop()
	second := checkedDirectory(t, cfg.DataDir)
	for i, g := range second.Groups {
		if was := first.Groups[i]; g.Charges != was.Charges || g.Campaigns != was.Campaigns || g.EventKeys != was.EventKeys {
			t.Errorf("group %d had %d charges, %d campaigns and %d events, and after a restart %d, %d and %d",
				g.Group, was.Charges, was.Campaigns, was.EventKeys, g.Charges, g.Campaigns, g.EventKeys)
		}
	}
	replays(t, cfg.DataDir, second)
}

// marketplaceReport returns the marketplace's report from a day to a day, both counted from today.
func (r *runningNode) marketplaceReport(today time.Time, from, to int) map[string]any {
	r.Helper()
	day := func(n int) string { return today.AddDate(0, 0, n).Format(time.DateOnly) }
	return r.must(200, "GET", r.manage+"/public/v1/reporting-service/marketplace?start_date="+day(from)+"&end_date="+day(to), r.keys.Management, "")
}

// number returns a member of a member of an answer.
func number(answer map[string]any, member, of string) float64 {
	n, _ := answer[member].(map[string]any)[of].(float64)
	return n
}

// showsEarlierDays checks the reports of the last two days, which are whole also when the test began before a midnight.
func (r *runningNode) showsEarlierDays(today time.Time) {
	r.Helper()
	for _, day := range []int{-2, -1} {
		got := r.marketplaceReport(today, day, day)
		lost, _ := got["auctions"].(map[string]any)["reasons"].(map[string]any)
		if number(got, "impressions", "adSpent") <= 0 || number(got, "clicks", "adSpent") <= 0 || number(got, "clicks", "charged") <= 0 ||
			number(got, "auctions", "won") <= 0 || len(lost) == 0 {
			r.Errorf("day %d has %v", day, got)
		}
	}
	all := r.marketplaceReport(today, -3, 0)
	if number(all, "purchases", "count") <= 0 || number(all, "attributed", "count") <= 0 || number(all, "attributed", "roas") <= 0 {
		r.Errorf("all days have %v", all)
	}
}

// showsTheOperator checks that the audit log has the changes that the operator made on the second day.
func (r *runningNode) showsTheOperator(today time.Time) {
	r.Helper()
	got := r.must(200, "GET", r.manage+"/public/v1/audit-service/entries?key_id="+demoOperator+"&operation=patchCampaign", r.keys.Management, "")
	entries := got["entries"].([]any)
	if len(entries) < 4 {
		r.Fatalf("audit log %v", got)
	}
	for _, e := range entries {
		x := e.(map[string]any)
		if at, err := time.Parse(time.RFC3339, x["at"].(string)); err != nil || !at.Before(today) || x["before"] == nil || x["after"] == nil || x["status"] != 200. {
			r.Errorf("audit entry %v", x)
		}
	}
}

// chargesToday checks that an auction and a click now are charged and counted today.
func (r *runningNode) chargesToday() {
	r.Helper()
	call := regexp.MustCompile(`(?m)^  curl -s (\S+)/v2/auctions -H 'Authorization: Bearer (\S+)' -d '(.*)'$`).FindStringSubmatch(r.out.String())
	if call == nil {
		r.Fatalf("printed %s", r.out)
	}
	now := time.Now().UTC()
	before := number(r.marketplaceReport(now, 0, 1), "clicks", "charged")
	won := winners(r.must(201, "POST", call[1]+"/v2/auctions", call[2], call[3]))
	if r.charged() != "0" {
		r.Errorf("the metrics of this start have %s of the days before", r.charged())
	}
	r.must(200, "POST", r.auction+"/v2/events", call[2], click("now", won[0].(map[string]any)["resolvedBidId"].(string)))
	if after := number(r.marketplaceReport(now, 0, 1), "clicks", "charged"); after != before+1 || r.charged() == "0" {
		r.Errorf("%v charged clicks today, %v after another; charged %s", before, after, r.charged())
	}
}

// balances checks that the counters of every campaign add up to its lines of the journal, and that something was charged.
func balances(t *testing.T, r *fsck.Report) {
	t.Helper()
	var all int64
	for _, c := range r.Campaigns {
		all += c.Spent
		if c.Spent != c.SpentImpressions+c.SpentClicks+c.SpentPurchases {
			t.Errorf("the journal and the reports differ: %+v", c)
		}
	}
	for _, g := range r.Groups {
		all -= g.Charged
		if g.Unchecked > 0 || g.Level != uint16(command.LevelNewest) {
			t.Errorf("group %+v", g)
		}
	}
	if all != 0 || len(r.Campaigns) < 90 {
		t.Errorf("%d campaigns, whose lines differ from those of their groups by %d", len(r.Campaigns), all)
	}
}

// keepsDailyBudgets checks what each campaign spent on each day. The operator has lowered some budgets on the second day.
func keepsDailyBudgets(t *testing.T, cfg config.Config, today time.Time) {
	t.Helper()
	budgets := map[string]money.Micros{}
	m := demo.Generate(smallHistory(3).Demo.market())
	for _, c := range append(m.Campaigns, m.Ads.Campaigns...) {
		budgets[c.VendorID+c.Name] = c.Budget
	}
	n, err := start(t.Context(), cfg, Options{}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	tenant := n.store.Tenant(1)
	all, more, err := tenant.Campaigns(t.Context(), store.CampaignFilter{Limit: 1_000})
	if err != nil || more || len(all) < 90 {
		t.Fatalf("%d campaigns: %v", len(all), err)
	}
	changes, _, err := tenant.AuditLog(t.Context(), store.Page{Limit: 100}, func(e *store.AuditEntry) bool { return e.KeyID == demoOperator })
	if err != nil || len(changes) == 0 {
		t.Fatalf("the operator changed nothing: %v", err)
	}
	loweredOn := time.UnixMilli(changes[len(changes)-1].Millis).UTC().Format(time.DateOnly)
	lowered, days := 0, 0
	for i := range all {
		c := &all[i]
		rows, err := tenant.CampaignRows(t.Context(), c.ID, store.Dates{From: today.AddDate(0, 0, -3).Format(time.DateOnly), To: today.AddDate(0, 0, 1).Format(time.DateOnly)}, store.Daily)
		if err != nil {
			t.Fatal(err)
		}
		if c.Budget < budgets[c.VendorID+c.Name] {
			lowered++
		}
		for k := range rows {
			limit := max(c.Budget, budgets[c.VendorID+c.Name])
			if rows[k].Date > loweredOn {
				limit = c.Budget
			}
			if days++; rows[k].Spent() > limit {
				t.Errorf("campaign %q spent %d on %s, of a budget of %d", c.Name, rows[k].Spent(), rows[k].Date, limit)
			}
		}
	}
	if lowered == 0 || days < 3 {
		t.Errorf("%d budgets were lowered; %d days of campaigns", lowered, days)
	}
	if err := n.stop(n.log); err != nil {
		t.Error(err)
	}
}

// replays removes the state of a stopped node and checks that its log gives the same state again.
func replays(t *testing.T, dir string, was *fsck.Report) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	groups, err := raftstore.FoundedGroups(vfs.Default, dir)
	if err != nil {
		t.Fatal(err)
	}
	topology := topologyFrom(groups)
	log, err := raftstore.Open(raftstore.Config{
		Dir: dir, NodeID: config.Default().NodeID, Groups: groups, Expect: 1,
		Machine: func(g uint16) raftstore.StateMachine {
			return shard.New(ids.Group(g), ids.Group(g) == topology.Meta(), shardtest.NewFeed())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range was.Groups {
		if err := log.Group(g.Group).WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := log.Group(g.Group).Status(); s.Commands < 72 || g.LogFirst > 1 {
			t.Errorf("group %d was rebuilt from %d commands; its log begins at %d", g.Group, s.Commands, g.LogFirst)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for i, g := range checkedDirectory(t, dir).Groups {
		if g.Digest != was.Groups[i].Digest {
			t.Errorf("group %d has digest %s, and again from its log %s", g.Group, was.Groups[i].Digest, g.Digest)
		}
	}
}

// A first start that is ended while it writes the history prints the keys, and the next one goes on.
func TestAnInterruptedDemoGoesOn(t *testing.T) {
	cfg := testConfig(t.TempDir(), 1)
	cfg.KeysFile, cfg.Log.Level = "", "info"
	ctx, cancel := context.WithCancel(t.Context())
	out := &output{}
	o := smallHistory(1)
	var printed string // Before the market is filled.
	o.Out, o.Log = out, writerFunc(func(p []byte) (int, error) {
		switch {
		case strings.Contains(string(p), "filling the demo market"):
			printed = out.String()
		case strings.Contains(string(p), "writing the history of the demo"):
			cancel()
		}
		return len(p), nil
	})
	if err := Run(ctx, cfg, o); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(printed, "the first keys") || !strings.Contains(printed, "\nexport GAVEL_MANAGE_KEY=gavel_mgt_") {
		t.Errorf("before the market is filled, the demo printed %q", printed)
	}
	if all := out.String(); strings.Count(all, "GAVEL_MANAGE_KEY=") != 1 {
		t.Errorf("the keys are printed once: %s", all)
	}
	unfinished := filepath.Join(cfg.DataDir, unfinishedHistory)
	if _, err := os.Stat(unfinished); err != nil {
		t.Error(err)
	}
	campaigns := len(checkedDirectory(t, cfg.DataDir).Campaigns)

	again := &output{}
	ctx, cancel = context.WithCancel(t.Context())
	ended := make(chan error, 1)
	cfg.Log.Level = "error"
	go func() {
		options := smallHistory(1)
		options.Out = again
		ended <- Run(ctx, cfg, options)
	}()
	(&runningNode{T: t, out: again}).filled()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(unfinished); !os.IsNotExist(err) {
		t.Errorf("the history is still unfinished: %v", err)
	}
	r := checkedDirectory(t, cfg.DataDir)
	if !strings.Contains(again.String(), "1 days of history") || len(r.Campaigns) != campaigns || campaigns < 90 || r.Groups[0].Charges == 0 {
		t.Errorf("%d campaigns, then %d with %d charges; printed %s", campaigns, len(r.Campaigns), r.Groups[0].Charges, again)
	}
}

type writerFunc func(p []byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

// Only the first start of a demo without peers writes a history, or the one after it was interrupted.
func TestWhoWritesAHistory(t *testing.T) {
	dir := t.TempDir()
	wanted := func(dataDir string, demo *DemoOptions, peers bool) bool {
		t.Helper()
		n := &node{cfg: testConfig(dataDir, 1), demoOptions: demo, log: slog.New(slog.DiscardHandler)}
		n.cfg.DataDir, n.cfg.PeerInsecure = dataDir, peers
		got, err := n.wantsHistory()
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	three := &DemoOptions{HistoryDays: 3}
	for _, step := range []struct {
		what  string
		demo  *DemoOptions
		peers bool
		want  bool
	}{
		{"a node that is no demo", nil, false, false},
		{"a demo without history", &DemoOptions{}, false, false},
		{"a demo of a cluster", three, true, false},
		{"a demo", three, false, true},
		{"the next start of an interrupted one", three, false, true},
		{"a node that is no demo, on its directory", nil, false, false},
		{"a demo without history, on its directory", &DemoOptions{}, false, false},
	} {
		if got := wanted(dir, step.demo, step.peers); got != step.want {
			t.Errorf("%s: %t", step.what, got)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}

	cfg := testConfig(t.TempDir(), 1)
	run(t, cfg, Options{}).stop()
	if wanted(cfg.DataDir, three, false) {
		t.Error("a demo would write a history into the directory of a node that has served")
	}
}

// A past clock goes on by itself, is moved ahead, and never goes back or beyond the wall clock.
func TestThePastClock(t *testing.T) {
	begin := time.Now().Add(-48 * time.Hour)
	c := newPastClock(begin)
	between := func(from, to time.Time) {
		t.Helper()
		if now := c.now(); now.Before(from) || now.After(to) {
			t.Errorf("the clock is at %s, not between %s and %s", now, from, to)
		}
	}
	const slow = time.Hour // The longest pause of a busy machine.
	between(begin, begin.Add(slow))
	c.moveTo(begin.Add(24 * time.Hour))
	between(begin.Add(24*time.Hour), begin.Add(24*time.Hour+slow))
	c.moveTo(begin)
	between(begin.Add(24*time.Hour), begin.Add(24*time.Hour+slow))
	c.moveTo(time.Now().Add(48 * time.Hour))
	if before, now := time.Now(), c.now(); now.Before(before) || now.After(time.Now()) {
		t.Errorf("the clock is at %s and the wall clock was at %s", now, before)
	}
}
