package upload

import (
	"fmt"
	"sync"
)

// Limiter bounds the uploads that run at the same moment: all together, and those of each marketplace, so that no marketplace can
// use the whole bound. It is safe for concurrent use.
type Slots struct {
	total, each int

	mu    sync.Mutex
	taken int
	of    map[uint16]int // By marketplace. BOUND: total entries.
}

// NewLimiter returns a limiter for total uploads, at most each of them for one marketplace.
func NewSlots(total, each int) *Slots { return &Slots{total: total, each: each, of: map[uint16]int{}} }

// Acquire begins an upload of a marketplace. REQUIRES: the client has proved its permission. release ends the upload. A nil release
// means that a bound is reached, and refusal says which.
func (s *Slots) Take(marketplace uint16) (release func(), refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.of[marketplace] >= s.each:
		return nil, fmt.Sprintf("this marketplace has %d uploads under way on this node, the most it may have; repeat when one has ended", s.each)
	case s.taken >= s.total:
		return nil, fmt.Sprintf("this node has %d uploads under way, the most it takes; repeat when one has ended", s.total)
	}
	s.taken++
	s.of[marketplace]++
	return func() { s.release(marketplace) }, ""
}

func (s *Slots) release(marketplace uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.of[marketplace]--; s.of[marketplace] == 0 {
		delete(s.of, marketplace)
	}
}
