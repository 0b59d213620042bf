package shardtest

import (
	"math/big"
	"slices"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Charge is a decision about a charge, with its journal line and where it is counted.
type Charge struct {
	Line     uint64
	Campaign ids.UUID
	Wallet   ids.UUID
	command.ReversalPart
}

// Reversed is a reversal of the model.
type Reversed struct {
	command.Reverse
	Amount money.Micros
	Wallet ids.UUID
}

// begin notes where the journal is when a period of a campaign begins.
func (m *Model) begin(c *Campaign) {
	c.Began = -1
	if m.Level >= command.LevelReturns {
		c.Began = len(m.Lines)
	}
}

// Reverse applies a Reverse.
func (m *Model) Reverse(x *command.Reverse) command.Result {
	amount, _ := x.Amount()
	if r, found := m.Reversals[x.ID]; found {
		if r.Marketplace != x.Marketplace || r.Campaign != x.Campaign || r.Line != x.Line || r.Amount != amount {
			return refuse(command.AlreadyExists, 0)
		}
		return command.Result{Balance: micros(m.Wallets[r.Wallet].Balance)}
	}
	var c *Campaign
	for _, other := range m.Campaigns {
		if other.ID == x.Campaign && other.Marketplace == x.Marketplace {
			c = other
		}
	}
	if c == nil {
		return refuse(command.NotFound, 0)
	}
	w, sum := m.Wallets[c.Campaign.Wallet], big.NewInt(int64(amount))
	if x.Line != 0 {
		w = m.Wallets[x.Wallet]
	}
	left := x.Charged
	for _, r := range m.Reversals { // order: a sum.
		if r.Line == x.Line {
			left -= r.Amount
		}
	}
	switch {
	case w == nil:
		return refuse(command.Invalid, 0)
	case x.Line != 0 && amount > left, sum.Cmp(c.SpentTotal) > 0, sum.Cmp(w.Spent) > 0:
		return refuse(command.ExceedsCharge, 0)
	case !m.isCounted(x):
		return refuse(command.Conflict, 0)
	}
	for _, p := range x.Parts {
		m.giveBack(c, w, x, big.NewInt(int64(p.Amount)))
	}
	m.Reversals[x.ID] = Reversed{*x, amount, w.ID}
	return command.Result{Balance: micros(w.Balance)}
}

// isCounted reports whether the charges of every bid and cell, and of every product sold there, cover what was and is to
// be given back of them.
func (m *Model) isCounted(x *command.Reverse) bool {
	type place struct {
		cell, bid uint32
		kind      event.Kind
		product   string
		sold      bool
	}
	left := map[place]money.Micros{}
	add := func(p *command.ReversalPart, sign money.Micros) {
		left[place{p.Cell, p.Bid, p.Kind, "", false}] += sign * p.Amount
		if p.Kind == event.Purchase {
			left[place{p.Cell, 0, p.Kind, p.Product, true}] += sign * p.Amount
		}
	}
	for i := range m.Charges {
		if m.Charges[i].Campaign == x.Campaign {
			add(&m.Charges[i].ReversalPart, 1)
		}
	}
	for _, r := range m.Reversals { // order: a sum.
		for i := range r.Parts {
			if r.Campaign == x.Campaign {
				add(&r.Parts[i], -1)
			}
		}
	}
	for i := range x.Parts {
		add(&x.Parts[i], -1)
	}
	for _, n := range left { // order: any.
		if n < 0 {
			return false
		}
	}
	return true
}

// giveBack gives one part of a reversal back. Of the budget, the period gets what was charged in it, and at least what
// the periods before cannot have spent.
func (m *Model) giveBack(c *Campaign, w *Wallet, x *command.Reverse, amount *big.Int) {
	earlier := new(big.Int).Sub(c.SpentTotal, c.Spent)
	ofPeriod := new(big.Int).Sub(amount, earlier)
	if ofPeriod.Sign() < 0 {
		ofPeriod.SetInt64(0)
	}
	if c.Period == model.Total || x.Line != 0 && c.Began >= 0 && x.Line > uint64(c.Began) {
		ofPeriod = smaller(amount, c.Spent)
	}
	c.Spent = new(big.Int).Sub(c.Spent, ofPeriod) // A day that is carried over refers to the old value.
	c.SpentTotal.Sub(c.SpentTotal, amount)
	w.Spent.Sub(w.Spent, amount)
	w.Balance.Add(w.Balance, amount)
	m.Lines = append(m.Lines, Line{Campaign: c.Ordinal, Key: x.ID, Amount: amount})
	m.addEntry(w, ids.UUID{}, x.Note)
}

// subtractReversals subtracts what was given back from the counters of a campaign.
func (m *Model) subtractReversals(id ids.UUID, sum *rollup.Counters) {
	for _, r := range m.Reversals { // order: a sum.
		for i := range r.Parts {
			p := &r.Parts[i]
			switch {
			case r.Campaign != id:
			case p.Kind == event.Click:
				sum.SpentClicks -= p.Amount
			case p.Kind == event.Purchase:
				sum.SpentPurchases -= p.Amount
			default:
				sum.SpentImpressions -= p.Amount
			}
		}
	}
}

// subtractReversedSales subtracts what was given back from the counters of the products sold.
func (m *Model) subtractReversedSales(id ids.UUID, sold map[string]rollup.Counters) {
	for _, r := range m.Reversals { // order: a sum.
		for _, p := range r.Parts {
			if r.Campaign == id && p.Kind == event.Purchase {
				c := sold[p.Product]
				c.SpentPurchases -= p.Amount
				sold[p.Product] = c
			}
		}
	}
}

// reverse reverses a charge, or an amount of several charges; sometimes more than was charged, at a place where nothing
// was charged, or under the id of an earlier reversal.
func (g *Generator) reverse() Step {
	g.seq++
	x := command.Reverse{ID: g.id('v', g.seq), Marketplace: g.market(), Reason: command.Reason(g.choose(command.Reasons, "reason")), Author: "key:k"}
	var charges []Charge
	for _, c := range g.Model.Charges {
		if c.Amount > 0 {
			charges = append(charges, c)
		}
	}
	if n := len(charges); n == 0 || g.choose(12, "nobody's") == 0 {
		x.Campaign, x.Parts = g.id('c', 99), []command.ReversalPart{{Amount: 1}}
	} else {
		c := charges[max(0, n-1-g.choose(8, "which charge"))]
		if i := lastOfPurchase(charges); i >= 0 && g.choose(3, "of a purchase") == 0 { // They are rare.
			c = charges[i]
		}
		x.Campaign, x.Note = c.Campaign, "note"
		for _, of := range g.Model.Campaigns {
			if of.ID == c.Campaign && g.choose(20, "of another marketplace") > 0 {
				x.Marketplace = of.Marketplace
			}
		}
		if g.choose(3, "an amount") == 0 {
			x.Parts = g.partsOf(charges, c.Campaign)
		} else {
			x.Line, x.Charged, x.Wallet, x.Parts = c.Line, c.Amount, c.Wallet, []command.ReversalPart{g.partOf(&c)}
		}
	}
	if n := len(g.reversed); n > 0 && g.choose(6, "repeat a reversal") == 0 {
		old := g.reversed[g.choose(n, "which reversal")]
		if g.choose(3, "with another content") == 0 {
			x.ID = old.ID
		} else {
			x = old
		}
	}
	g.reversed = append(g.reversed, x)
	return g.leveled(command.LevelReturns, "reverse", command.AppendReverse(nil, g.now, &x), func() command.Result { return g.Model.Reverse(&x) })
}

// partOf returns a part of a reversal of a charge.
func (g *Generator) partOf(c *Charge) command.ReversalPart {
	p := c.ReversalPart
	switch g.choose(6, "how much") {
	case 0:
		p.Amount = 1
	case 1:
		p.Amount++
	case 2, 3:
		p.Amount = (p.Amount + 1) / 2
	}
	if g.choose(12, "elsewhere") == 0 {
		p.Cell += 4
	}
	return p
}

// partsOf returns parts of several charges of a campaign.
func (g *Generator) partsOf(charges []Charge, campaign ids.UUID) (all []command.ReversalPart) {
	for i := range charges {
		if c := &charges[i]; c.Campaign == campaign && (len(all) == 0 || g.choose(2, "one more charge") == 0) {
			all = append(all, g.partOf(c))
		}
	}
	slices.SortFunc(all, func(a, b command.ReversalPart) int { return a.Compare(&b) })
	return slices.CompactFunc(all, func(a, b command.ReversalPart) bool { return a.Compare(&b) == 0 })
}

// lastOfPurchase returns the index of the last charge of a purchase, -1 when there is none.
func lastOfPurchase(charges []Charge) int {
	i := len(charges) - 1
	for i >= 0 && charges[i].Kind != event.Purchase {
		i--
	}
	return i
}
