package shard

import (
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/market"
)

// clickRates is what a node has learned about clicks. It is no part of the replicated state (type rate): the machine
// reports counted interactions to it and reads nothing from it. Its predictions go to auctions only.
type clickRates struct {
	formats   map[uint16]*[market.SponsoredBrand + 1]rate // By marketplace and ad format.
	campaigns []rate                                      // The campaign with ordinal n is at index n-1.
}

func newClickRates() clickRates {
	return clickRates{formats: make(map[uint16]*[market.SponsoredBrand + 1]rate)}
}

// count adds a counted interaction of a day of the marketplace to the rates of its campaign and format, and publishes
// the campaign's prediction to auctions. Only impressions and clicks count.
func (r *clickRates) count(c *campaign, kind event.Kind, day uint32) {
	if kind != event.Impression && kind != event.Click {
		return
	}
	own, format := r.of(c)
	format.count(kind, day)
	own.count(kind, day)
	c.balances.ClickRate.Store(own.predict(format.predict(ratePrior)))
}

// publish publishes the prediction of its format for a campaign that has no counted interaction yet.
func (r *clickRates) publish(c *campaign) {
	if own, format := r.of(c); *own == (rate{}) && *format != (rate{}) {
		c.balances.ClickRate.Store(format.predict(ratePrior))
	}
}

// of returns the rates of a campaign and of its format.
func (r *clickRates) of(c *campaign) (own, format *rate) {
	formats := r.formats[c.Marketplace]
	if formats == nil {
		formats = new([market.SponsoredBrand + 1]rate)
		r.formats[c.Marketplace] = formats
	}
	for int(c.Ordinal) > len(r.campaigns) {
		r.campaigns = append(r.campaigns, rate{})
	}
	return &r.campaigns[c.Ordinal-1], &formats[c.Format]
}
