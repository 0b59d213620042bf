// Package rollup holds the counters behind every report: those of events for each campaign, bid and local hour, and
// those of purchases for each product and local hour. The counters of one local hour are a cell. Reports sum the cells
// of their period.
package rollup

import "github.com/gavel-ads/gavel/shard/money"

// CellSeconds is the resolution of cell numbers: Unix time / 900 of the start of a local hour, because time zones
// differ by quarter hours.
const CellSeconds = 900

// Counters are the counters of one cell, or the sums over several cells.
type Counters struct {
	Impressions        int64
	ChargedImpressions int64
	SpentImpressions   money.Micros
	Clicks             int64
	ChargedClicks      int64
	SpentClicks        money.Micros
	Purchases          int64 // Purchase events.
	PurchaseQuantity   int64
	PurchaseAmount     money.Micros
	Pageviews          int64
	Overdelivery       money.Micros // Prices of interactions, as far as budget or wallet could not pay them.
	// Attributed counts the items of purchases that were credited to touches of the cell. Halo and Viewed are those of them
	// that went to a touch of the vendor instead of the product, and to an impression instead of a click.
	Attributed, Halo, Viewed Sales
	ChargedPurchases         int64 // Credited items that were charged.
	SpentPurchases           money.Micros
	Invalid                  [InvalidReasons]int64 // Clicks that rules of the marketplace found invalid, by InvalidReason.
}

// Sales are items of purchases.
type Sales struct {
	Count    int64 // Items, whatever their quantity.
	Quantity int64
	Amount   money.Micros
}

// Spent returns what clicks, impressions and purchases cost.
func (c *Counters) Spent() money.Micros { return c.SpentClicks + c.SpentImpressions + c.SpentPurchases }

// Add adds the counters of o to c. What was sold saturates, as in Counters.Purchase.
func (c *Counters) Add(o *Counters) {
	c.Impressions += o.Impressions
	c.ChargedImpressions += o.ChargedImpressions
	c.SpentImpressions += o.SpentImpressions
	c.Clicks += o.Clicks
	c.ChargedClicks += o.ChargedClicks
	c.SpentClicks += o.SpentClicks
	c.Purchases += o.Purchases
	c.PurchaseQuantity = saturate(c.PurchaseQuantity, o.PurchaseQuantity)
	c.PurchaseAmount = money.Micros(saturate(int64(c.PurchaseAmount), int64(o.PurchaseAmount)))
	c.Pageviews += o.Pageviews
	c.Overdelivery += o.Overdelivery
	c.Attributed.add(&o.Attributed)
	c.Halo.add(&o.Halo)
	c.Viewed.add(&o.Viewed)
	c.ChargedPurchases += o.ChargedPurchases
	c.SpentPurchases += o.SpentPurchases
	for reason, n := range &o.Invalid {
		c.Invalid[reason] += n
	}
}

func (s *Sales) add(o *Sales) {
	s.Count += o.Count
	s.Quantity = saturate(s.Quantity, o.Quantity)
	s.Amount = money.Micros(saturate(int64(s.Amount), int64(o.Amount)))
}

// Add adds an item. Quantity and amount saturate at money.MaxMicros, as those of Counters.Purchase.
func (s *Sales) Add(quantity int64, unitPrice money.Micros) {
	s.add(&Sales{1, quantity, amountOf(quantity, unitPrice)})
}

// IsConsistent reports whether no counter is negative, and no part is larger than what it is a part of.
func (c *Counters) IsConsistent() bool {
	for _, f := range c.fields() {
		if *f < 0 {
			return false
		}
	}
	a, h, v := &c.Attributed, &c.Halo, &c.Viewed
	return max(h.Count, v.Count) <= a.Count && max(h.Quantity, v.Quantity) <= a.Quantity && max(h.Amount, v.Amount) <= a.Amount
}

// Return is what came back of a purchased item, of which some pieces may have come back before.
type Return struct {
	Quantity  int64 // Pieces that were bought.
	UnitPrice money.Micros
	Before    int64 // Pieces that had come back before.
	After     int64 // Pieces that have come back now; more than Before, at most Quantity.
	// KeepFull leaves counters that have saturated as they are. How much such a counter lacks is not known, so a subtraction
	// could make it less than what is left, and a part more than its whole. It is false below command.LevelFullCounters.
	KeepFull bool
}

// Whole reports whether all pieces have come back, so that the item is not counted any more.
func (r *Return) Whole() bool { return r.After == r.Quantity }

// TakeBack subtracts what came back of an item. No counter falls below 0.
func (s *Sales) TakeBack(r *Return) {
	if r.Whole() {
		s.Count = max(0, s.Count-1)
	}
	s.Quantity, s.Amount = r.subtractFrom(s.Quantity, s.Amount)
}

// TakeBackPurchase subtracts what came back of an item from PurchaseQuantity and PurchaseAmount, down to 0.
func (c *Counters) TakeBackPurchase(r *Return) {
	c.PurchaseQuantity, c.PurchaseAmount = r.subtractFrom(c.PurchaseQuantity, c.PurchaseAmount)
}

// subtractFrom returns what is left of a quantity and an amount.
//
// INVARIANT: with KeepFull, a counter that never reached money.MaxMicros is exact, and another one stays at it. So no
// counter is less than what is left of any of its items, and no part is more than its whole.
func (r *Return) subtractFrom(quantity int64, amount money.Micros) (int64, money.Micros) {
	if !r.KeepFull || quantity < int64(money.MaxMicros) {
		quantity = max(0, quantity-(r.After-r.Before))
	}
	if !r.KeepFull || amount < money.MaxMicros {
		amount = max(0, amount-r.amount())
	}
	return quantity, amount
}

// amount returns the price of what came back, as it was counted: the amounts of all returns of an item add up to its own.
func (r *Return) amount() money.Micros {
	return amountOf(r.After, r.UnitPrice) - amountOf(r.Before, r.UnitPrice)
}
