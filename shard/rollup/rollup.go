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
}

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
}
