// Package rollup holds the counters behind every report: per campaign, bid and local hour, and per product and local
// hour for purchases. Days and reports are sums of hours.
package rollup

import "github.com/gavel-ads/gavel/shard/money"

// CellSeconds is the resolution of cell numbers: Unix time / 900 of the start of a local hour, because time zones differ
// by quarter hours.
const CellSeconds = 900

// Counters of one cell, or of any sum of cells.
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
}

// Add sums two sets of counters.
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
}
