package daemon

import (
	"log/slog"
	"testing"
	"time"
)

// A terminal shows what a start waits for, how much of the market is loaded, and for how long.
func TestTheProgressOfAStart(t *testing.T) {
	loaded := int64(0)
	w := &startupServer{loaded: func() int64 { return loaded }}
	reason := "opening the data directory"
	w.reason.Store(&reason)
	if got := w.progress(1400 * time.Millisecond); got != "opening the data directory (1 s)" {
		t.Error(got)
	}
	w.setDetail("37 %")
	if got := w.progress(2 * time.Second); got != "opening the data directory, 37 % (2 s)" {
		t.Error(got)
	}
	w.detail.Store(nil)
	loaded = 12_000
	if got := w.progress(3 * time.Second); got != "opening the data directory, 12000 campaigns loaded (3 s)" {
		t.Error(got)
	}
}

// What a start loads is counted while it loads it.
func TestLoadedCampaignsAreCounted(t *testing.T) {
	cfg := testConfig(t.TempDir(), 1)
	r := run(t, cfg, Options{})
	r.market()
	r.stop()
	n, err := start(t.Context(), cfg, Options{}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := n.loaded.Load(); got < 1 {
		t.Errorf("%d campaigns", got)
	}
	if err := n.stop(n.log); err != nil {
		t.Error(err)
	}
}
