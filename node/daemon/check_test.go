package daemon

import (
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/node/fsck"
	"github.com/gavel-ads/gavel/shard/command"
)

// A single node raises the feature level of its groups by itself.
func TestTheFeatureLevelRises(t *testing.T) {
	cfg := testConfig(t.TempDir(), 2)
	n, err := start(t.Context(), cfg, Options{}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range n.topology.Groups() {
		for deadline := time.Now().Add(time.Minute); n.cluster.Level(g) != command.LevelNewest; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("group %d stays at level %d", g, n.cluster.Level(g))
			}
		}
	}
	if err := n.stop(n.log); err != nil {
		t.Error(err)
	}
	for _, g := range checkedDirectory(t, cfg.DataDir).Groups {
		if g.Level != uint16(command.LevelNewest) {
			t.Errorf("after the stop group %d is at level %d", g.Group, g.Level)
		}
	}
}

// What `gavel check` recomputes from the disk equals what the node reported.
func TestTheOfflineCheckMatchesTheReport(t *testing.T) {
	cfg := testConfig(t.TempDir(), 2)
	r := run(t, cfg, Options{})
	campaign := r.market()
	for _, id := range []string{"e1", "e2", "e1"} {
		r.must(200, "POST", r.auction+"/v2/events", r.keys.Auction, click(id, r.winner()))
	}
	clicks, charged, _ := r.report(campaign)
	r.stop()
	for _, c := range checkedDirectory(t, cfg.DataDir).Campaigns {
		if c.ID != campaign {
			continue
		}
		if float64(c.Clicks) != clicks || float64(c.ChargedClicks) != charged || c.Spent == 0 || c.Spent != c.SpentClicks {
			t.Errorf("the disk has %+v, the node reported %v clicks, %v charged", c, clicks, charged)
		}
		return
	}
	t.Errorf("campaign %s was not found on the disk", campaign)
}

func checkedDirectory(t *testing.T, dir string) *fsck.Report {
	t.Helper()
	r, err := fsck.Directory(vfs.Default, dir)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Clean() {
		t.Errorf("problems: %v", r.Problems)
	}
	return r
}
