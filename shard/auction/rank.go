package auction

// spares is how many ranked products are kept beyond the slots. They set prices, and replace a winner whose id turns
// out to belong to another product (confirm).
const (
	spares = 8
	topMax = SlotsMax + spares
)

// rank fills top with the best products by insertion. Most products are rejected by one comparison with the last one.
func (s *Scratch) rank() {
	if s.capped() {
		s.rankCapped()
		return
	}
	keep := min(s.a.Slots, SlotsMax) + spares
	n := 0
	for i := range s.hits {
		h := &s.hits[i]
		h.inTop = false
		if h.best == none || h.wrongID {
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
		s.top[at] = uint32(i) // Fewer hits than 2^32.
		h.inTop = true
	}
	s.ranked = n
	for i, at := range s.top[:s.winners()] {
		s.won[i] = uint32(s.hits[at].best) // Ranked hits have a best one.
	}
}

// winner returns the bid that wins a zero-based rank.
func (s *Scratch) winner(rank int) *candidate { return &s.candidates[s.won[rank]] }

func (s *Scratch) bestOf(hit uint32) *candidate { return &s.candidates[s.hits[hit].best] }

// winners returns how many of the ranked products win.
func (s *Scratch) winners() int { return min(s.ranked, s.a.Slots, SlotsMax) }

// confirm compares the ids of the winners with those of their products, which the look-up did not do. It returns false
// when an id differs; that hit is then marked and the ranking must be repeated.
func (s *Scratch) confirm() bool {
	right := true
	for rank := range s.winners() {
		if h := &s.hits[s.winner(rank).hit]; !s.isProduct(h) {
			h.wrongID = true
			right = false
		}
	}
	return right
}
