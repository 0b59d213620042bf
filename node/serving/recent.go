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

// Bounds of the ring of explanations. BOUND: 50 × 5 × 50 candidates of about 400 bytes are 5 MB in the worst case.
const (
	recentMax           = 50 // Requests.
	recentCandidatesMax = 50 // Candidates of one auction.
)

// recent is a ring of explanations of randomly sampled live requests. The goroutine of a sampled request only copies its
// body; another goroutine explains it, at most one at a time, from the same view that it was answered from. Balances may
// have changed in the microseconds in between.
type recent struct {
	every uint64 // On average one request in every is sampled.
	busy  atomic.Bool
	body  []byte // OWNERSHIP: it belongs to the goroutine that has set busy.

	mu   sync.Mutex
	ring []keptExplanation // Oldest first.
}

// keptExplanation is an explanation in the ring with its marketplace.
type keptExplanation struct {
	marketplace uint16
	explanation Explanation
}

// sampled reports whether this request is sampled. The gaps between samples have random lengths, so that requests that
// come at regular intervals are sampled like all others.
func (sc *Scratch) sampled(r *recent) bool {
	if sc.untilSample > 0 {
		sc.untilSample--
		return false
	}
	sc.untilSample = sc.random.Uint64() % (2*r.every - 1)
	return true
}

// explainAsync starts the explanation of the request that was just answered, unless an earlier one is still running.
func (r *recent) explainAsync(sc *Scratch, view *market.View, m *market.Marketplace, operation string, secret *[32]byte) {
	if !r.busy.CompareAndSwap(false, true) {
		return
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
		if cause := recover(); cause != nil { // An explanation only reads, so a panic costs nothing else.
			x.core.Log.Error("explanation_panicked", slog.Any("cause", cause))
		}
	}()
	if x.parse(operation, r.body, secret) != apierr.OK {
		return
	}
	explanation, err := x.explain(context.Background(), operation)
	if err != nil {
		panic("serving: an explanation without a deadline was stopped: " + err.Error())
	}
	k := keptExplanation{x.marketplace.Ordinal, explanation}
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

// Recent returns the explanations of the sampled live auctions of a marketplace, newest first, and the sampling rate: on
// average one request in every is sampled, 0 when sampling is off.
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

// newRecent returns a ring for a sampling rate, or nil for 0.
func newRecent(every int) *recent {
	if every <= 0 {
		return nil
	}
	return &recent{every: uint64(every)}
}
