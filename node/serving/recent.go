package serving

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
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
	// OWNERSHIP: body and served belong to the goroutine that has set busy.
	body   []byte
	served []servedAd

	mu   sync.Mutex
	ring []keptExplanation // Oldest first.
}

// keptExplanation is an explanation in the ring with its marketplace and the user of each auction: a hash, 0 for none.
type keptExplanation struct {
	marketplace uint16
	explanation Explanation
	users       []uint64
}

// servedAd is a winner of the marketplace's own demand in the answer of a sampled request.
type servedAd struct {
	auction  int
	rank     uint8
	campaign [ids.TextLen]byte
	token    [auction.TokenLen]byte
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
func (r *recent) explainAsync(sc *Scratch, view *market.View, m *model.Marketplace, operation string, secret *[32]byte) {
	if !r.busy.CompareAndSwap(false, true) {
		return
	}
	r.body, r.served = append(r.body[:0], sc.request.Body...), r.served[:0]
	for i := range sc.results.Results {
		for k := range sc.results.Results[i].Winners {
			if w := &sc.results.Results[i].Winners[k]; w.Campaign != nil {
				r.served = append(r.served, servedAd{i, w.Rank, *w.Campaign, w.Token})
			}
		}
	}
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
	k := keptExplanation{x.marketplace.Ordinal, explanation, make([]uint64, len(x.request.Auctions))}
	for i := range x.request.Auctions {
		k.users[i] = x.request.Auctions[i].User
	}
	for i := range r.served {
		k.explanation.addToken(&r.served[i])
	}
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

// addToken gives a winner the resolvedBidId that it was served with. The explanation runs the auctions again with the balances of a
// moment later, so a winner of another campaign may be at the rank; it gets none.
func (e *Explanation) addToken(ad *servedAd) {
	candidates := e.Auctions[ad.auction].Candidates
	for i := range candidates {
		c := &candidates[i]
		if c.Rank == int(ad.rank) && c.CampaignID == string(ad.campaign[:]) {
			c.ResolvedBidID = string(ad.token[:])
			return
		}
	}
}

// UserOf returns the hash of the user to whom a sampled auction served the ad with a resolvedBidId. It is 0 for an ad that is not
// among the kept explanations, and for an auction that named no user.
func (c *Core) UserOf(marketplace uint16, resolvedBidID string) uint64 {
	if c.recent == nil || resolvedBidID == "" {
		return 0
	}
	c.recent.mu.Lock()
	defer c.recent.mu.Unlock()
	for _, k := range c.recent.ring {
		for i := range k.explanation.Auctions {
			of := func(c Candidate) bool { return c.ResolvedBidID == resolvedBidID }
			if k.marketplace == marketplace && slices.ContainsFunc(k.explanation.Auctions[i].Candidates, of) {
				return k.users[i]
			}
		}
	}
	return 0
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
