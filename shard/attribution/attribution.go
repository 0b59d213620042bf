// Package attribution decides which interaction with an ad is credited with which item of a purchase. It is a pure
// function of the touches of one user, the purchase and the rules; package shard stores touches, and package node/store
// collects them and commits the decision.
//
// An item goes to at most one touch. Among the touches in their window, one of the same product beats one of the same
// vendor (halo), a click beats an impression, a later touch an earlier one, and listings beat sponsored brands and these
// beat banners; at last the event key decides. An ad of no product (a brand, a banner) is credited by its vendor. Rules
// differ in their windows and in parts of this order. The order in which touches are given and repeated touches make no
// difference.
package attribution

import (
	"bytes"
	"cmp"

	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
)

const dayMillis = 24 * 3600 * 1000

// WindowDaysMax is the longest window that rules may have. BOUND: touches are stored for as many days.
const WindowDaysMax = 90

// Touch is an impression or click that may be credited with an item of a purchase.
type Touch struct {
	Kind    event.Kind // event.Impression or event.Click.
	Format  model.AdFormat
	Millis  int64  // When it occurred.
	Product string // The advertised product; empty for an ad of none.
	Vendor  string
	Key     [8]byte // The beginning of its event's key. It decides when nothing else does.
}

// Item is an item of a purchase.
type Item struct {
	Product string
	Vendor  string // The seller that the purchase names; empty for none, which excludes a halo.
}

// Credit is the decision about an item.
type Credit struct {
	Touch int  // Index of the touch, -1 for none.
	Halo  bool // The touch is of the item's vendor, not of its product: another product's listing, or an ad of no product.
}

// Decide returns the credit of each item of a purchase that occurred at a time, given the touches of its user.
func (r *Rules) Decide(touches []Touch, millis int64, items []Item) []Credit {
	best := r.strongest(touches, millis)
	credits := make([]Credit, len(items))
	for i := range items {
		credits[i] = best.creditOf(&items[i])
	}
	return credits
}

// candidates are the strongest touches in their windows: which one an item gets depends on its product and vendor only.
type candidates struct{ byProduct, byVendor map[string]int }

func (r *Rules) strongest(touches []Touch, millis int64) candidates {
	best := candidates{make(map[string]int), make(map[string]int)}
	for i := range touches {
		t := &touches[i]
		if !r.inWindow(t, millis) {
			continue
		}
		if t.Product != "" {
			r.keepStronger(best.byProduct, t.Product, touches, i)
		}
		if t.Vendor != "" && (r.Halo || t.Product == "") {
			r.keepStronger(best.byVendor, t.Vendor, touches, i)
		}
	}
	return best
}

func (r *Rules) keepStronger(best map[string]int, of string, touches []Touch, i int) {
	if old, found := best[of]; !found || r.compare(&touches[i], &touches[old]) > 0 {
		best[of] = i
	}
}

// creditOf prefers a touch of the item's product to one of its vendor.
func (c candidates) creditOf(item *Item) Credit {
	if i, found := c.byProduct[item.Product]; found && item.Product != "" {
		return Credit{Touch: i}
	}
	if i, found := c.byVendor[item.Vendor]; found && item.Vendor != "" {
		return Credit{Touch: i, Halo: true}
	}
	return Credit{Touch: -1}
}

// inWindow reports whether a touch is not after the purchase, and not longer before it than its window.
func (r *Rules) inWindow(t *Touch, millis int64) bool {
	age := millis - t.Millis
	return age >= 0 && age <= r.window(t.Kind, t.Format) && r.window(t.Kind, t.Format) > 0
}

// Considers reports whether a touch may be credited with a purchase that occurred at a time.
func (r *Rules) Considers(t *Touch, millis int64) bool { return r.inWindow(t, millis) }

// compare returns a number above 0 when a is stronger than b, below 0 when b is stronger.
func (r *Rules) compare(a, b *Touch) int {
	if r.ListingsFirst {
		if n := cmp.Compare(isListing(a), isListing(b)); n != 0 {
			return n
		}
	}
	if !r.LastTouch {
		if n := cmp.Compare(a.Kind, b.Kind); n != 0 { // Clicks have the higher number.
			return n
		}
	}
	return cmp.Or(
		cmp.Compare(a.Millis, b.Millis),
		cmp.Compare(strengths[a.Format], strengths[b.Format]),
		cmp.Compare(a.Kind, b.Kind),
		bytes.Compare(a.Key[:], b.Key[:]),
	)
}

// strengths orders the formats for touches of the same time.
var strengths = [model.AdFormats]int{model.Listing: 2, model.SponsoredBrand: 1, model.Banner: 0}

func isListing(t *Touch) int {
	if t.Format == model.Listing {
		return 1
	}
	return 0
}
