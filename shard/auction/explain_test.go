package auction_test

import (
	"reflect"
	"testing"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// explain runs a request with explanations and checks them: the results are the same; every counted bid is explained
// with the reason for which it is counted; winners have their rank and price; and a bid raised to Needed wins, while
// one micro less does not.
func (r *randomMarket) explain(t *testing.T, name string, v *market.View, tick *auction.Params, req *auction.Request, queries []query) {
	t.Helper()
	var res auction.Results
	told := make([][auction.Reasons]uint32, len(queries))
	explanations := make([][]auction.BidExplanation, len(queries))
	auction.Explain(v, tick, req, &res, &r.sc, func(i int, f *auction.BidExplanation) bool {
		explanations[i] = append(explanations[i], *f)
		if !f.Won {
			told[i][f.Reason]++
			return true
		}
		if w := res.Results[i].Winners[f.Rank-1]; w.Price != f.Price || w.Campaign != f.Campaign {
			t.Errorf("%s auction %d: rank %d is told as %+v", name, i, f.Rank, f)
		}
		return true
	})
	for i, q := range queries {
		x := &res.Results[i]
		if got, want := outcomeOf(x), outcomeOf(&r.res.Results[i]); !reflect.DeepEqual(got, want) {
			t.Errorf("%s auction %d: explained %v, else %v", name, i, got, want)
		}
		if told[i] != x.Lost || len(explanations[i]) < len(x.Winners) {
			t.Errorf("%s auction %d: %+v\ntold %v\nlost %v", name, i, q, told[i], x.Lost)
			return
		}
		for j := range explanations[i] {
			r.earlier = r.earlierOf[i]
			if f := &explanations[i][j]; f.Needed > 0 && r.IntN(4) == 0 && !r.needed(q, f, tick, tick.Seq+uint64(i)) {
				t.Errorf("%s auction %d: %+v\nneeds something else: %+v", name, i, q, f)
				return
			}
		}
	}
}

// needed reports whether, in the model, the bid wins with the amount Needed and loses with one micro less. The amount
// of an autobidding campaign with a target return is its base bid.
func (r *randomMarket) needed(q query, f *auction.BidExplanation, tick *auction.Params, seq uint64) bool {
	for key, b := range r.bids {
		c := r.campaigns[key.campaign]
		if c.ID.String() != string(f.Campaign[:]) || b.Ordinal != f.Bid {
			continue
		}
		wins := func(amount money.Micros) bool {
			risen := b
			risen.Amount = amount
			r.bids[key] = risen
			r.raised = uint64(c.Group)<<32 | uint64(b.Ordinal)
			defer func() { r.bids[key], r.raised = b, 0 }()
			r.auction(q, tick, seq)
			return r.winners[uint64(c.Group)<<32|uint64(b.Ordinal)]
		}
		return wins(f.Needed) && (f.Needed == 1 || !wins(f.Needed-1))
	}
	return false
}

// The explanation contains the numbers that decided the outcome.
func TestExplain(t *testing.T) {
	s := newScript(t)
	s.settings.Reserve[model.CPC] = 100_000
	s.m.PutMarketplace(&s.settings)
	for _, line := range [][]string{
		{"product", "p"},
		{"campaign", "a", "vendor=anna"},
		{"campaign", "b", "vendor=bert", "left=7.00", "wallet=8.00", "hold=0.25", "wallethold=0.75"},
		{"campaign", "c", "vendor=carl"},
		{"bid", "a", "p", "2.00"},
		{"bid", "b", "p", "1.00"},
		{"bid", "c", "p", "0.10"},
		{"gate", "b", "pass=1", "multiplier=0.5"},
	} {
		s.put(line)
	}
	s.m.Publish()
	v := s.m.View()
	var res auction.Results
	all := map[string]auction.BidExplanation{}
	auction.Explain(v, params(100, 1), requestFor(v, 1, query{slots: 1, products: []string{"p"}}), &res, new(auction.Scratch), func(_ int, f *auction.BidExplanation) bool {
		all[s.names[string(f.Campaign[:])]] = *f
		return true
	})
	if f := all["a"]; !f.Won || f.Rank != 1 || f.Price != 500_001 || f.Amount != 2_000_000 || string(f.Vendor.Bytes) != "anna" || string(f.Target.Bytes) != "p" {
		t.Errorf("the winner: %+v", f)
	}
	if f := all["b"]; f.Won || f.Reason != auction.Diversity || f.Adjusted != 1_000_000 || f.Shaded != 500_000 || f.BudgetLeft != 7_000_000 ||
		f.WalletBalance != 8_000_000 || f.Hold != 250_000 || f.WalletHold != 750_000 || f.Pending != 0 || f.Competing != 500_000 ||
		f.PassProbability != pacing.Always || f.AgainstRank != 1 || f.AgainstPrice != 500_001 ||
		f.Needed < 4_000_000 || f.Needed > 4_000_002 {
		t.Errorf("the shaded one: %+v", f)
	}
	if f := all["c"]; f.Won || f.Reason != auction.Reserve || f.Reserve != 100_000 || f.Needed < 2_000_000 || f.Needed > 2_000_001 {
		t.Errorf("the one at the reserve price: %+v", f)
	}

	// A wins and has not much left, and the second auction of the request knows of its win in the first one.
	a := s.campaigns["a"].slot
	a.BudgetLeft.Store(1_500_000)
	a.Pacing.Store(pacing.Unshaded/4*3 | uint64(pacing.Always/2)<<32)
	s.m.SetServingNodes(3)
	twice := requestFor(v, 1, query{slots: 1, products: []string{"p"}}, query{slots: 1, products: []string{"p"}})
	for seq, wins := uint64(100), 0; wins == 0; seq++ {
		var told []auction.BidExplanation
		auction.Explain(v, params(100, seq), twice, &res, new(auction.Scratch), func(_ int, f *auction.BidExplanation) bool {
			if s.names[string(f.Campaign[:])] == "a" {
				told = append(told, *f)
			}
			return true
		})
		if f := told[0]; f.PassProbability != pacing.Always/2 || f.Won != (f.Draw < f.PassProbability) || f.Won == (f.Reason == auction.Pacing) {
			t.Errorf("draw %d below %d: %+v", f.Draw, f.PassProbability, f)
		}
		if !told[0].Won {
			continue
		}
		wins++
		cost := res.Results[0].Winners[0].Expected
		if f := told[0]; f.Shaded != 1_500_000 || f.Competing != 1_500_000 || f.Pending != 0 {
			t.Errorf("the first auction: %+v", f)
		}
		if f := told[1]; f.Pending != 3*cost || f.Draw != told[0].Draw || cost == 0 {
			t.Errorf("after a win of %d: %+v", cost, f)
		}
		auction.RecordWins(v, &res)
		a.BudgetLeft.Store(int64(3*2*cost) + 1) // Both auctions were won.
		auction.Explain(v, params(100, seq), twice, &res, new(auction.Scratch), func(i int, f *auction.BidExplanation) bool {
			if s.names[string(f.Campaign[:])] == "a" && (f.Pending != 6*cost || f.Competing != 6*cost+1 || f.Shaded != 1_500_000) {
				t.Errorf("auction %d after two wins of %d: %+v", i, cost, f)
			}
			return i == 0
		})
	}

	// When each returns false, no further bid or auction is explained.
	for enough := 1; enough <= len(all)+1; enough++ {
		told := 0
		two := requestFor(v, 1, query{slots: 1, products: []string{"p"}}, query{slots: 1, products: []string{"p"}})
		auction.Explain(v, params(100, 1), two, &res, new(auction.Scratch), func(int, *auction.BidExplanation) bool {
			told++
			return told < enough
		})
		if told != enough {
			t.Errorf("%d explanations came after %d were enough", told, enough)
		}
	}
}

// The bid of an exclusive campaign below the reserve price keeps nobody out. Above it the bid would keep out the others
// on its product, so the amount that beats them is not the smallest with which it wins, and none is told.
func TestExplainExclusiveBelowReserve(t *testing.T) {
	s := newScript(t)
	s.settings.Reserve[model.CPC] = 100_000
	s.m.PutMarketplace(&s.settings)
	for _, line := range [][]string{
		{"product", "p"},
		{"campaign", "own", "vendor=anna", "type=exclusive"},
		{"campaign", "other", "vendor=bert"},
		{"bid", "own", "p", "0.05"},
		{"bid", "other", "p", "2.00"},
	} {
		s.put(line)
	}
	s.m.Publish()
	v := s.m.View()
	var res auction.Results
	var told []auction.BidExplanation
	auction.Explain(v, params(100, 1), requestFor(v, 1, query{slots: 1, products: []string{"p"}}), &res, new(auction.Scratch), func(_ int, f *auction.BidExplanation) bool {
		if s.names[string(f.Campaign[:])] == "own" {
			told = append(told, *f)
		}
		return true
	})
	if len(told) != 1 || told[0].Won || told[0].Reason != auction.Reserve || told[0].AgainstRank != 0 || told[0].Needed != 0 {
		t.Errorf("explained as %+v", told)
	}
	s.put([]string{"bid", "own", "p", "0.11"})
	s.m.Publish()
	v = s.m.View()
	auction.Run(v, params(100, 1), requestFor(v, 1, query{slots: 1, products: []string{"p"}}), &res, new(auction.Scratch))
	if w := res.Results[0].Winners; len(w) != 1 || s.names[string(w[0].Campaign[:])] != "own" {
		t.Errorf("above the reserve price %+v won", w)
	}
}
