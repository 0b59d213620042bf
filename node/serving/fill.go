package serving

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/shard/auction"
)

// placedAuction is a recorded auction for a place: a media slot of banners, or a placement of sponsored brands.
type placedAuction struct {
	kind   auction.Kind
	name   string // As the request named the place: an external id, or the UUID of a placement.
	filled bool   // The answer had a winner.
}

// placedAuctions returns the auctions for places of the request that was just answered.
func (sc *Scratch) placedAuctions() (all []placedAuction) {
	for i := range sc.request.Auctions {
		a := &sc.request.Auctions[i]
		if a.Kind == auction.Banners || a.Kind == auction.SponsoredBrand {
			all = append(all, placedAuction{a.Kind, string(sc.request.Text(a.SlotID.Span)), len(sc.results.Results[i].Winners) > 0})
		}
	}
	return all
}

// Fill counts the recorded auctions of a marketplace by place.
type Fill struct {
	From   time.Time // All requests from here on had the same chance to be recorded.
	Every  uint64    // On average one request in Every was recorded; 0 if this node records none.
	Places []PlaceFill
	More   bool // There are more places than fillPlacesMax; those with the most auctions are listed.
}

// PlaceFill counts the recorded auctions of a place.
type PlaceFill struct {
	ResultType string // As that of an ExplainedAuction: banners or brand.
	Name       string // As the requests named it: an external id, or the UUID of a placement.
	Auctions   int
	Filled     int // Auctions with a winner.
}

// fillPlacesMax bounds the places of a Fill. BOUND: an answer of about 300 kB, because storefronts may send any name.
const fillPlacesMax = 1_000

// Fill returns how many of a marketplace's recorded auctions had a winner, by place, those with the most auctions first.
func (c *Core) Fill(marketplace uint16, now time.Time) Fill {
	if c.recorder == nil {
		return Fill{From: now}
	}
	all, since := c.recorder.requestsOf(marketplace)
	type place struct {
		kind auction.Kind
		name string
	}
	counts := map[place]*PlaceFill{}
	for i := range all {
		for _, a := range all[i].placed {
			at := place{a.kind, a.name}
			if counts[at] == nil {
				counts[at] = &PlaceFill{ResultType: placeResults[a.kind], Name: a.name}
			}
			counts[at].Auctions++
			if a.filled {
				counts[at].Filled++
			}
		}
	}
	f := Fill{From: time.UnixMilli(since), Every: c.recent.every, More: len(counts) > fillPlacesMax}
	sorted := slices.SortedFunc(maps.Values(counts), func(a, b *PlaceFill) int {
		return cmp.Or(cmp.Compare(b.Auctions, a.Auctions), cmp.Compare(a.ResultType, b.ResultType), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range sorted[:min(len(sorted), fillPlacesMax)] {
		f.Places = append(f.Places, *p)
	}
	return f
}

// placeResults are the types of the results of auctions for places.
var placeResults = map[auction.Kind]string{
	auction.Banners: resultNames[auction.BannersResult], auction.SponsoredBrand: resultNames[auction.BrandResult],
}
