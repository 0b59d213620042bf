package shardtest

import (
	"math/big"
	"slices"

	"github.com/gavel-ads/gavel/shard/model"
)

// Carried is what the model knows of a budget that is carried over: every counted day of the month, so that what is
// left is computed anew from all of them.
type Carried struct {
	Counts  bool         // The budget is carried over.
	Earlier []carriedDay // The counted days of the month before this one.
	OnTop   *big.Int     // What this day may spend on top of the budget, as it was when the day began.
}

type carriedDay struct{ granted, spent *big.Int }

// left is what the earlier days of the month left unspent.
func (x *Carried) left() *big.Int {
	left := new(big.Int)
	for _, d := range x.Earlier {
		left.Add(left, d.granted)
		left.Sub(left, d.spent)
		if left.Sign() < 0 { // The budget was lowered below what was spent.
			left.SetInt64(0)
		}
	}
	return left
}

// granted is what this day adds: the budget, and 0.4 of it on the 31st day.
func (c *Campaign) granted() *big.Int {
	amount := big.NewInt(int64(c.Budget))
	if c.Carried.Counts && len(c.Carried.Earlier) >= 30 {
		amount.Mul(amount, big.NewInt(4))
		amount.Div(amount, big.NewInt(10))
	}
	return amount
}

// limit is the most that the campaign may spend in this period.
func (c *Campaign) limit() *big.Int {
	limit := c.granted()
	if c.Carried.Counts {
		limit.Add(limit, smaller(c.Carried.OnTop, big.NewInt(int64(c.Budget))))
	}
	return limit
}

// startDay starts a new day of a campaign and reports whether that needs a line in the journal.
func (m *Model) startDay(c *Campaign, sameMonth bool) bool {
	before := c.Carried
	limit := c.limit()
	day := carriedDay{c.granted(), c.Spent}
	c.Carried = m.carried(c)
	if c.Carried.Counts && before.Counts && sameMonth {
		c.Carried.Earlier = append(slices.Clip(before.Earlier), day)
		c.Carried.OnTop = smaller(c.Carried.left(), big.NewInt(int64(c.Budget)))
	}
	c.Spent = new(big.Int)
	if len(c.Carried.Earlier) == 0 && (before.Counts || c.Carried.Counts) {
		return true // Counted anew, or no longer.
	}
	return onTop(&before).Cmp(onTop(&c.Carried)) != 0 || limit.Cmp(c.limit()) != 0
}

// carried is what a campaign starts with whose budget begins to be carried over, or does not.
func (m *Model) carried(c *Campaign) Carried {
	x := m.Marketplaces[c.Marketplace]
	if x == nil || !x.CarriesOver || c.Period != model.Daily {
		return Carried{}
	}
	return Carried{Counts: true, OnTop: new(big.Int)}
}

func onTop(x *Carried) *big.Int {
	if x.OnTop == nil {
		return new(big.Int)
	}
	return x.OnTop
}

func smaller(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}
