package shard

import (
	"math/bits"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
)

// rate is what is known of how often ads are clicked: impressions and clicks that were counted, each halved every 14 days.
//
// It predicts (clicks + m*p) / (impressions + m), where p is the parent's prediction (a campaign's parent is its format, a
// format's the prior) and m is 2.7/p: the weight of what is believed before anything is seen. Auctions use predictions to compare bids of
// different charge types, and for the weight in a token. A charge is what its token says, so the books never depend on them.
//
// It is no part of the state: a counter for every campaign in each snapshot would be much for what a few hundred impressions
// teach again. After a start the node begins with the prior.
// INVARIANT: nothing that is stored, digested or answered by Apply depends on it.
type rate struct {
	day                 uint32 // Of the marketplace; the counters are of this day.
	impressions, clicks uint64 // In units of 1/2^16.
}

const (
	rateOne   = 1 << 16             // An impression or click.
	rateDaily = 62_370              // 2^(-1/14) in units of 1/2^16: a half in 14 days.
	rateSeen  = 27 * rateOne / 10   // m*p: clicks that are believed before any is seen.
	ratePrior = 3 << 32 / 100       // Clicks of an impression, where nothing is known: shard/auction has the same.
	rateMin   = 1 << 32 / 1_000_000 // What is predicted stays between these.
	rateMax   = 1<<31 - 1
	rateDays  = 400 // After as many days without an event nothing is left.
)

// see counts an interaction.
func (r *rate) see(kind event.Kind, day uint32) {
	r.age(day)
	if kind == event.Click {
		r.clicks += rateOne
	} else {
		r.impressions += rateOne
	}
}

// age lets the days pass that have passed. A day that is before the counters' changes nothing.
func (r *rate) age(day uint32) {
	if day <= r.day {
		return
	}
	if day-r.day > rateDays {
		*r = rate{day: day}
	}
	for ; r.day < day; r.day++ {
		r.impressions, r.clicks = r.impressions*rateDaily>>16, r.clicks*rateDaily>>16
	}
}

// predict returns the rate in units of 1/2^32. REQUIRES: parent lies between rateMin and rateMax.
func (r *rate) predict(parent uint32) uint32 {
	m := uint64(rateSeen) << 32 / uint64(parent)
	hi, lo := bits.Mul64(r.clicks+rateSeen, 1<<32)
	of := r.impressions + m
	if hi >= of {
		return rateMax // More clicks than impressions: somebody reports no impressions.
	}
	p, _ := bits.Div64(hi, lo, of)
	return uint32(min(max(p, rateMin), rateMax)) //nolint:gosec // below 2^31.
}

// learn takes a counted impression or click of a campaign into what is predicted of it.
func (m *Machine) learn(c *campaign, r *command.EventRecord) {
	if r.Kind != event.Impression && r.Kind != event.Click {
		return
	}
	t := m.tenant(c.Marketplace)
	format := &t.learned[c.Format]
	format.see(r.Kind, t.periods.Day)
	c.learned.see(r.Kind, t.periods.Day)
	c.slot.Click.Store(c.learned.predict(format.predict(ratePrior)))
}

// expect shows what is predicted of a campaign of which nothing has been seen: what its format teaches.
func (m *Machine) expect(c *campaign) {
	if format := &m.tenant(c.Marketplace).learned[c.Format]; c.learned == (rate{}) && *format != (rate{}) {
		c.slot.Click.Store(format.predict(ratePrior))
	}
}
