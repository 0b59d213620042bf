package attribution

import (
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
)

// Window is how many days after a touch a purchase is still credited to it, from 0 (never) to WindowDaysMax.
type Window struct{ Click, View uint8 }

// Rules say which touches may be credited and which of them is preferred.
type Rules struct {
	Windows       [model.AdFormats]Window
	Halo          bool // A listing of the item's vendor is credited when there is no touch of its product.
	ListingsFirst bool // A listing beats all other formats, however late these were touched.
	LastTouch     bool // The latest touch wins, click or impression.
}

var rules = [model.Attributions]Rules{
	model.AttributionStandard: {
		Windows: [model.AdFormats]Window{model.Listing: {7, 7}, model.SponsoredBrand: {14, 14}, model.Banner: {30, 30}},
		Halo:    true,
	},
	model.AttributionReference: {
		Windows:       [model.AdFormats]Window{model.Listing: {7, 0}, model.SponsoredBrand: {14, 0}, model.Banner: {30, 30}},
		ListingsFirst: true,
	},
	model.AttributionLongClick: {
		Windows: [model.AdFormats]Window{model.Listing: {14, 0}, model.SponsoredBrand: {14, 0}, model.Banner: {14, 1}},
	},
	model.AttributionAmazon: {
		Windows: [model.AdFormats]Window{model.Listing: {14, 14}, model.SponsoredBrand: {14, 14}, model.Banner: {14, 14}},
		Halo:    true, LastTouch: true,
	},
}

// RulesOf returns the rules of a name. REQUIRES: the name is below model.Attributions, as decoding checks.
func RulesOf(name model.Attribution) Rules { return rules[name] }

// window returns the window of a kind of touch in milliseconds, 0 when it is never credited.
func (r *Rules) window(k event.Kind, f model.AdFormat) int64 {
	switch k {
	case event.Click:
		return int64(r.Windows[f].Click) * dayMillis
	case event.Impression:
		return int64(r.Windows[f].View) * dayMillis
	default:
		return 0
	}
}

// LongestDays returns the longest of the windows in days: touches that are older are not credited.
func (r *Rules) LongestDays() int {
	longest := uint8(0)
	for _, w := range r.Windows {
		longest = max(longest, w.Click, w.View)
	}
	return int(longest)
}

// Compare returns a number above 0 when a is stronger than b by the order of the rules, below 0 when b is stronger.
func (r *Rules) Compare(a, b *Touch) int { return r.compare(a, b) }

// Peers reports whether nothing but time, and what decides between touches of one time, sets two touches apart.
func (r *Rules) Peers(a, b *Touch) bool {
	return (!r.ListingsFirst || isListing(a) == isListing(b)) && (r.LastTouch || a.Kind == b.Kind)
}
