package market

import (
	"slices"

	"github.com/gavel-ads/gavel/shard/model"
)

// CampaignTerms holds the targeting of a campaign: segments, schedule, frequency caps, products and holdout. Most campaigns have
// none, so it is stored apart from CampaignRow, which is read for every bid. A value never changes once it is in a
// view.
type CampaignTerms struct {
	Include     []uint32 // Segments. The user must be in one of them; empty: all users.
	Exclude     []uint32 // Segments. The user must be in none of them.
	Multipliers []SegmentFactor
	Schedule    []uint16 // By local hour of the week, in units of 1/model.ScheduleOne; nil: the bid is unchanged at all hours.
	Caps        []model.Cap
	Products    []uint32 // Rows of the campaign's productIds.
	Holdout     Holdout  // If the row has the flag CampaignHoldout.
}

// SegmentFactor is a multiplier for the users of a segment.
type SegmentFactor struct {
	Segment uint32
	Factor  uint32 // In units of 1/model.MultiplierOne.
}

// setTerms stores the terms of a campaign and reports whether it has any.
func (m *Market) setTerms(i uint32, c *model.Campaign) bool {
	s := &c.Segments
	if len(s.Include)+len(s.Exclude)+len(s.Multipliers)+len(c.Schedule)+len(c.Caps)+len(c.Products) == 0 && c.HoldoutPercent == 0 {
		if *m.campaignTerms.at(i) != nil {
			*m.campaignTerms.edit(i, m.edition) = nil
			m.dirty = true
		}
		return false
	}
	t := &CampaignTerms{Schedule: slices.Clone(c.Schedule), Caps: slices.Clone(c.Caps), Holdout: HoldoutOf(c)}
	for _, id := range s.Include {
		t.Include = append(t.Include, m.segment(c.Marketplace, id))
	}
	for _, id := range s.Exclude {
		t.Exclude = append(t.Exclude, m.segment(c.Marketplace, id))
	}
	for _, x := range s.Multipliers {
		t.Multipliers = append(t.Multipliers, SegmentFactor{m.segment(c.Marketplace, x.Segment), x.Multiplier})
	}
	for _, id := range c.Products {
		t.Products = append(t.Products, m.product(c.Marketplace, id))
	}
	*m.campaignTerms.edit(i, m.edition) = t
	m.dirty = true
	return true
}

// Terms returns the targeting of a campaign. REQUIRES: its row has the flag CampaignHasTerms.
func (v *View) Terms(campaign uint32) *CampaignTerms { return *v.terms.at(campaign) }
