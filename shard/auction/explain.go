package auction

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// BidExplanation is the outcome of one bid that could have competed, and the numbers that decided it. Texts alias the
// view and the request. Numbers that the gate which removed the bid did not need may be 0.
type BidExplanation struct {
	Campaign  *[ids.TextLen]byte // Nil for external demand.
	Group     uint16
	Bid       uint32 // Ordinal in the group; for external demand the position among the request's external bids.
	Vendor    market.Text
	Type      model.TargetType
	Target    market.Text // Product id, or another target of the bid.
	Variation []byte      // The variation of the pair that a flight bid was assigned to.

	Won    bool
	Rank   uint8        // Set for a winner, from 1.
	Price  money.Micros // Set for a winner, per charged interaction.
	Reason Reason       // Set for a loser.

	Charge          model.ChargeType
	Amount          money.Micros // The bid amount; with a target return the base bid, which is at most the bid amount.
	Adjusted        money.Micros // The amount after the schedule and the multipliers of the user's segments.
	Shaded          money.Micros // The amount after pacing.
	Competing       money.Micros // The amount with which the bid competes: Shaded, and at most what is left.
	Reserve         money.Micros // The reserve price; Adjusted must be above it.
	BudgetLeft      money.Micros // Budget left; math.MaxInt64 without a budget.
	WalletBalance   money.Micros // Wallet balance; math.MaxInt64 in billing mode post.
	Hold            money.Micros // What the campaign's open ads take off BudgetLeft.
	WalletHold      money.Micros // What the open ads of all campaigns of the wallet take off WalletBalance.
	Pending         money.Micros // What this node's wins of the last seconds take off both.
	PassProbability uint64       // Probability that pacing lets the campaign compete, in units of 1/2^32; pacing.Always: always.
	Draw            uint64       // The random number of the campaign in this request, to compare with PassProbability.
	Quality         uint64       // In units of 1/model.QualityOne^2.
	ClickRate       uint32       // Predicted clicks of an impression at the first rank, in units of 1/2^32.
	LearnedQuality  uint64       // The learned quality factor, in units of 1/learn.One; it multiplies Quality.
	// ScoreHi and ScoreLo are the 128-bit score: Competing times the weight of the charge type and the quality.
	ScoreHi, ScoreLo uint64

	// AgainstRank, AgainstPrice, AgainstHi and AgainstLo are rank, price and score of the winner that the bid would have
	// had to beat: the winner of its own entity, otherwise the last winner. They are zero when there is none.
	AgainstRank          uint8
	AgainstPrice         money.Micros
	AgainstHi, AgainstLo uint64
	// Needed is the smallest Amount with which the bid would have won if nothing else had changed. It is 0 when no amount
	// would have won, and when it is not computed: for flights, under a cap of winners per vendor, and for the bid of an
	// exclusive campaign below the reserve price. It is a base bid if Amount is.
	Needed money.Micros
}

// Explain is Run and also calls each, after each auction, for every bid that could have competed: the winners, and
// every bid that the result counts as lost. The results equal those of Run for the same arguments and balances. Explain
// is slow, because it evaluates the gates of each bid a second time. It stops when each returns false; the results are
// then incomplete.
//
// OWNERSHIP: a BidExplanation is valid until each returns.
func Explain(v *market.View, t *Params, req *Request, res *Results, sc *Scratch, each func(auction int, f *BidExplanation) bool) {
	sc.runAll(v, t, req, res, each)
}

// explain calls each for the bids of auction i, which was run just before. It returns false when each does.
func (s *Scratch) explain(i int, out *Result, each func(int, *BidExplanation) bool) bool {
	byKey := make(map[uint64]int, len(s.candidates))
	for at := range s.candidates {
		byKey[s.candidates[at].key] = at
	}
	explainOne := func(h *hit, b *market.BidRow) bool {
		f := s.explainBid(h, b)
		at, competed := byKey[keyOf(b, s.v.Campaign(b.Campaign))]
		if s.noAds {
			if f.Reason == passed {
				f.Reason = Holdout
			}
			return each(i, &f) // No amount would have won.
		}
		if competed {
			s.fillOutcome(&f, at, out)
		} else if c := s.v.Campaign(b.Campaign); c.Flags&market.CampaignHoldout != 0 && s.isHeldOut(b.Campaign) {
			if reason, held := s.heldReason(keyOf(b, c)); held {
				f.Reason = reason
			}
			return each(i, &f) // No amount would have won.
		}
		s.fillNeeded(&f, h, b, competed, out)
		return each(i, &f)
	}
	if s.place != nil {
		bids := s.v.Bids(s.v.ProductRow(s.place.Row))
		for j := range bids {
			at, _ := s.hitByRow.get(uint64(s.v.Ad(&bids[j]).Entity))
			if !explainOne(&s.hits[at], &bids[j]) {
				return false
			}
		}
		return true
	}
	for at := range s.hits {
		h := &s.hits[at]
		if h.secondaryPair || h.wrongID {
			continue
		}
		r := s.v.ProductRow(h.row)
		bids := s.v.Bids(r)
		for j := range bids {
			if (!s.searchOnly || s.matchesSearch(h, r, &bids[j])) && !explainOne(h, &bids[j]) {
				return false
			}
		}
	}
	return s.explainExternal(i, out, byKey, each)
}

// explainBid evaluates the gates of a bid again and returns their numbers.
func (s *Scratch) explainBid(h *hit, b *market.BidRow) BidExplanation {
	c := s.v.Campaign(b.Campaign)
	own := s.headroomOf(s.v.Balances(b.Campaign), s.earlierCostOf(b.Campaign))
	r := s.productOf(h)
	f := BidExplanation{
		Campaign: s.v.CampaignText(b.Campaign), Group: c.Group, Bid: b.Ordinal, Vendor: s.v.Vendor(c.Vendor),
		Charge: c.Charge, Amount: money.Micros(b.Amount), Quality: h.quality,
		BudgetLeft: money.Micros(own.left), WalletBalance: money.Micros(own.wallet),
		Hold: money.Micros(own.hold), WalletHold: money.Micros(own.walletHold), Pending: money.Micros(own.claimed),
		Draw: s.draw(c),
	}
	s.fillClickRate(&f, s.predict(h.row, keyOf(b, c), b.Ad))
	floor := s.floorOf(c.Charge, r)
	f.Reserve = money.Micros(floor)             // An amount.
	x := s.value(uint64(b.Amount), floor, b, c) // Amounts are positive.
	f.Adjusted, f.Shaded, f.PassProbability = money.Micros(x.adjusted), money.Micros(x.shaded), x.pass
	f.Competing = money.Micros(min(x.shaded, own.most(c.Charge))) // At most shaded.
	if b.Ad != 0 {
		ad := s.v.Ad(b)
		f.Type, f.Target = ad.Target, ad.ID
		_, f.Reason = s.gateAd(h, ad, b, c)
		return f
	}
	f.Target = market.Text{Bytes: s.v.Key(r), JSONSafe: r.Flags&market.ProductIDJSONSafe != 0}
	_, f.Reason = s.gate(h, r, b, c)
	return f
}

// value is a bid amount after targeting, the amount after pacing, and the probability that pacing lets the campaign
// compete.
type value struct{ adjusted, shaded, pass uint64 }

func (s *Scratch) value(amount, floor uint64, b *market.BidRow, c *market.CampaignRow) (x value) {
	x.adjusted = amount
	if terms := s.terms(b, c); terms != nil {
		x.adjusted = s.adjusted(terms, amount)
	}
	word := s.v.Balances(b.Campaign).Pacing.Load()
	if word == pacing.Open {
		return value{x.adjusted, x.adjusted, pacing.Always}
	}
	x.shaded, x.pass = s.applyPacing(word, x.adjusted, floor)
	return x
}

// fillClickRate fills in the click rate and what follows from it.
func (s *Scratch) fillClickRate(f *BidExplanation, rate uint32) {
	f.ClickRate, f.LearnedQuality = rate, s.learnedQuality(s.types|1<<f.Charge, f.Charge, rate)
}

// fillOutcome fills in the score and outcome of a bid that passed the gates; at is its index among the candidates.
func (s *Scratch) fillOutcome(f *BidExplanation, at int, out *Result) {
	c := &s.candidates[at]
	h := &s.hits[c.hit]
	f.Competing, f.Quality, f.ScoreHi, f.ScoreLo = money.Micros(c.amount), h.quality, c.hi, c.lo // An amount.
	if s.a.Kind == Flights && h.index != fromCategory {
		f.Variation = s.req.Text(s.a.Variations[h.index].Span)
	}
	f.Reason = Outranked
	for rank, i := range s.won[:s.winners()] {
		switch {
		case int(i) == at:
			f.Won, f.Rank, f.Price = true, uint8(rank+1), out.Winners[rank].Price // At most SlotsMax.
			return
		case s.candidates[i].hit == c.hit:
			f.Reason = Diversity
		}
	}
	if c.overVendorCap {
		f.Reason = Diversity
	}
}

// explainUnknown explains an external bid on a product that is not in the catalog.
func (s *Scratch) explainUnknown(position uint32) *BidExplanation {
	b := &s.a.External[position]
	return &BidExplanation{
		Bid: position, Target: market.Text{Bytes: s.req.Text(b.Product.Span)}, Charge: model.CPC, Reason: ProductInactive,
		Amount: b.Amount, Adjusted: b.Amount, Shaded: b.Amount, Competing: b.Amount, PassProbability: pacing.Always,
	}
}

// explainExternal calls each for the external bids of the request.
func (s *Scratch) explainExternal(i int, out *Result, byKey map[uint64]int, each func(int, *BidExplanation) bool) bool {
	if !s.a.HasProducts {
		return true
	}
	for j := range s.a.External {
		b := &s.a.External[j]
		at, ok := s.externalHit(b)
		if !ok {
			if s.namesUnknown(b) && !each(i, s.explainUnknown(uint32(j))) { // At most ExternalBidsMax.
				return false
			}
			continue
		}
		h := &s.hits[at]
		r := s.v.ProductRow(h.row)
		f := BidExplanation{
			Bid: uint32(j), Target: market.Text{Bytes: s.v.Key(r), JSONSafe: r.Flags&market.ProductIDJSONSafe != 0}, Charge: model.CPC, // At most ExternalBidsMax.
			Amount: b.Amount, Adjusted: b.Amount, Shaded: b.Amount, Competing: b.Amount, PassProbability: pacing.Always, Quality: h.quality,
			Reserve: money.Micros(s.floorOf(model.CPC, r)), // An amount.
		}
		s.fillClickRate(&f, s.predict(h.row, externalKey|uint64(j), 0)) // At most ExternalBidsMax.
		f.Reason = s.gateExternal(h, r, b)
		if at, competed := byKey[externalKey|uint64(j)]; competed { // At most ExternalBidsMax.
			s.fillOutcome(&f, at, out)
		}
		if !each(i, &f) {
			return false
		}
	}
	return true
}
