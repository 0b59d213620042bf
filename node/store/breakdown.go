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

// BreakdownMax bounds the values of a breakdown. BOUND: some 400 bytes each. Keywords may be as many as bids.
const BreakdownMax = 50_000

// CampaignBreakdown returns the counters of a campaign by a dimension, ordered by value. ErrNotFound for another marketplace's
// campaign.
func (t Tenant) CampaignBreakdown(ctx context.Context, campaign ids.UUID, d Dates, by Dimension) ([]BreakdownRow, error) {
	x := newBreakdown(by, BreakdownMax)
	err := t.eachGroup(ctx, campaign, d, func(b *longState, c cells) { x.addCampaign(b, campaign, c) })
	return x.sorted(err)
}

// VendorBreakdown returns the counters of all campaigns of a vendor by a dimension, ordered by value; of all vendors when it is
// empty. ErrNotFound for a vendor that has no counters and is not in the catalog; ErrTooMany for more than BreakdownMax values.
func (t Tenant) VendorBreakdown(ctx context.Context, vendor string, d Dates, by Dimension) ([]BreakdownRow, error) {
	return t.vendorBreakdown(ctx, vendor, d, newBreakdown(by, BreakdownMax))
}

func (t Tenant) vendorBreakdown(ctx context.Context, vendor string, d Dates, x *breakdown) ([]BreakdownRow, error) {
	span, err := t.cells(d)
	if err != nil {
		return nil, err
	}
	err = t.eachCampaign(ctx, vendor, func(b *longState, c *campaignRef) { x.addCampaign(b, c.id, span) })
	if err == nil && vendor != "" && len(x.rows) == 0 {
		_, err = t.Vendor(ctx, vendor)
	}
	return x.sorted(err)
}

// breakdown sums counters by value.
type breakdown struct {
	by   Dimension
	most int // BreakdownMax; tests set less.
	rows map[string]*rollup.Counters
	full bool // There were more than most values.
}

func newBreakdown(by Dimension, most int) *breakdown {
	return &breakdown{by: by, most: most, rows: map[string]*rollup.Counters{}}
}

// add adds the counters of a value.
func (x *breakdown) add(value string, c *rollup.Counters) {
	if x.rows[value] == nil && len(x.rows) == x.most {
		x.full = true
		return
	}
	counters(x.rows, value).Add(c)
}

// addCampaign adds the counters that a group has of a campaign.
func (x *breakdown) addCampaign(b *longState, campaign ids.UUID, c cells) {
	if x.by <= ByChannel {
		for _, p := range b.CampaignPlaces(campaign, c.from, c.to) {
			x.add(placeText(p.Place, x.by), &p.Counters)
		}
		return
	}
	own, found := b.Campaign(campaign) // Not in a group that has events which named it by its external id.
	for _, bid := range b.CampaignBids(campaign, c.from, c.to) {
		value := ""
		if found {
			value = bidText(b.Queries, &own.Campaign, bid.Bid, x.by)
		}
		x.add(value, withoutPurchases(&bid.Counters))
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

// sorted returns the rows in the order of their values, after a reading with an error.
func (x *breakdown) sorted(err error) ([]BreakdownRow, error) {
	if err == nil && x.full {
		err = ErrTooMany
	}
	if err != nil {
		return nil, err
	}
	var all []BreakdownRow
	for _, value := range slices.Sorted(maps.Keys(x.rows)) {
		all = append(all, BreakdownRow{value, ofCampaign(*x.rows[value])})
	}
	return all, nil
}
