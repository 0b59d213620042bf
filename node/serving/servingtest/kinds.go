package servingtest

import (
	"fmt"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
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
	n.Market.PutMediaSlot(Marketplace, &model.MediaSlot{ID: Slot, Active: true})
	n.Market.PutPlacement(Marketplace, &model.Placement{ID: "0199c0de-0000-7000-8000-00000000cafe", ExternalID: Placement, Active: true})
	n.Market.PutSegment(Marketplace, Segment, []uint64{1})
	ordinal := uint32(1 << 20)
	for i := range kindCampaigns {
		ordinal++
		banner := n.campaignOf(ordinal, model.Banner, i%2 == 0)
		n.ad(banner, i, model.TargetURL, fmt.Sprintf("https://shop.example/?c=%d&q=%q", i, "x"), &model.Creative{
			Place: Slot, Assets: []model.BannerAsset{
				{URL: fmt.Sprintf("https://cdn.example/%d.png", i)},
				{URL: "https://cdn.example/t.json", Content: []byte(`{"headline":"h"}`)},
			},
		})
		ordinal++
		brand := n.campaignOf(ordinal, model.SponsoredBrand, false)
		n.ad(brand, i, model.TargetBrand, fmt.Sprintf("brand-%d", i), &model.Creative{
			Place: Placement, Title: "Spring", Content: []byte(`{"headline":"h"}`), Products: []string{"hotel-0", "hotel-1"},
		})
	}
	for _, kind := range []string{"hotel", "flight"} {
		ordinal++
		c := n.campaignOf(ordinal, model.Listing, false)
		for i := range kindProducts {
			id := fmt.Sprintf("%s-%d", kind, i)
			n.Market.PutProduct(Marketplace, &model.Product{
				ID: id, Active: true, Quality: model.QualityOne, Attributes: []string{"site:" + Site, "travelType:" + kind + "s"},
			})
			n.ad(c, i, model.TargetProduct, id, nil)
		}
	}
}

// campaignOf adds a campaign of a format; with terms it has a daily cap on impressions, a schedule and a segment.
func (n *Node) campaignOf(ordinal uint32, format model.AdFormat, terms bool) *model.Campaign {
	c := n.campaignValue(ordinal)
	c.Format = format
	if terms {
		c.Caps = []model.Cap{{Type: 1, Limit: 3}}
		c.Schedule = make([]uint16, model.ScheduleHours)
		for i := range c.Schedule {
			c.Schedule[i] = model.ScheduleOne
		}
		c.Segments.Multipliers = []model.SegmentMultiplier{{Segment: Segment, Multiplier: 2 * model.MultiplierOne}}
	}
	n.put(c)
	return c
}

func (n *Node) ad(c *model.Campaign, i int, kind model.TargetType, target string, creative *model.Creative) {
	n.Market.PutBid(c, &model.Bid{
		ID: ids.Mint(NowMillis, [10]byte{9}, 0), Ordinal: c.Ordinal<<8 + uint32(i) + 1, Target: target, TargetType: kind, Active: true, // A count.
		Amount: money.Micros(10_000 * (1 + i)), Creative: creative,
	})
}
