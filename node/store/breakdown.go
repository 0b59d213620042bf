package store

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Dimension is what the rows of a breakdown stand for.
type Dimension uint8

// The dimensions. Placement, device and channel are counted with every event; the others follow from the bid that won.
const (
	ByPlacement Dimension = iota
	ByDevice
	ByChannel
	BySlot
	ByKeyword
	ByFormat
)

// BreakdownRow is the sum of the counters of campaigns that belong to a value of a dimension.
//
// What a reversal has given back is subtracted in the row of no placement, no device and the channel onsite, because the
// journal does not say where the interaction was; so an amount of this row may be negative. Events that were counted before
// every node knew places (command.LevelPlaces) are in no row of these dimensions.
type BreakdownRow struct {
	Value string // Empty for none: no placement, an unknown device, no slot, no keyword.
	rollup.Counters
}

// CampaignBreakdown returns the counters of a campaign by a dimension, ordered by value. ErrNotFound for another marketplace's
// campaign.
func (t Tenant) CampaignBreakdown(ctx context.Context, campaign ids.UUID, d Dates, by Dimension) ([]BreakdownRow, error) {
	rows := breakdown{}
	err := t.eachGroup(ctx, campaign, d, func(b *longState, c cells) { rows.addCampaign(b, campaign, c, by) })
	return rows.sorted(), err
}

// VendorBreakdown returns the counters of all campaigns of a vendor by a dimension, ordered by value; of all vendors when it is
// empty. ErrNotFound for a vendor that has no counters and is not in the catalog.
func (t Tenant) VendorBreakdown(ctx context.Context, vendor string, d Dates, by Dimension) ([]BreakdownRow, error) {
	span, err := t.cells(d)
	if err != nil {
		return nil, err
	}
	rows := breakdown{}
	err = t.eachCampaign(ctx, vendor, func(b *longState, c *campaignRef) { rows.addCampaign(b, c.id, span, by) })
	if err == nil && vendor != "" && len(rows) == 0 {
		_, err = t.Vendor(ctx, vendor)
	}
	return rows.sorted(), err
}

// breakdown is the sums by value.
type breakdown map[string]*rollup.Counters

// addCampaign adds the counters that a group has of a campaign.
func (r breakdown) addCampaign(b *longState, campaign ids.UUID, c cells, by Dimension) {
	if by <= ByChannel {
		for _, p := range b.CampaignPlaces(campaign, c.from, c.to) {
			counters(r, placeText(p.Place, by)).Add(&p.Counters)
		}
		return
	}
	own, found := b.Campaign(campaign) // Not in a group that has events which named it by its external id.
	for _, x := range b.CampaignBids(campaign, c.from, c.to) {
		value := ""
		if found {
			value = bidText(b.Queries, &own.Campaign, x.Bid, by)
		}
		counters(r, value).Add(withoutPurchases(&x.Counters))
	}
}

// placeText returns the value of a place.
func placeText(p event.Place, by Dimension) string {
	switch by {
	case ByDevice:
		if p.Device() == event.UnknownDevice {
			return ""
		}
		return p.Device().String()
	case ByChannel:
		return p.Channel().String()
	default:
		if p.Placement() == 0 {
			return ""
		}
		return strconv.Itoa(int(p.Placement()))
	}
}

// formats are the ad formats as the interface names them.
var formats = [...]string{model.Listing: "listing", model.Banner: "banner", model.SponsoredBrand: "sponsored_brand"}

// bidText returns the value of a bid.
func bidText(b shard.Queries, c *model.Campaign, ordinal uint32, by Dimension) string {
	if by == ByFormat {
		return formats[c.Format]
	}
	bid, found := b.BidByOrdinal(c.Ordinal, ordinal)
	switch {
	case !found:
		return ""
	case by == ByKeyword:
		return keywordsOf(&bid)
	case bid.Creative != nil:
		return bid.Creative.Place
	}
	return ""
}

// keywordsOf returns the keywords for which a bid competes, in alphabetical order and separated by commas: a token does not say
// which of them the shopper had searched for.
func keywordsOf(bid *model.Bid) string {
	var all []string
	for _, trigger := range bid.Triggers {
		switch trigger.Kind {
		case model.TriggerExact, model.TriggerPhrase, model.TriggerBroad:
			all = append(all, trigger.Value)
		default:
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// sorted returns the rows in the order of their values.
func (r breakdown) sorted() (all []BreakdownRow) {
	for _, value := range slices.Sorted(maps.Keys(r)) {
		all = append(all, BreakdownRow{value, ofCampaign(*r[value])})
	}
	return all
}
