package auction

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/gavel-ads/gavel/shard/h3"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// This file evaluates the targeting of bids: location, search query, segments and schedule.

// located reports whether one of the request's locations matches that of the bid: the same text ignoring case, or in H3
// mode a cell that the bid's cell contains.
func (s *Scratch) located(location uint32) bool {
	if s.settings.H3 {
		for _, cell := range s.cells {
			if s.v.LocationContains(location, cell) {
				return true
			}
		}
		return false
	}
	for _, l := range s.a.Locations {
		if s.v.IsLocation(location, l.Hash, s.req.Text(l.Span)) {
			return true
		}
	}
	return false
}

// readCells parses the request's locations as H3 cells, in H3 mode only.
func (s *Scratch) readCells() {
	s.cells = s.cells[:0]
	if !s.settings.H3 {
		return
	}
	for _, l := range s.a.Locations {
		if cell, ok := h3.Parse(s.req.Text(l.Span)); ok {
			s.cells = append(s.cells, cell)
		}
	}
}

// readQuery converts the search query into the numbers of its words.
func (s *Scratch) readQuery() {
	s.query = s.query[:0]
	if !s.a.HasSearch || !s.v.HasKeywords() {
		return
	}
	rest := s.words.Words(s.req.Text(s.a.Search))
	for len(rest) > 0 {
		end := bytes.IndexByte(rest, ' ')
		if end < 0 {
			end = len(rest)
		}
		s.query = append(s.query, s.v.Word(s.t.Marketplace, market.Hash(s.req.Seed, rest[:end]), rest[:end]))
		rest = rest[min(end+1, len(rest)):]
	}
}

// inSegment reports whether the user is in a segment. It computes that once for each segment and auction. An unknown
// user is in no segment.
func (s *Scratch) inSegment(segment uint32) bool {
	if s.a.User == 0 {
		return false
	}
	if answer, asked := s.segments.get(uint64(segment)); asked {
		return answer != 0
	}
	answer := uint32(0)
	if s.v.InSegment(segment, s.a.User) {
		answer = 1
	}
	s.segments.add(uint64(segment), answer)
	return answer != 0
}

// included reports whether the user is in one of the segments that a campaign includes, or the campaign includes all
// users.
func (s *Scratch) included(t *market.CampaignTerms) bool {
	return len(t.Include) == 0 || s.inAnySegment(t.Include)
}

// excluded reports whether the user is in one of the segments that a campaign excludes.
func (s *Scratch) excluded(t *market.CampaignTerms) bool { return s.inAnySegment(t.Exclude) }

func (s *Scratch) inAnySegment(segments []uint32) bool {
	return slices.ContainsFunc(segments, s.inSegment)
}

// offHour reports whether a campaign's schedule stops it in the current local hour.
func (s *Scratch) offHour(t *market.CampaignTerms) bool {
	return len(t.Schedule) > 0 && t.Schedule[s.hour] == 0
}

// factorMin and factorMax bound the product of the segments' multipliers. The schedule's factor is not included in the
// bound.
const (
	factorMin = model.MultiplierOne / 10
	factorMax = model.MultiplierOne * 10
)

// adjusted returns a bid amount after the schedule and the multipliers of the user's segments, at least one micro. The
// multipliers are applied in the campaign's order, and after each their product is limited to factorMin and factorMax.
func (s *Scratch) adjusted(t *market.CampaignTerms, amount uint64) uint64 {
	if len(t.Schedule) > 0 {
		amount = scaled(amount, uint64(t.Schedule[s.hour]), model.ScheduleOne)
	}
	factor := uint64(model.MultiplierOne)
	for _, m := range t.Multipliers {
		if s.inSegment(m.Segment) {
			factor = min(max(factor*uint64(m.Factor)/model.MultiplierOne, factorMin), factorMax)
		}
	}
	if factor != model.MultiplierOne {
		amount = scaled(amount, factor, model.MultiplierOne)
	}
	return max(amount, 1)
}

// scaled returns floor(amount*factor/one), at most money.MaxMicros.
func scaled(amount, factor, one uint64) uint64 {
	hi, lo := bits.Mul64(amount, factor)
	if hi >= one {
		return uint64(money.MaxMicros)
	}
	quotient, _ := bits.Div64(hi, lo, one)
	return min(quotient, uint64(money.MaxMicros))
}

// weekHour returns the local hour of the week, from Monday 00:00.
func weekHour(millis int64) int {
	const hourMillis = 3_600_000
	const thursday = 3 * 24 // 1970-01-01 was one.
	hours := (millis/hourMillis + thursday) % model.ScheduleHours
	if millis < 0 {
		return 0 // The node's clock is wrong; any hour is acceptable as long as it does not panic.
	}
	return int(hours)
}
