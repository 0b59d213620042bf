package serving

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/market"
)

// Bounds of what is kept of live auctions. BOUND: 50 × 5 × 50 candidates of about 400 bytes are 5 MB at the very worst.
const (
	recentMax           = 50 // Requests.
	recentCandidatesMax = 50 // Of one auction.
)

// recent is a ring of live requests, drawn by lot, with what became of every bid. A request that is drawn only copies its
// body; it is explained by a goroutine of its own, at most one at a time, from the very view it was answered from. The
// balances may have moved in between by what other requests did in these microseconds.
type recent struct {
	every uint64 // One request in so many, on average.
	busy  atomic.Bool
	body  []byte // OWNERSHIP: of whoever has set busy.

	mu   sync.Mutex
	ring []kept // Oldest first.
}

type kept struct {
	marketplace uint16
	explanation Explanation
}

// drawn reports whether this request is one of those that are kept. The gaps are drawn, so that no rhythm of the traffic
// hides a part of it.
func (sc *Scratch) drawn(r *recent) bool {
	if sc.undrawn > 0 {
		sc.undrawn--
		return false
	}
	sc.undrawn = sc.random.Uint64() % (2*r.every - 1)
	return true
}

// keep has the request explained that was just answered.
func (r *recent) keep(sc *Scratch, view *market.View, m *market.Marketplace, operation string, secret *[32]byte) {
	if !r.busy.CompareAndSwap(false, true) {
		return // The one before is not done yet.
	}
	r.body = append(r.body[:0], sc.request.Body...)
	x := &explainer{core: sc.core, view: view, marketplace: m, candidatesMax: recentCandidatesMax, ticket: sc.ticket, stale: sc.stale}
	if x.ticket.Stale != nil {
		x.ticket.Stale = &x.stale
	}
	go r.explain(x, operation, secret)
}

func (r *recent) explain(x *explainer, operation string, secret *[32]byte) {
	defer r.busy.Store(false)
	defer func() {
		if cause := recover(); cause != nil { // It only reads: the next one may go better.
			x.core.Log.Error("explanation_panicked", slog.Any("cause", cause))
		}
	}()
	if x.parse(operation, r.body, secret) != apierr.OK {
		return
	}
	explanation, err := x.explain(context.Background(), operation)
	if err != nil {
		panic("serving: an explanation that nobody stops was stopped: " + err.Error())
	}
	k := kept{x.marketplace.Ordinal, explanation}
	if cap(r.body) > scratchMax {
		r.body = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ring) >= recentMax {
		r.ring = slices.Delete(r.ring, 0, 1)
	}
	r.ring = append(r.ring, k)
}

// Recent returns what is kept of the live auctions of a marketplace, newest first, and one in how many requests that is;
// 0 when none are.
func (c *Core) Recent(marketplace uint16) (all []Explanation, every uint64) {
	if c.recent == nil {
		return nil, 0
	}
	c.recent.mu.Lock()
	defer c.recent.mu.Unlock()
	for _, k := range slices.Backward(c.recent.ring) {
		if k.marketplace == marketplace {
			all = append(all, k.explanation)
		}
	}
	return all, c.recent.every
}

// newRecent returns a ring for one request in every, nil for 0.
func newRecent(every int) *recent {
	if every <= 0 {
		return nil
	}
	return &recent{every: uint64(every)}
}
