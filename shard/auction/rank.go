package auction

// spares are kept below the slots: they set prices, and step in for an id that is not the product's after all.
const (
	spares = 8
	topMax = SlotsMax + spares
)

// rank puts the best products into top, by insertion: most products are turned away by one comparison with the last.
func (s *Scratch) rank() {
	if s.capped() {
		s.pick()
		return
	}
	keep := min(s.a.Slots, SlotsMax) + spares
	n := 0
	for i := range s.hits {
		h := &s.hits[i]
		h.inTop = false
		if h.best == none || h.dead {
			continue
		}
		c := &s.candidates[h.best]
		at := n
		if n == keep {
			if !c.beats(s.bestOf(s.top[n-1])) {
				continue
			}
			s.hits[s.top[n-1]].inTop = false
			at--
		} else {
			n++
		}
		for ; at > 0 && c.beats(s.bestOf(s.top[at-1])); at-- {
			s.top[at] = s.top[at-1]
		}
		s.top[at] = uint32(i) //nolint:gosec // fewer hits than 2^32.
		h.inTop = true
	}
	s.ranked = n
	for i, at := range s.top[:s.winners()] {
		s.won[i] = uint32(s.hits[at].best) //nolint:gosec // ranked hits have a best one.
	}
}

// winner returns the bid that wins a rank.
func (s *Scratch) winner(rank int) *candidate { return &s.candidates[s.won[rank]] }

func (s *Scratch) bestOf(hit uint32) *candidate { return &s.candidates[s.hits[hit].best] }

// winners is how many of top win.
func (s *Scratch) winners() int { return min(s.ranked, s.a.Slots, SlotsMax) }

// confirm compares the ids of the winners with their products', which the look-up left out. It reports whether all are
// right; if not, the wrong ones are out and the ranking must be made again.
func (s *Scratch) confirm() bool {
	right := true
	for rank := range s.winners() {
		if h := &s.hits[s.winner(rank).hit]; !s.isProduct(h) {
			h.dead = true
			right = false
		}
	}
	return right
}
