package auction

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// Fate is what became of one bid that could have competed, and the numbers that decided it. Texts alias the view and the
// request. What the gate that removed the bid did not need may be 0.
type Fate struct {
	Campaign  *[ids.TextLen]byte // Nil for external demand.
	Group     uint16
	Bid       uint32 // Ordinal in the group; of external demand the position among the request's bids.
	Vendor    market.Text
	Type      market.TargetType
	Target    market.Text // Product id, or what else the bid leads to.
	Variation []byte      // The pair that a flight bid was dealt.

	Won    bool
	Rank   uint8        // Of a winner.
	Price  money.Micros // Of a winner, per charged interaction.
	Reason Reason       // Of a loser.

	Charge  market.ChargeType
	Amount  money.Micros // The bid as it stands.
	Worth   money.Micros // After the schedule and the user's segments.
	Shaded  money.Micros // After pacing: what competes.
	Reserve money.Micros // Worth has to be above it.
	Left    money.Micros // Of the budget; math.MaxInt64 without one.
	Wallet  money.Micros // math.MaxInt64 in billing mode post.
	Pass    uint64       // Probability that pacing lets the campaign compete, in units of 1/2^32; GateAlways is always.
	Quality uint64       // In units of 1/market.QualityOne^2.
	// ScoreHi and ScoreLo are the score, a 128-bit number: Shaded times the weight of the charge type and the quality.
	ScoreHi, ScoreLo uint64

	// The winner that the bid would have had to beat: that of its own entity, or else the last one. Zero when there is none.
	AgainstRank          uint8
	AgainstPrice         money.Micros
	AgainstHi, AgainstLo uint64
	// Needed is the least Amount with which the bid would have won, all else being equal; 0 when no amount would have, or
	// when that is not known: of flights, which are dealt, and under a cap of winners per vendor.
	Needed money.Micros
}

// Explain is Run that tells, after each auction, the fate of every bid that could have competed: every one that the result
// counts as lost, and the winners. The results are those that Run gives for the same arguments and balances. It changes
// nothing, and it is slow: each bid goes through its gates a second time. It ends early when each returns false; then the
// results are not complete.
//
// OWNERSHIP: a Fate is valid until each returns.
func Explain(v *market.View, t *Ticket, req *Request, res *Results, sc *Scratch, each func(auction int, f *Fate) bool) {
	sc.runAll(v, t, req, res, each)
}

// explain tells the fates of auction i, which was just held, as long as each returns true.
func (s *Scratch) explain(i int, out *Result, each func(int, *Fate) bool) bool {
	byKey := make(map[uint64]int, len(s.candidates))
	for at := range s.candidates {
		byKey[s.candidates[at].key] = at
	}
	tell := func(h *hit, b *market.BidRow) bool {
		f := s.fate(h, b)
		at, stood := byKey[keyOf(b, s.v.Campaign(b.Campaign))]
		if stood {
			s.stood(&f, at, out)
		}
		s.needs(&f, h, b, stood, out)
		return each(i, &f)
	}
	if s.place != nil {
		bids := s.v.Bids(s.v.ProductRow(s.place.Row))
		for j := range bids {
			at, _ := s.rowSeen.get(uint64(s.v.Ad(&bids[j]).Entity))
			if !tell(&s.hits[at], &bids[j]) {
				return false
			}
		}
		return true
	}
	for at := range s.hits {
		h := &s.hits[at]
		if h.follows || h.dead {
			continue
		}
		r := s.v.ProductRow(h.row)
		bids := s.v.Bids(r)
		for j := range bids {
			if (!s.searched || s.invited(h, r, &bids[j])) && !tell(h, &bids[j]) {
				return false
			}
		}
	}
	return s.explainExternal(i, out, byKey, each)
}

// fate runs a bid's gates again and notes their numbers.
func (s *Scratch) fate(h *hit, b *market.BidRow) Fate {
	c := s.v.Campaign(b.Campaign)
	slot := s.v.Slot(b.Campaign)
	r := s.productOf(h)
	f := Fate{
		Campaign: s.v.CampaignText(b.Campaign), Group: c.Group, Bid: b.Ordinal, Vendor: s.v.Vendor(c.Vendor),
		Charge: c.Charge, Amount: money.Micros(b.Amount), Quality: h.quality,
		Left: money.Micros(slot.Left.Load()), Wallet: money.Micros(slot.Wallet.Load()),
	}
	floor := s.floorOf(c.Charge, r)
	f.Reserve = money.Micros(floor)                                             //nolint:gosec // an amount.
	worth, shaded, pass := s.value(uint64(b.Amount), floor, b, c)               //nolint:gosec // amounts are positive.
	f.Worth, f.Shaded, f.Pass = money.Micros(worth), money.Micros(shaded), pass //nolint:gosec // amounts.
	if b.Ad != 0 {
		ad := s.v.Ad(b)
		f.Type, f.Target = ad.Target, ad.ID
		_, f.Reason = s.gateAd(h, ad, b, c)
		return f
	}
	f.Target = market.Text{Bytes: s.v.Key(r), Clean: r.Flags&market.ProductClean != 0}
	_, f.Reason = s.gate(h, r, b, c)
	return f
}

// value is what a bid of an amount is worth, what pacing makes of it, and how probably it competes.
func (s *Scratch) value(amount, floor uint64, b *market.BidRow, c *market.CampaignRow) (worth, shaded, pass uint64) {
	worth = amount
	if terms := s.terms(b, c); terms != nil {
		worth = s.worth(terms, worth)
	}
	gate := s.v.Gate(b.Campaign).Load()
	if gate == market.GateOpen {
		return worth, worth, market.GateAlways
	}
	shaded, pass = s.pace(gate, worth, floor)
	return worth, shaded, pass
}

// stood notes how a bid that passed the gates ended.
func (s *Scratch) stood(f *Fate, at int, out *Result) {
	c := &s.candidates[at]
	h := &s.hits[c.hit]
	f.Shaded, f.Quality, f.ScoreHi, f.ScoreLo = money.Micros(c.amount), h.quality, c.hi, c.lo //nolint:gosec // an amount.
	if s.a.Kind == Flights && h.index != fromCategory {
		f.Variation = s.req.Text(s.a.Variations[h.index].Span)
	}
	f.Reason = Outranked
	for rank, i := range s.won[:s.winners()] {
		switch {
		case int(i) == at:
			f.Won, f.Rank, f.Price = true, uint8(rank+1), out.Winners[rank].Price //nolint:gosec // at most SlotsMax.
			return
		case s.candidates[i].hit == c.hit:
			f.Reason = Diversity
		}
	}
	if c.held {
		f.Reason = Diversity
	}
}

// explainExternal tells the fates of the request's own bids.
func (s *Scratch) explainExternal(i int, out *Result, byKey map[uint64]int, each func(int, *Fate) bool) bool {
	if !s.a.HasProducts {
		return true
	}
	for j := range s.a.External {
		b := &s.a.External[j]
		at, counted := s.externalHit(b)
		if !counted {
			continue
		}
		h := &s.hits[at]
		r := s.v.ProductRow(h.row)
		f := Fate{
			Bid: uint32(j), Target: market.Text{Bytes: s.v.Key(r), Clean: r.Flags&market.ProductClean != 0}, Charge: market.CPC, //nolint:gosec // at most ExternalBidsMax.
			Amount: b.Amount, Worth: b.Amount, Shaded: b.Amount, Pass: market.GateAlways, Quality: h.quality,
			Reserve: money.Micros(s.floorOf(market.CPC, r)), //nolint:gosec // an amount.
		}
		f.Reason = s.gateExternal(h, r, b)
		if at, stood := byKey[externalKey|uint64(j)]; stood { //nolint:gosec // at most ExternalBidsMax.
			s.stood(&f, at, out)
		}
		if !each(i, &f) {
			return false
		}
	}
	return true
}
