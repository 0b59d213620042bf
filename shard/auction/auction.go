// Package auction decides who wins, in what order, at what price. It is a pure function of the market view, the budget
// balances, the request, the time and the auction's number, and allocates nothing.
package auction

import (
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/market"
)

// Ticket is what the caller knows about a request beyond its body: when, for whom, and under which number it runs.
type Ticket struct {
	NowMillis   int64
	Marketplace uint16
	Node        uint16
	Epoch       uint32 // Start number of the node.
	Seq         uint64 // Of the request's first auction, below 2^48; the next ones count up.
	Signer      *bidid.Signer
	// OffsetSeconds is what the marketplace's time zone adds to UTC at NowMillis.
	OffsetSeconds int32
	Frequency     FrequencyCounter // Nil: frequency caps do not apply.
	Stale         *Groups          // Groups whose balances are too old to sell from; nil: none.
}

// Run answers every auction of a request. The answer depends on nothing but the arguments and the balances in the view's
// slots: the same ones give the same bytes, on every node.
//
// First all ids of the request are looked up (lookup.go). Then each auction goes through these steps, each in a file of its
// own: collect the products that may win (contexts.go), send their bids through the gates (gates.go), score the ones that
// pass (score.go), rank the products by their best bid (rank.go), price and sign the winners (price.go, winners.go).
//
// OWNERSHIP: res aliases v and req. REQUIRES: one Scratch is used by one goroutine at a time; req was hashed under
// v.Seed(t.Marketplace).
func Run(v *market.View, t *Ticket, req *Request, res *Results, sc *Scratch) {
	sc.runAll(v, t, req, res, nil)
}

// runAll holds all auctions. With each it also explains them; without, that costs one comparison for each auction.
func (s *Scratch) runAll(v *market.View, t *Ticket, req *Request, res *Results, each func(int, *Fate) bool) {
	res.reset(len(req.Auctions))
	settings := v.Marketplace(t.Marketplace)
	s.begin(v, t, req, settings)
	if settings != nil {
		s.lookUp()
	}
	for i := range req.Auctions {
		out := &res.Results[i]
		out.reset(req, &req.Auctions[i])
		if settings == nil {
			continue
		}
		s.run(i, out, t.Seq+uint64(i)) //nolint:gosec // at most AuctionsMax.
		if each != nil && !s.explain(i, out, each) {
			break
		}
	}
	s.end()
}

// reset makes room for n results and keeps the winners' memory.
func (r *Results) reset(n int) {
	for cap(r.Results) < n {
		r.Results = append(r.Results[:cap(r.Results)], Result{})
	}
	r.Results = r.Results[:n]
}

// reset empties a result, so that nothing of an earlier request shows.
func (r *Result) reset(req *Request, a *Auction) {
	r.Type, r.Failed, r.Placement, r.Variant = resultTypes[a.Kind], false, a.Placement, nil
	r.Winners = r.Winners[:0]
	clear(r.Lost[:])
	if len(r.shown) > 0 {
		clear(r.shown) // They hold on to memory of a view.
		clear(r.assets)
		clear(r.texts)
		r.shown, r.assets, r.texts = r.shown[:0], r.assets[:0], r.texts[:0]
	}
	if a.Variant.Len > 0 {
		r.Variant = req.Text(a.Variant)
	}
	if a.HasExternal {
		r.Type = ExternalListingsResult
	}
}

var resultTypes = [...]ResultType{
	Listings: ListingsResult, Banners: BannersResult, SponsoredBrand: BrandResult, Hotels: HotelsResult, Flights: FlightsResult,
}
