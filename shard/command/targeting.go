package command

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/model"
)

// This file has the tables and kinds of a campaign's targeting.

var segmentRules = newTable("segment rules",
	fixed("include", texts, func(s *model.SegmentRules) *[]string { return &s.Include }),
	fixed("exclude", texts, func(s *model.SegmentRules) *[]string { return &s.Exclude }),
	fixed("multipliers", list(segmentMultipliers, model.SegmentRulesMax),
		func(s *model.SegmentRules) *[]model.SegmentMultiplier { return &s.Multipliers }),
).checked(func(s *model.SegmentRules) bool {
	return max(len(s.Include), len(s.Exclude)) <= model.SegmentRulesMax
})

var segmentMultipliers = newTable("segment multiplier",
	fixed("segment", text, func(s *model.SegmentMultiplier) *string { return &s.Segment }),
	fixed("multiplier", u32[uint32](), func(s *model.SegmentMultiplier) *uint32 { return &s.Multiplier }),
)

var caps = newTable("cap",
	fixed("type", u8[uint8](), func(c *model.Cap) *uint8 { return &c.Type }),
	fixed("limit", u32[uint32](), func(c *model.Cap) *uint32 { return &c.Limit }),
).checked(func(c *model.Cap) bool { return c.Type > 0 && c.Type <= model.RestrictionTypes })

// schedule is the kind of a campaign's schedule: whether there is one, and a value for each hour of a week.
var schedule = sequence("schedule", 1, appendSchedule, (*Decoder).schedule)

func appendSchedule(dst []byte, hours []uint16) []byte {
	dst = AppendBool(dst, len(hours) > 0)
	for _, value := range hours {
		dst = binary.LittleEndian.AppendUint16(dst, value)
	}
	return dst
}

func (d *Decoder) schedule() []uint16 {
	if !d.Bool() {
		return nil
	}
	if len(d.rest) < 2*model.ScheduleHours {
		d.Fail()
		return nil
	}
	hours := make([]uint16, model.ScheduleHours)
	for i := range hours {
		if hours[i] = d.U16(); hours[i] > model.ScheduleMax {
			d.Fail()
		}
	}
	return hours
}
