package auction

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/gavel-ads/gavel/shard/h3"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// Whom a bid reaches, when, and what that makes it worth.

// located reports whether one of the request's locations is the bid's: the same text without case, or in H3 mode a cell
// that lies in it.
func (s *Scratch) located(label uint32) bool {
	if s.settings.H3 {
		for _, cell := range s.cells {
			if s.v.Holds(label, cell) {
				return true
			}
		}
		return false
	}
	for _, l := range s.a.Locations {
		if s.v.IsLocation(label, l.Hash, s.req.Text(l.Span)) {
			return true
		}
	}
	return false
}

// readCells reads the request's locations as cells.
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

// readQuery turns the search query into the numbers of its words.
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

// isIn asks once for each segment whether the user is in it. A user who is not known is in none.
func (s *Scratch) isIn(segment uint32) bool {
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

// included reports whether the user is in one of the segments that a campaign is for.
func (s *Scratch) included(t *market.CampaignTerms) bool {
	return len(t.Include) == 0 || s.isInAny(t.Include)
}

// excluded reports whether the user is in one of the segments that a campaign avoids.
func (s *Scratch) excluded(t *market.CampaignTerms) bool { return s.isInAny(t.Exclude) }

func (s *Scratch) isInAny(segments []uint32) bool {
	return slices.ContainsFunc(segments, s.isIn)
}

// rests reports whether a campaign's schedule stops it in this local hour.
func (s *Scratch) rests(t *market.CampaignTerms) bool {
	return len(t.Schedule) > 0 && t.Schedule[s.hour] == 0
}

// Bounds of what segments together make of a bid. The schedule multiplies on top of it.
const (
	factorMin = market.MultiplierOne / 10
	factorMax = market.MultiplierOne * 10
)

// worth returns what a bid is worth for this user in this hour, at least one micro. The multipliers of the user's segments
// are applied in the campaign's order, and after each their product is kept within a tenth and ten times.
func (s *Scratch) worth(t *market.CampaignTerms, amount uint64) uint64 {
	if len(t.Schedule) > 0 {
		amount = scaled(amount, uint64(t.Schedule[s.hour]), market.ScheduleOne)
	}
	factor := uint64(market.MultiplierOne)
	for _, m := range t.Multipliers {
		if s.isIn(m.Segment) {
			factor = min(max(factor*uint64(m.Factor)/market.MultiplierOne, factorMin), factorMax)
		}
	}
	if factor != market.MultiplierOne {
		amount = scaled(amount, factor, market.MultiplierOne)
	}
	return max(amount, 1)
}

// scaled returns floor(amount*factor/one), at most the largest amount.
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
	hours := (millis/hourMillis + thursday) % market.ScheduleHours
	if millis < 0 {
		return 0 // The node's clock is broken; anything that does not panic will do.
	}
	return int(hours)
}
