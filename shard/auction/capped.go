package auction

import "slices"

// This file ranks under a cap of winners per vendor. The best bid of each product is then not sufficient: when its
// vendor has reached the cap, another vendor's bid may win the product. So all candidates are sorted by score and
// chosen from the top, which is simpler and slower than rank.

// capped reports whether the marketplace's cap can affect the auction.
func (s *Scratch) capped() bool {
	return s.settings.VendorMax > 0 && int(s.settings.VendorMax) < min(s.a.Slots, SlotsMax)
}

// rankCapped fills won with the winners under the cap. It marks the candidates that lose only because of the cap.
func (s *Scratch) rankCapped() {
	s.order = s.order[:0]
	for i := range s.candidates {
		s.candidates[i].overVendorCap = false
		if !s.hits[s.candidates[i].hit].wrongID {
			s.order = append(s.order, uint32(i)) // Fewer candidates than 2^31.
		}
	}
	slices.SortFunc(s.order, func(a, b uint32) int { return order(s.candidates[a].beats(&s.candidates[b])) })
	for i := range s.hits {
		s.hits[i].inTop = false
	}
	s.ranked = 0
	for _, i := range s.order {
		c := &s.candidates[i]
		switch {
		case s.ranked == min(s.a.Slots, SlotsMax):
			return
		case s.hits[c.hit].inTop:
		case s.vendorAtCap(c.vendor, s.ranked):
			c.overVendorCap = true
		default:
			s.hits[c.hit].inTop = true
			s.won[s.ranked] = i
			s.ranked++
		}
	}
}

// vendorAtCap reports whether a vendor has reached the cap among the first winners. External demand comes from many
// sellers and has no cap.
func (s *Scratch) vendorAtCap(vendor uint32, winners int) bool {
	n := 0
	for _, i := range s.won[:winners] {
		if s.candidates[i].vendor == vendor {
			n++
		}
	}
	return n >= int(s.settings.VendorMax) && vendor != externalVendor
}

// cappedRunnerUp is runnerUp under the cap.
func (s *Scratch) cappedRunnerUp(rank int) *candidate {
	winner := &s.candidates[s.won[rank]]
	below := false
	for _, i := range s.order {
		c := &s.candidates[i]
		if !below {
			below = c == winner
			continue
		}
		if c.vendor != winner.vendor && !s.vendorAtCap(c.vendor, rank) && !s.takenBefore(rank, c.hit) {
			return c
		}
	}
	return nil
}

// takenBefore reports whether one of the winners above a rank has the entity of a hit.
func (s *Scratch) takenBefore(rank int, hit uint32) bool {
	for _, i := range s.won[:rank] {
		if s.candidates[i].hit == hit {
			return true
		}
	}
	return false
}

// countCapped counts the candidates that did not win.
func (s *Scratch) countCapped(out *Result) {
	for _, i := range s.order {
		c := &s.candidates[i]
		switch {
		case s.isWinner(i):
		case c.overVendorCap || s.hits[c.hit].inTop:
			out.Lost[Diversity]++
		default:
			out.Lost[Outranked]++
		}
	}
}

func (s *Scratch) isWinner(i uint32) bool { return slices.Contains(s.won[:s.winners()], i) }
