package limits

import "sync"

// Slots bounds the requests that are being served, so that those of one marketplace never occupy all connections of a
// listener. A marketplace may have as many requests as there are free slots: one alone gets half of them, two get a third
// each, and as many as one of them has are left for the next (dynamic thresholds: Choudhury and Hahne, "Dynamic queue length
// thresholds for shared-memory packet switches", 1998). It never blocks, and is safe for concurrent use. Nil Slots let every
// request in.
type Slots struct {
	max int

	mu       sync.Mutex
	served   int
	by       map[uint16]int // BOUND: max marketplaces.
	refusals uint64
}

// NewSlots returns slots for at most most requests, at least 2.
func NewSlots(most int) *Slots {
	return &Slots{max: max(most, 2), by: map[uint16]int{}}
}

// Take reports whether a request of a marketplace may be served. If so, Free must be called when it is answered.
func (s *Slots) Take(marketplace uint16) bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[marketplace] >= s.max-s.served {
		s.refusals++
		return false
	}
	s.served++
	s.by[marketplace]++
	return true
}

// Free ends a request that Take has let in.
func (s *Slots) Free(marketplace uint16) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served--
	if s.by[marketplace]--; s.by[marketplace] == 0 {
		delete(s.by, marketplace)
	}
}

// Refusals returns how many requests were not let in.
func (s *Slots) Refusals() uint64 {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusals
}
