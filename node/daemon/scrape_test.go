package daemon

import (
	"errors"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/proposal"
)

// A mail that needs three attempts is counted once as queued and once as sent; a mail whose last attempt fails is
// counted as failed.
func TestMailsAreCountedByOutcome(t *testing.T) {
	var m mailCounts
	down := errors.New("connection refused")
	for attempt, err := range []error{down, down, nil} {
		m.count(attempt+1, err)
	}
	for attempt := 1; attempt <= store.MailAttempts; attempt++ {
		m.count(attempt, down)
	}
	want := metrics.Mails{Queued: 2, Sent: 1, Retried: 2 + store.MailAttempts - 1, Failed: 1}
	if got := m.read(true); *got != want {
		t.Errorf("%+v, want %+v", *got, want)
	}
	if got := m.read(false); got != nil {
		t.Errorf("%+v of a node without a mail server", got)
	}
}

func TestBucketsBecomeCumulative(t *testing.T) {
	var l proposal.Latencies
	for i := range l.Buckets {
		l.Buckets[i] = 1
	}
	l.Total = time.Minute
	d := durations(&l)
	n := uint64(len(l.Buckets))
	if d.Count != n || d.Sum != time.Minute || uint64(len(d.Cumulative)) != n-1 || d.Cumulative[l.Bound(0)] != 1 || d.Cumulative[50] != n-1 {
		t.Errorf("%+v", d)
	}
}

func TestTransitsAreReported(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	if got := transits(nil, now); got != nil {
		t.Errorf("%+v before the first round", got)
	}
	got := transits(&[]jobs.TransitSummary{{Marketplace: 2, Transfers: 3, Micros: 4, OldestMillis: 995_000}}, now)
	want := metrics.Transit{Marketplace: 2, Transfers: 3, Micros: 4, Oldest: 5 * time.Second}
	if len(got) != 1 || got[0] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A follower reports how long ago its leader contacted it, or the maximum when it never did.
func TestContactOfALeader(t *testing.T) {
	now := time.Now()
	for state, want := range map[string][2]int64{"Leader": {0, 0}, "Follower": {9999999, 250}} { // Never, and 250 ms ago.
		never := contactMillis(&raftstore.GroupStatus{State: state}, now)
		lately := contactMillis(&raftstore.GroupStatus{State: state, LastContact: now.Add(-250 * time.Millisecond)}, now)
		if got := [2]int64{never, lately}; got != want {
			t.Errorf("%s: %v, want %v", state, got, want)
		}
	}
}

// TestBackupsAreCounted: a failed backup does not make the last one younger.
func TestBackupsAreCounted(t *testing.T) {
	var b backupCounts
	b.count(time.Unix(1, 0), errors.New("the client is gone"))
	if got, want := b.read(), (metrics.Backups{Failed: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	b.count(time.Unix(2, 0), nil)
	b.count(time.Unix(3, 0), errors.New("a group has no leader"))
	if got, want := b.read(), (metrics.Backups{Sent: 1, Failed: 2, Last: time.Unix(2, 0)}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
