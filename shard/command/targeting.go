package command

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/market"
)

// This file has the tables and kinds of a campaign's targeting.

var segmentRules = newTable("segment rules",
	fixed("include", texts, func(s *market.SegmentRules) *[]string { return &s.Include }),
	fixed("exclude", texts, func(s *market.SegmentRules) *[]string { return &s.Exclude }),
	fixed("multipliers", list(segmentMultipliers, market.SegmentRulesMax),
		func(s *market.SegmentRules) *[]market.SegmentMultiplier { return &s.Multipliers }),
).checked(func(s *market.SegmentRules) bool {
	return max(len(s.Include), len(s.Exclude)) <= market.SegmentRulesMax
})

var segmentMultipliers = newTable("segment multiplier",
	fixed("segment", text, func(s *market.SegmentMultiplier) *string { return &s.Segment }),
	fixed("multiplier", u32[uint32](), func(s *market.SegmentMultiplier) *uint32 { return &s.Multiplier }),
)

var caps = newTable("cap",
	fixed("type", u8[uint8](), func(c *market.Cap) *uint8 { return &c.Type }),
	fixed("limit", u32[uint32](), func(c *market.Cap) *uint32 { return &c.Limit }),
).checked(func(c *market.Cap) bool { return c.Type > 0 && c.Type <= market.RestrictionTypes })

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
	if len(d.rest) < 2*market.ScheduleHours {
		d.Fail()
		return nil
	}
	hours := make([]uint16, market.ScheduleHours)
	for i := range hours {
		if hours[i] = d.U16(); hours[i] > market.ScheduleMax {
			d.Fail()
		}
	}
	return hours
}
