package shard

import (
	"math/bits"

	"github.com/gavel-ads/gavel/shard/event"
)

// rate estimates a click rate from counted impressions and clicks, both of which decay by half every 14 days.
//
// It predicts (clicks + m*p) / (impressions + m). p is the prediction of the parent: a campaign's parent is its format,
// a format's parent is the constant prior. m = 2.7/p is the weight of the parent's prediction, in impressions. Auctions
// use predictions to compare bids of different charge types, and for the weight in a token. Charges do not depend on
// them, because a token fixes its charge.
//
// A rate is not part of the state: a counter for every campaign would enlarge each snapshot, although a few hundred
// impressions restore the estimate. Summing the report cells at a start was rejected too, because it takes millions of
// reads. After a start the node begins with the prior, so nodes may compare charge types differently for a while. The
// token contains what was decided.
// INVARIANT: nothing that Apply stores, adds to the digest or answers depends on a rate.
type rate struct {
	day                 uint32 // The marketplace's local day up to which the counters have decayed.
	impressions, clicks uint64 // In units of 1/2^16.
}

const (
	rateOne         = 1 << 16             // One impression or click.
	rateDaily       = 62_370              // The daily decay 2^(-1/14), in units of 1/2^16.
	ratePriorClicks = 27 * rateOne / 10   // m*p, the number of clicks that the parent's prediction counts for.
	ratePrior       = 3 << 32 / 100       // Clicks per impression when nothing is known, in units of 1/2^32; as in shard/auction.
	rateMin         = 1 << 32 / 1_000_000 // Predictions lie between rateMin and rateMax.
	rateMax         = 1<<31 - 1
	rateDays        = 400 // After this many days without an event the counters are reset.
)

// count adds an impression or click of a day.
func (r *rate) count(kind event.Kind, day uint32) {
	r.decay(day)
	if kind == event.Click {
		r.clicks += rateOne
	} else {
		r.impressions += rateOne
	}
}

// decay reduces the counters to what they count for on a day. A day before r.day changes nothing.
func (r *rate) decay(day uint32) {
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
	m := uint64(ratePriorClicks) << 32 / uint64(parent)
	hi, lo := bits.Mul64(r.clicks+ratePriorClicks, 1<<32)
	of := r.impressions + m
	if hi >= of {
		return rateMax // More clicks than impressions: the shop does not report all impressions.
	}
	p, _ := bits.Div64(hi, lo, of)
	return uint32(min(max(p, rateMin), rateMax)) // Below 2^31.
}
