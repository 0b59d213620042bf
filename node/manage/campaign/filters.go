package campaign

import (
	"context"
	"errors"
	"math/big"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
)

// This file handles the filters that decide whom and when a campaign reaches. The document stores them as they were sent, enabled or
// not; the engine gets only the enabled ones.

// Multiplier multiplies bids for the users of a segment.
type Multiplier struct {
	Type       string           `json:"type" enum:"user_segment"`
	SegmentID  string           `json:"segmentId" minLength:"1" maxLength:"255"`
	Multiplier resource.Decimal `json:"multiplier" minimum:"0.1" maximum:"10" doc:"At most six decimals. Those of several segments multiply."`
}

// MultiplierConfig is a campaign's multipliers.
type MultiplierConfig struct {
	IsActive    *bool        `json:"isActive,omitempty" doc:"Default true."`
	Multipliers []Multiplier `json:"multipliers" maxItems:"20"`
}

// SegmentFilter names a segment.
type SegmentFilter struct {
	Type      string `json:"type" enum:"user_segment"`
	SegmentID string `json:"segmentId" minLength:"1" maxLength:"255"`
}

// TargetingFilters are the segments that a campaign is shown to.
type TargetingFilters struct {
	IsActive         *bool           `json:"isActive,omitempty" doc:"Default true."`
	TargetingFilters []SegmentFilter `json:"targetingFilters" maxItems:"20" doc:"The user must be in one of them."`
}

// ExclusionFilters are the segments that a campaign is not shown to.
type ExclusionFilters struct {
	IsActive         *bool           `json:"isActive,omitempty" doc:"Default true."`
	ExclusionFilters []SegmentFilter `json:"exclusionFilters" maxItems:"20" doc:"The user must be in none of them."`
}

// Schedule is the percentage of the bids in each hour of the week.
type Schedule struct {
	IsActive *bool `json:"isActive,omitempty" doc:"Default true."`
	Hours    []int `json:"hours" minItems:"168" maxItems:"168" minimum:"0" maximum:"1000" doc:"Percent of the bid in each hour of the week, from Monday 00:00 in the marketplace's time zone: 100 is the bid itself, 0 does not compete, 1000 is ten times the bid."`
}

// filters are the members that decide whom and when a campaign reaches. A member is nil if the request does not contain it.
type filters struct {
	multipliers *MultiplierConfig
	targeting   *TargetingFilters
	exclusion   *ExclusionFilters
	schedule    *Schedule
}

func (b *Body) filters() filters {
	return filters{b.MultiplierConfig, b.TargetingFilters, b.ExclusionFilters, b.Schedule}
}

func (b *PatchBody) filters() filters {
	return filters{b.MultiplierConfig.Pointer(), b.TargetingFilters.Pointer(), b.ExclusionFilters.Pointer(), b.Schedule.Pointer()}
}

// validateCrossField checks that every multiplier has at most six decimals, the precision that the engine stores.
func (f filters) validateCrossField() (found []resource.Violation) {
	if f.multipliers == nil {
		return nil
	}
	for i := range f.multipliers.Multipliers {
		if _, ok := millionths(f.multipliers.Multipliers[i].Multiplier); !ok {
			found = append(found, resource.At("value_error", "must have at most six decimals", "body", "multiplierConfig", "multipliers", i, "multiplier"))
		}
	}
	return found
}

// millionths converts a multiplier to the engine's unit. It reports false if it has more than six decimals.
func millionths(d resource.Decimal) (uint32, bool) {
	r, ok := new(big.Rat).SetString(d.Text) // The bounds are checked, so this is small.
	if !ok || !r.Mul(r, big.NewRat(model.MultiplierOne, 1)).IsInt() {
		return 0, false
	}
	return uint32(r.Num().Uint64()), true // At most ten million.
}

// exist checks that the segments exist.
func (f filters) exist(ctx context.Context) (err error) {
	var found []resource.Violation
	known := map[string]bool{}
	checkSegment := func(id string, loc ...any) {
		if _, asked := known[id]; !asked && err == nil {
			_, missing := resource.Tenant(ctx).Segment(ctx, id)
			known[id] = missing == nil
			if !errors.Is(missing, store.ErrNotFound) {
				err = missing
			}
		}
		if !known[id] {
			found = append(found, resource.At("resource_not_found", "the segment does not exist", append(append([]any{"body"}, loc...), "segmentId")...))
		}
	}
	if f.multipliers != nil {
		for i := range f.multipliers.Multipliers {
			checkSegment(f.multipliers.Multipliers[i].SegmentID, "multiplierConfig", "multipliers", i)
		}
	}
	if f.targeting != nil {
		for i, x := range f.targeting.TargetingFilters {
			checkSegment(x.SegmentID, "targetingFilters", "targetingFilters", i)
		}
	}
	if f.exclusion != nil {
		for i, x := range f.exclusion.ExclusionFilters {
			checkSegment(x.SegmentID, "exclusionFilters", "exclusionFilters", i)
		}
	}
	if err != nil || len(found) == 0 {
		return resource.ErrorOf(err)
	}
	return resource.Invalid(found...)
}

// segmentRules are the enabled segment filters and multipliers of a document.
func (d *document) segmentRules() (s model.SegmentRules) {
	if c := d.TargetingFilters; c != nil && isTrue(c.IsActive, true) {
		s.Include = segmentsOf(c.TargetingFilters)
	}
	if c := d.ExclusionFilters; c != nil && isTrue(c.IsActive, true) {
		s.Exclude = segmentsOf(c.ExclusionFilters)
	}
	if c := d.MultiplierConfig; c != nil && isTrue(c.IsActive, true) {
		for i := range c.Multipliers {
			x := &c.Multipliers[i]
			if m, ok := millionths(x.Multiplier); ok { // A stored multiplier may have more decimals than the check allows.
				s.Multipliers = append(s.Multipliers, model.SegmentMultiplier{Segment: x.SegmentID, Multiplier: m})
			}
		}
	}
	return s
}

func segmentsOf(all []SegmentFilter) (ids []string) {
	for _, x := range all {
		ids = append(ids, x.SegmentID)
	}
	return ids
}

// hours is the enabled schedule of a document, or nil.
func (d *document) hours() []uint16 {
	if d.Schedule == nil || !isTrue(d.Schedule.IsActive, true) {
		return nil
	}
	hours := make([]uint16, len(d.Schedule.Hours))
	for i, value := range d.Schedule.Hours {
		hours[i] = uint16(value) // At most 1,000.
	}
	return hours
}
