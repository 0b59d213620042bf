package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
)

// slowReader is groups whose state takes long to open: meanwhile another request computes.
type slowReader struct {
	groups
	t         *testing.T
	scheduler *limits.Scheduler
	opened    int
	scanned   int
}

func (r *slowReader) Read(g ids.Group, fn func(shard.Reader) error) error {
	r.free()
	r.opened++
	return r.groups.Read(g, func(s shard.Reader) error { return fn(heldReader{s, r}) })
}

// heldReader is read with the turn.
type heldReader struct {
	shard.Reader
	r *slowReader
}

// Scan checks that nobody else can take the turn.
func (h heldReader) Scan(from, to []byte, fn func(key, value []byte) bool) {
	ctx, cancel := context.WithTimeout(h.r.t.Context(), time.Millisecond)
	defer cancel()
	if other := h.r.scheduler.NewTurn(2); other.Take(ctx) == nil {
		h.r.t.Error("the request computes without its turn")
		other.Give()
	}
	h.r.scanned++
	h.Reader.Scan(from, to, fn)
}

// free takes the turn and gives it back.
func (r *slowReader) free() {
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	other := r.scheduler.NewTurn(2)
	if err := other.Take(ctx); err != nil {
		r.t.Fatalf("the turn is not free: %v", err)
	}
	other.Give()
}

// TestAReadWaitsWithoutATurn: while a state is opened, which may have to write what events have changed, another request has the
// turn; when it is read, the request has its turn again.
func TestAReadWaitsWithoutATurn(t *testing.T) {
	w := managetest.New(t)
	scheduler := limits.NewScheduler(limits.SchedulerConfig{SchedulerLimits: limits.SchedulerDefaults, CPUs: 1})
	reader := &slowReader{groups: w.Store.Groups, t: t, scheduler: scheduler}
	w.Store.Groups = reader
	turn := scheduler.NewTurn(1)
	ctx := limits.WithTurn(t.Context(), turn)
	if err := turn.Take(ctx); err != nil {
		t.Fatal(err)
	}
	tenant := w.Store.Tenant(managetest.Main).WithSession(store.NewSession(ctx, false))
	if _, _, err := tenant.Webhooks(ctx, store.Page{Limit: 1}); err != nil {
		t.Fatal(err)
	}
	if reader.opened == 0 || reader.scanned == 0 {
		t.Errorf("opened %d times, scanned %d times", reader.opened, reader.scanned)
	}
	turn.Give()
	reader.free()
}
