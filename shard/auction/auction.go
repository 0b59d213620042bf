// Package auction runs auctions: it decides which bids win, in what order and at what price, and why the others lose.
// Run is a pure function of the market view, the balances, the request, the time and the auction's number. It allocates
// no memory once its Scratch has grown. Explain additionally reports the numbers behind each bid. DESIGN.md gives rules
// and reasons.
package auction

import (
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/market"
)

// Params are the inputs of a request's auctions other than its body.
type Params struct {
	NowMillis   int64 // Unix milliseconds.
	Marketplace uint16
	Node        uint16 // Number of the node, for tokens.
	Epoch       uint32 // Start number of the node.
	Seq         uint64 // Number of the request's first auction, below 2^48; each further auction has the next number.
	Signer      *bidid.Signer
	// OffsetSeconds is what the marketplace's time zone adds to UTC at NowMillis.
	OffsetSeconds int32
	Frequency     FrequencyCounter // Nil: frequency caps do not apply.
	Stale         *Groups          // Groups whose balances are too old to use; their bids lose as Stale. Nil: none.
	// LossWeight says how many times each loser counts in RecordLosses. 0: the losers of this request are not counted.
	LossWeight uint32
}

// Run runs every auction of a request and stores the results in res. They depend only on the arguments and on the
// balances of the view's campaigns: equal inputs give equal bytes on every node.
//
// First all ids of the request are looked up (lookup.go). Then each auction goes through these steps: collect the
// products that may win (contexts.go), evaluate the gates of their bids (gates.go), score the bids that pass
// (score.go), rank the products by their best bid (rank.go), and price and sign the winners (price.go, winners.go).
//
// Run changes nothing: where the winners are shown, the caller then calls RecordWins, RecordLosses and RecordEnrolments.
//
// OWNERSHIP: res aliases v and req. REQUIRES: one Scratch is used by one goroutine at a time; req was hashed with
// v.Seed(t.Marketplace).
func Run(v *market.View, t *Params, req *Request, res *Results, sc *Scratch) {
	sc.runAll(v, t, req, res, nil)
}

// runAll runs all auctions. If each is not nil it also explains them; otherwise that costs one comparison for each
// auction.
func (s *Scratch) runAll(v *market.View, t *Params, req *Request, res *Results, each func(int, *BidExplanation) bool) {
	res.reset(len(req.Auctions))
	res.lossWeight = t.LossWeight
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
		s.earlier, s.earlierCost = res.Results[:i], s.cost
		s.run(i, out, t.Seq+uint64(i)) // At most AuctionsMax.
		if t.LossWeight > 0 {
			res.losers = s.appendLosers(res.losers)
		}
		if len(s.enrolled) > 0 {
			res.enrolled = append(res.enrolled, s.enrolled...)
		}
		if each != nil && !s.explain(i, out, each) {
			break
		}
	}
	s.end()
}

// reset sets the number of results and keeps the memory of their winners for reuse.
func (r *Results) reset(n int) {
	for cap(r.Results) < n {
		r.Results = append(r.Results[:cap(r.Results)], Result{})
	}
	r.Results = r.Results[:n]
	r.enrolled = r.enrolled[:0] // BOUND: no more than winners and losers.
	if r.losers = r.losers[:0]; cap(r.losers) > losersKept {
		r.losers = nil
	}
}

// reset empties a result, so that it contains nothing of an earlier request.
func (r *Result) reset(req *Request, a *Auction) {
	r.Type, r.PlacementIndex, r.Variant = resultTypes[a.Kind], a.PlacementIndex, nil
	r.Winners = r.Winners[:0]
	clear(r.Lost[:])
	if len(r.shown) > 0 {
		clear(r.shown) // Otherwise they would keep the memory of an old view alive.
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
