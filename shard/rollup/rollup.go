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
}

// Sales are items of purchases.
type Sales struct {
	Count    int64 // Items, whatever their quantity.
	Quantity int64
	Amount   money.Micros
}

// Spent returns what clicks, impressions and purchases cost.
func (c *Counters) Spent() money.Micros { return c.SpentClicks + c.SpentImpressions + c.SpentPurchases }

// Add adds the counters of o to c.
func (c *Counters) Add(o *Counters) {
	c.Impressions += o.Impressions
	c.ChargedImpressions += o.ChargedImpressions
	c.SpentImpressions += o.SpentImpressions
	c.Clicks += o.Clicks
	c.ChargedClicks += o.ChargedClicks
	c.SpentClicks += o.SpentClicks
	c.Purchases += o.Purchases
	c.PurchaseQuantity += o.PurchaseQuantity
	c.PurchaseAmount += o.PurchaseAmount
	c.Pageviews += o.Pageviews
	c.Overdelivery += o.Overdelivery
	c.Attributed.add(&o.Attributed)
	c.Halo.add(&o.Halo)
	c.Viewed.add(&o.Viewed)
	c.ChargedPurchases += o.ChargedPurchases
	c.SpentPurchases += o.SpentPurchases
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
