package attribution

import (
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/market"
)

// Window is how many days after a touch a purchase is still credited to it, from 0 (never) to WindowDaysMax.
type Window struct{ Click, View uint8 }

// Rules say which touches may be credited and which of them is preferred.
type Rules struct {
	Windows       [market.AdFormats]Window
	Halo          bool // A touch of the item's vendor is credited when there is none of its product.
	ListingsFirst bool // A listing beats all other formats, however late these were touched.
	LastTouch     bool // The latest touch wins, click or impression.
}

// Preset names rules that ad networks use. Standard is the one in use; a second opinion checks all of them.
type Preset uint8

// The presets.
const (
	Standard  Preset = iota // Listings 7 days, sponsored brands 14, banners 30, after clicks and impressions, with halo.
	Reference               // Listings 7 days and sponsored brands 14 after a click, banners 30; listings before all others; no halo.
	LongClick               // 14 days after a click, banners also one day after an impression; no halo.
	LastOf14                // The last touch of 14 days, with halo.
	Click30                 // 30 days after a click and one day after an impression; no halo.
	Presets   = int(Click30) + 1
)

var presets = [Presets]Rules{
	Standard: {
		Windows: [market.AdFormats]Window{market.Listing: {7, 7}, market.SponsoredBrand: {14, 14}, market.Banner: {30, 30}},
		Halo:    true,
	},
	Reference: {
		Windows:       [market.AdFormats]Window{market.Listing: {7, 0}, market.SponsoredBrand: {14, 0}, market.Banner: {30, 30}},
		ListingsFirst: true,
	},
	LongClick: {
		Windows: [market.AdFormats]Window{market.Listing: {14, 0}, market.SponsoredBrand: {14, 0}, market.Banner: {14, 1}},
	},
	LastOf14: {
		Windows: [market.AdFormats]Window{market.Listing: {14, 14}, market.SponsoredBrand: {14, 14}, market.Banner: {14, 14}},
		Halo:    true, LastTouch: true,
	},
	Click30: {
		Windows: [market.AdFormats]Window{market.Listing: {30, 1}, market.SponsoredBrand: {30, 1}, market.Banner: {30, 1}},
	},
}

// RulesOf returns the rules of a preset. REQUIRES: the preset is one of the above.
func RulesOf(p Preset) Rules { return presets[p] }

// window returns the window of a kind of touch in milliseconds, 0 when it is never credited.
func (r *Rules) window(k event.Kind, f market.AdFormat) int64 {
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
