package auction_test

import (
	"math"
	"math/big"
	"slices"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// This file holds the model's headroom of a campaign: its balances, the holds of the leader and the node's own wins.

// ownWin is one win of this node.
type ownWin struct {
	cost        money.Micros // Its expected cost.
	collections int          // How many collections of market.Spending have happened since.
}

// modelEffects counts what the headroom changed, to check that the random auctions reach it.
type modelEffects struct {
	clamped      int64                   // Bids that competed with what was left.
	belowReserve int64                   // Bids that lost because what was left is not above the reserve price.
	held         int64                   // Bids that lost because of a hold, so that without the hold they would not have.
	pending      int64                   // The same because of this node's wins in earlier requests.
	sameRequest  int64                   // The same because of wins in earlier auctions of the request.
	treated      [model.Treatments]int64 // Auctions of users whom an experiment treats.
}

func (e *modelEffects) add(f *modelEffects) {
	e.clamped += f.clamped
	e.belowReserve += f.belowReserve
	e.held += f.held
	e.pending += f.pending
	e.sameRequest += f.sameRequest
	for i, n := range f.treated {
		e.treated[i] += n
	}
}

// headroom returns the gate of budget or wallet that a bid fails, and the largest amount with which it may compete.
func (w *modelMarket) headroom(c *campaign, floor money.Micros) (most money.Micros, lost auction.Reason, fails bool) {
	var pending money.Micros
	for _, x := range c.wins {
		pending = addUpTo(pending, x.cost)
	}
	limit := new(big.Int).Lsh(big.NewInt(1), 62)
	claimed := func(sum money.Micros) *big.Int {
		n := new(big.Int).Mul(big.NewInt(int64(w.nodes)), big.NewInt(int64(sum)))
		if n.Cmp(limit) > 0 {
			return limit
		}
		return n
	}
	closed := func(left, hold money.Micros, claim *big.Int) bool {
		headroom := new(big.Int).Sub(big.NewInt(int64(left)), big.NewInt(int64(hold)))
		return headroom.Sub(headroom, claim).Sign() <= 0
	}
	all := claimed(addUpTo(pending, w.earlier[c]))
	for i, x := range []struct{ left, hold money.Micros }{{c.left, c.hold}, {c.wallet, c.walletHold}} {
		unit := c.perUnit(x.left)
		if !closed(x.left, x.hold, all) && unit > floor {
			continue
		}
		switch {
		case x.left <= 0:
		case unit <= floor:
			w.effects.belowReserve++
		case closed(x.left, x.hold, new(big.Int)):
			w.effects.held++
		case closed(x.left, x.hold, claimed(pending)):
			w.effects.pending++
		default:
			w.effects.sameRequest++
		}
		return 0, auction.Budget + auction.Reason(i), true
	}
	return min(c.perUnit(c.left), c.perUnit(c.wallet)), 0, false
}

// perUnit returns the amount of which one interaction costs what is left.
func (c *campaign) perUnit(left money.Micros) money.Micros {
	if c.Charge != model.CPM || left <= 0 {
		return left
	}
	if left > math.MaxInt64/1000 {
		return math.MaxInt64
	}
	return left * 1000
}

// addUpTo adds without overflow.
func addUpTo(a, b money.Micros) money.Micros {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// expected returns the expected cost of a winner at a zero-based rank.
func (x *modelBid) expected(rank int, price money.Micros) money.Micros {
	if x.bid == nil {
		return 0
	}
	cost := big.NewInt(int64(price))
	if x.charge != model.CPM {
		seen := []int64{65_536, 52_428, 39_321}[min(rank, 2)] // The visibility of the rank, in units of 1/2^16.
		for range rank - 2 {
			seen = seen * 9 / 10
		}
		probability := new(big.Int).Mul(big.NewInt(seen), big.NewInt(int64(x.click)))
		probability.Rsh(probability, 16)
		if x.charge == model.CPA { // 10 of 100 clicks are followed by a purchase.
			probability.Mul(probability, big.NewInt(10<<32/100)).Rsh(probability, 32)
		}
		cost.Mul(cost, probability)
		cost.Add(cost, big.NewInt(1<<32-1)).Rsh(cost, 32)
	}
	return max(1, money.Micros(cost.Int64()))
}

// record adds the wins of a request to the campaigns' own totals.
func (w *modelMarket) record(outcomes []outcome) {
	for _, o := range outcomes {
		for _, x := range o.winners {
			if x.campaign != "" {
				c := w.byID(x.campaign)
				c.wins = append(c.wins, ownWin{cost: x.expected})
				c.total += x.expected
				c.won++
			}
		}
	}
}

// collect makes all wins one collection older, and forgets those that do not count any more.
func (w *modelMarket) collect() {
	for _, c := range w.campaigns {
		for i := range c.wins {
			c.wins[i].collections++
		}
		c.wins = slices.DeleteFunc(c.wins, func(x ownWin) bool { return x.collections > pendingCollections })
	}
}

// pendingCollections is for how many collections a win stays in the pending sum.
const pendingCollections = 2

func (w *modelMarket) byID(id string) *campaign {
	for _, c := range w.campaigns {
		if c.ID.String() == id {
			return c
		}
	}
	return nil
}
