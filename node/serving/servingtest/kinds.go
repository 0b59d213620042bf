package servingtest

import (
	"fmt"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// Spec.Kinds adds these to the listings.
const (
	Slot      = "home-top"  // A slot with a banner of each of kindCampaigns campaigns.
	Placement = "brand-row" // A placement with a sponsored brand of each of kindCampaigns campaigns.
	Site      = "de"        // A site with kindProducts hotels (hotel-0 and up) and flights (flight-0 and up), each with a bid.
	Segment   = "buyers"    // An almost empty segment; half of the banner campaigns multiply their bids by it.

	kindCampaigns = 60
	kindProducts  = 200
)

// fillKinds adds banners, sponsored brands and travel to the market.
func (n *Node) fillKinds() {
	n.Market.PutMediaSlot(Marketplace, &market.MediaSlot{ID: Slot, Active: true})
	n.Market.PutPlacement(Marketplace, &market.Placement{ID: "0199c0de-0000-7000-8000-00000000cafe", ExternalID: Placement, Active: true})
	n.Market.PutSegment(Marketplace, Segment, []uint64{1})
	ordinal := uint32(1 << 20)
	for i := range kindCampaigns {
		ordinal++
		banner := n.campaignOf(ordinal, market.Banner, i%2 == 0)
		n.ad(banner, i, market.TargetURL, fmt.Sprintf("https://shop.example/?c=%d&q=%q", i, "x"), &market.Creative{
			Place: Slot, Assets: []market.BannerAsset{
				{URL: fmt.Sprintf("https://cdn.example/%d.png", i)},
				{URL: "https://cdn.example/t.json", Content: []byte(`{"headline":"h"}`)},
			},
		})
		ordinal++
		brand := n.campaignOf(ordinal, market.SponsoredBrand, false)
		n.ad(brand, i, market.TargetBrand, fmt.Sprintf("brand-%d", i), &market.Creative{
			Place: Placement, Title: "Spring", Content: []byte(`{"headline":"h"}`), Products: []string{"hotel-0", "hotel-1"},
		})
	}
	for _, kind := range []string{"hotel", "flight"} {
		ordinal++
		c := n.campaignOf(ordinal, market.Listing, false)
		for i := range kindProducts {
			id := fmt.Sprintf("%s-%d", kind, i)
			n.Market.PutProduct(Marketplace, &market.Product{
				ID: id, Active: true, Quality: market.QualityOne, Attributes: []string{"site:" + Site, "travelType:" + kind + "s"},
			})
			n.ad(c, i, market.TargetProduct, id, nil)
		}
	}
}

// campaignOf adds a campaign of a format; with terms it has a daily cap on impressions, a schedule and a segment.
func (n *Node) campaignOf(ordinal uint32, format market.AdFormat, terms bool) *market.Campaign {
	c := n.campaignValue(ordinal)
	c.Format = format
	if terms {
		c.Caps = []market.Cap{{Type: 1, Limit: 3}}
		c.Schedule = make([]uint16, market.ScheduleHours)
		for i := range c.Schedule {
			c.Schedule[i] = market.ScheduleOne
		}
		c.Segments.Multipliers = []market.SegmentMultiplier{{Segment: Segment, Multiplier: 2 * market.MultiplierOne}}
	}
	n.put(c)
	return c
}

func (n *Node) ad(c *market.Campaign, i int, kind market.TargetType, target string, creative *market.Creative) {
	n.Market.PutBid(c, &market.Bid{
		ID: ids.Mint(NowMillis, [10]byte{9}, 0), Ordinal: c.Ordinal<<8 + uint32(i) + 1, Target: target, TargetType: kind, Active: true, // A count.
		Amount: money.Micros(10_000 * (1 + i)), Creative: creative,
	})
}
