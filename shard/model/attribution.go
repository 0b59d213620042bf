package model

// Attribution names the rules by which a marketplace credits purchases to clicks and impressions. What each of them says
// is in package attribution. The numbers are part of stored settings and credits: append only.
type Attribution uint8

// The rules that a marketplace may choose.
const (
	AttributionStandard  Attribution = iota // The rules of a marketplace that has chosen none.
	AttributionReference                    // Listings and sponsored brands after a click only; listings before other formats.
	AttributionLongClick                    // 14 days after a click, banners also one day after an impression.
	AttributionAmazon                       // The last touch of 14 days, click or impression.
	Attributions         = int(AttributionAmazon) + 1
)
